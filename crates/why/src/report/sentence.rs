//! The reason of the verdict, in sentences that can be understood alone.

use unjank_units::Nanos;

use super::about::{About, doing};
use super::explained::{Explained, Subject};
use super::what_if::Saving;
use crate::split::Cell;

/// The most parts of a launch that are named.
const NAMED: usize = 3;
/// The smallest share of a launch that is named.
const SMALLEST: f64 = 0.01;

/// `Launching git status took 87.9 ms: 49 % computing, 41 % waiting for a CPU.
/// With a CPU before other programs, it would take 53.5 ms`
pub(super) fn sentence(launch: &Explained, best: Option<&Saving>, about: &About) -> String {
    let total = launch.total();
    let share = |time: Nanos| time.get() as f64 / (total.get() as f64).max(1.0);
    let mut cells: Vec<(Cell, f64)> =
        Cell::ALL.map(|cell| (cell, share(launch.split.of_cell(cell)))).to_vec();
    cells.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let parts: Vec<String> = cells
        .iter()
        .take(NAMED)
        .filter(|(_, share)| *share >= SMALLEST)
        .map(|(cell, share)| format!("{:.0} % {}", 100.0 * share, doing(*cell)))
        .collect();
    let took = match (launch.subject, about.subject()) {
        (Subject::Window, _) => {
            // A name keeps its letters at the beginning of the sentence.
            let thread = launch.thread.0;
            match launch.history.name(launch.thread) {
                Some(name) => format!("Thread {name} ({thread}) spent {total}"),
                None => format!("Thread {thread} spent {total}"),
            }
        }
        (Subject::Launch, subject) if launch.is_cut && subject.is_empty() => {
            format!("The first {total}")
        }
        (Subject::Launch, subject) if launch.is_cut => {
            format!("The first {total} of launching {subject}")
        }
        (Subject::Launch, subject) if subject.is_empty() => format!("It took {total}"),
        (Subject::Launch, subject) => format!("Launching {subject} took {total}"),
    };
    let took = format!("{took}: {}", parts.join(", "));
    match best.filter(|best| best.share >= SMALLEST) {
        Some(best) => {
            // The median prediction may be of launches longer than the shown one.
            let after = Nanos((total.get() as f64 * (1.0 - best.share)).round() as u64);
            let condition = capital(best.remedy.condition());
            let it = match launch.subject {
                Subject::Launch => "it",
                Subject::Window => "the same",
            };
            format!("{took}. {condition}, {it} would take {after}")
        }
        None => took,
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    format!("{}{}", first.unwrap_or_default(), letters.as_str())
}
