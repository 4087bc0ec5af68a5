//! The paper's figures beside those measured here.
//!
//! Olivas and Chynoweth, *Benefitting Power and Performance Sleep Loops*
//! (Intel): with pauses and a read-only check before `Sleep(0)`, up to four
//! times the performance of `Sleep(0)` alone with 8 threads, about three times
//! with 32 (tables 4 and 5), at 0.73 W less (table 6), on a Core i7-990X with 6
//! cores and 12 hardware threads under Windows. It gives no spin count, no
//! lengths of tasks and no intervals.

use unjank_host::Nanos;
use unjank_measure::{Answer, Fact, Findings, Quantity, Unit, Verdict};

use super::comparison::{Compared, ComparisonOutcome};
use super::options::{COARSE, FINE, MEDIUM, PAPERS_BASELINE, PAPERS_CHOICE};
use super::results::Results;

/// The paper's results: number of threads, and times the performance.
const PUBLISHED: [(usize, f64); 2] = [(8, 4.0), (32, 3.0)];

/// Watts that the paper's loop saves.
const PUBLISHED_WATTS: f64 = 0.73;

/// The paper's name for tasks of this length.
pub fn grain(outside: Nanos) -> &'static str {
    match outside {
        FINE => "fine grain",
        MEDIUM => "medium grain",
        COARSE => "coarse grain",
        _ => "another grain",
    }
}

/// Adds the paper's figures, and a verdict for each: whether its loop gets more
/// done here than `Sleep(0)` alone.
pub fn note(results: &Results, findings: &mut Findings) {
    for (threads, times) in PUBLISHED {
        let published = Fact::new("lock/bench/paper/published", times, Unit::Count);
        findings.facts.push(published.with_label("threads", threads.to_string()));
        for cell in results.cells.iter().filter(|cell| cell.cell.threads == threads) {
            let Some(compared) = results.compare(cell, PAPERS_CHOICE) else { continue };
            findings.verdicts.push(verdict(&compared, threads, times));
        }
    }
    findings.facts.push(Fact::new(
        "lock/bench/paper/published_power",
        PUBLISHED_WATTS,
        Unit::Watts,
    ));
}

fn verdict(compared: &Compared<'_>, threads: usize, published: f64) -> Verdict {
    let cell = compared.cell.cell;
    let ratio = compared.operations;
    let answer = match ratio.outcome() {
        ComparisonOutcome::Won => Answer::Yes,
        ComparisonOutcome::Lost => Answer::No,
        ComparisonOutcome::CannotTell => Answer::CannotTell,
    };
    let cpu = compared.cpu_time;
    let interval =
        cpu.interval.map_or_else(String::new, |[low, high]| format!(" ({low:.2}–{high:.2})"));
    Verdict {
        measured: Some(Quantity {
            name: "tasks per second, relative".to_owned(),
            value: ratio.value,
            unit: Unit::Ratio,
            interval: ratio.interval,
            at_least: None,
            n: ratio.rounds as u64,
        }),
        ..Verdict::new(
            "lock/paper",
            format!(
                "Does {PAPERS_CHOICE} get more done than {PAPERS_BASELINE}? ({threads} threads, {})",
                grain(cell.outside)
            ),
            answer,
            format!(
                "the paper: {} {published} times; CPU time per task here {:.2} times{interval}",
                if threads == 8 { "up to" } else { "about" },
                cpu.value
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::results::tests::cell;
    use super::*;

    #[test]
    fn the_paper_s_figures_stand_beside_ours() {
        let arms: &[(&str, &[f64])] =
            &[("sleep0", &[10.0; 6]), ("pause-yield", &[11.0, 11.1, 10.9, 11.0, 11.0, 11.1])];
        let cells = vec![cell(4, arms), cell(8, arms)];
        let uncontended = BTreeMap::new();
        let results = Results { against: vec!["sleep0"], cells, uncontended, seed: 1 };
        let mut findings = Findings::default();
        note(&results, &mut findings);
        let [verdict] = &*findings.verdicts else { panic!("{:?}", findings.verdicts) };
        assert_eq!(verdict.answer, Answer::Yes);
        assert!(verdict.reason.starts_with("the paper: up to 4 times; "), "{}", verdict.reason);
        assert_eq!(findings.facts.len(), 3);
        assert_eq!((grain(FINE), grain(COARSE)), ("fine grain", "coarse grain"));
    }
}
