//! What is said of launches: an answer, the split, the longest waits, who had
//! the CPU, and what changes would save.

mod calls;
mod explained;
mod family;
mod names;
mod run_queue;
mod split;
mod storage;
mod waits;
mod what_if;
mod window;

use unjank_measure::record::{Fact, Quantity, Verdict};
use unjank_measure::{Answer, Findings, Series, Unit};
use unjank_units::Nanos;

use crate::split::Cell;

pub use explained::{Clocks, Explained, Subject, window};
pub use family::Family;
pub(crate) use names::{ended_by, operation, place, thread_name};
pub use window::window_table;

/// A saving that is worth a change: a tenth of the launch.
const WORTH: f64 = 0.1;

/// The launch of median length, which is drawn; `None` if there is none.
pub fn typical(launches: &[Explained]) -> Option<&Explained> {
    let mut by_length: Vec<&Explained> = launches.iter().collect();
    by_length.sort_by_key(|launch| launch.total());
    by_length.get(by_length.len().saturating_sub(1) / 2).copied()
}

/// What is said of launches of one program; the [`typical`] one is drawn.
pub fn findings(launches: &[Explained]) -> Findings {
    let mut findings = Findings::default();
    let Some(typical) = typical(launches) else {
        findings.warn("no launch was explained");
        return findings;
    };
    let mut totals = Series::new("why/total");
    for launch in launches {
        totals.record(launch.total());
    }
    findings.series.push(totals.finish());
    findings.facts = facts(typical);
    let changes = what_if::changes(launches);
    findings.verdicts.push(verdict(typical, &changes));
    findings.tables.extend([
        split::table(typical),
        waits::table(typical),
        what_if::table(typical, &changes),
    ]);
    findings.tables.extend(run_queue::table(typical));
    findings.tables.extend(storage::table(typical));
    warn(typical, &mut findings);
    for warning in launches.iter().flat_map(|launch| &launch.warnings) {
        findings.warn(warning);
    }
    findings
}

/// `why/total`, and its parts `why/time`, which add up to it.
fn facts(launch: &Explained) -> Vec<Fact> {
    let nanos = |name: &str, time: Nanos| Fact::new(name, time.get() as f64, Unit::Nanoseconds);
    let mut facts = vec![nanos("why/total", launch.total())];
    for ((way, cell), time) in &launch.split.cells {
        let mut fact = nanos("why/time", *time);
        fact.labels.insert("way".to_owned(), way.name().to_owned());
        fact.labels.insert("activity".to_owned(), cell.name().to_owned());
        facts.push(fact);
    }
    facts
}

fn verdict(launch: &Explained, changes: &[what_if::Saving]) -> Verdict {
    let total = launch.total();
    let share = |time: Nanos| time.get() as f64 / (total.get() as f64).max(1.0);
    let mut cells: Vec<(Cell, Nanos)> =
        Cell::ALL.map(|cell| (cell, launch.split.of_cell(cell))).to_vec();
    cells.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    let largest = cells.iter().take(3).filter(|(_, time)| share(*time) >= 0.01);
    let parts: Vec<String> = largest
        .map(|(cell, time)| format!("{} {:.0} %", cell.name(), 100.0 * share(*time)))
        .collect();
    let best = changes.iter().filter(|saving| !saving.of_all).max_by_key(|saving| saving.saved());
    let pays = best.filter(|best| share(best.saved()) >= WORTH);
    let mut reason = format!("of {total}: {}", parts.join(", "));
    if let Some(best) = best.filter(|best| best.saved() > Nanos::ZERO) {
        reason = format!("{reason}; {}: {} → {}", best.name, best.before, best.after);
    }
    let (question, name) = match launch.subject {
        Subject::Launch => {
            (format!("Would one change save a tenth of the {total}?"), "time from exec to ready")
        }
        Subject::Window => (
            format!(
                "Would one change let {} do the same in a tenth less time?",
                thread_name(&launch.history, launch.thread)
            ),
            "length of the window",
        ),
    };
    let answer = match pays {
        _ if launch.trace.has_gap(launch.from, launch.to) => Answer::CannotTell,
        Some(_) => Answer::Yes,
        None => Answer::No,
    };
    let mut verdict = Verdict::new("why", question, answer, reason);
    verdict.measured = Some(Quantity {
        name: name.to_owned(),
        value: total.get() as f64,
        unit: Unit::Nanoseconds,
        interval: None,
        n: 1,
    });
    verdict.next = pays.map(|best| best.next.to_owned());
    verdict
}

fn warn(launch: &Explained, findings: &mut Findings) {
    let lost = launch.trace.lost;
    if lost.overwritten + lost.dropped > 0 {
        findings.warn(format!(
            "the kernel lost {} trace events; parts of the path are unknown",
            lost.overwritten + lost.dropped
        ));
    }
    let unknown = launch.split.of_cell(Cell::Of(crate::path::Activity::Unknown));
    let share = unknown.get() as f64 / (launch.total().get() as f64).max(1.0);
    if share > 0.02 {
        findings.warn(format!("{:.0} % of the time is unknown", 100.0 * share));
    }
    if launch.highest.is_empty() {
        findings.not_supported(
            "slow-clock",
            "this machine does not report clock frequencies; it is part of computing",
        );
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::sched::ThreadId;
    use unjank_host::tracefs::script::{Script, at};

    use super::*;

    fn verdict_of(script: &Script) -> Verdict {
        let window = (at(0), at(400));
        let launch = Explained::new(script.trace(), ThreadId(7), window, Clocks::default());
        findings(&[launch]).verdicts.remove(0)
    }

    #[test]
    fn a_change_that_saves_a_tenth_is_named_and_lost_events_decide_nothing() {
        let waits = Script::new().runs(0, 0, 9, 7).runs(0, 100, 7, 9).runs(0, 300, 9, 7);
        let waits = waits.sleeps(0, 400, 7, 0);
        let verdict = verdict_of(&waits);
        assert_eq!(verdict.answer, Answer::Yes);
        let expected =
            "of 400 ns: computing 50 %, run-queue 50 %; no wait for a CPU: 400 ns → 200 ns";
        assert_eq!(verdict.reason, expected);
        assert_eq!(verdict_of(&waits.loses(1, 150, 160)).answer, Answer::CannotTell);
        let computes = Script::new().runs(0, 0, 9, 7).sleeps(0, 400, 7, 0);
        assert_eq!(verdict_of(&computes).answer, Answer::No);
    }
}
