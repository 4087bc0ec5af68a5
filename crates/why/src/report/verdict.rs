//! Whether one change would save a tenth of the launch.

use unjank_host::Timestamp;
use unjank_host::tracefs::{CpuTrace, Gap};
use unjank_measure::record::{Quantity, Verdict};
use unjank_measure::{Answer, SeriesRecord, Unit};

use super::about::About;
use super::agreement::Agreement;
use super::explained::{Explained, Subject};
use super::quota;
use super::sentence::sentence;
use super::what_if::Saving;
use crate::path::Activity;
use crate::split::Cell;

/// A saving that is worth a change: a tenth of the launch.
pub(super) const WORTH: f64 = 0.1;

/// The answer for the shown launch, if the others agree with it.
pub(super) fn verdict(
    launch: &Explained,
    agreement: Agreement,
    totals: &SeriesRecord,
    savings: &[Saving],
    about: &About,
) -> Verdict {
    let single = savings.iter().filter(|saving| saving.remedy.is_candidate());
    let best = single.max_by(|a, b| a.share.total_cmp(&b.share));
    let lost = lost_events(launch);
    let unknown = launch.split.of_cell(Cell::Of(Activity::Unknown));
    let unknown = unknown.get() as f64 / (launch.total().get() as f64).max(1.0);
    let judged = best.map_or(Answer::No, judge);
    // The unknown time might be saved as well.
    let most_saved = best.map_or(0.0, |best| best.share_ends()[1]) + unknown;
    let unknown_matters = judged == Answer::No && unknown > 0.0 && most_saved >= WORTH;
    let held_back = best.filter(|best| best.remedy.is_first_in_queue()).map_or(0.0, |_| {
        let time = quota::of_others(&launch.throttled);
        time.get() as f64 / (launch.total().get() as f64).max(1.0)
    });
    let quota_matters = judged == Answer::Yes && held_back >= WORTH;
    let undecided =
        launch.is_cut || lost || unknown_matters || quota_matters || !agreement.suffices();
    let answer = if undecided { Answer::CannotTell } else { judged };
    let mut reason = sentence(launch, best, about);
    if launch.is_cut {
        reason.push_str(". The recording ended there, before the launch did");
    } else if lost {
        reason = format!("{reason}. Events of this time were lost, so this is not certain");
    } else if !agreement.suffices() {
        let Agreement { alike, others } = agreement;
        reason = format!(
            "{reason}. But the launches differ: only {alike} of the {others} others spent their \
             time like this one"
        );
    } else if unknown_matters {
        reason.push_str(". A change might also save time whose cause is unknown");
    } else if quota_matters {
        reason.push_str(". But it may have waited for its CPU quota, which no priority changes");
    } else if let (Answer::CannotTell, Some(best)) = (answer, best) {
        let [low, high] = best.share_ends().map(|share| 100.0 * share);
        reason = format!("{reason}. Over all launches it saves {low:.0}–{high:.0} %");
    }
    let (question, measured) = match launch.subject {
        Subject::Launch => {
            let time = match about.package {
                Some(_) => "time from the request to the first frame",
                None => "time from exec to ready",
            };
            ("Would one change save a tenth of this launch?", time)
        }
        Subject::Window => ("Would one change save a tenth of this time?", "length of the window"),
    };
    let mut verdict = Verdict::new("why", question, answer, reason);
    let interval = totals.summary.and_then(|summary| summary.intervals[0]);
    verdict.measured = (!launch.is_cut).then(|| Quantity {
        name: measured.to_owned(),
        value: launch.total().get() as f64,
        unit: Unit::Nanoseconds,
        interval: interval.map(|ends| ends.map(|end| end as f64)),
        at_least: None,
        n: totals.n,
    });
    let pays = best.filter(|best| best.share >= WORTH);
    verdict.next = pays.and_then(|best| about.next(best.remedy));
    verdict
}

/// Whether events of the window were lost, within the time that the recording covers. The recording of
/// one CPU may begin later than that of another (`switches_from`): that is no loss.
fn lost_events(launch: &Explained) -> bool {
    let ends = |cpu: &CpuTrace| Some([cpu.events.first()?.at, cpu.events.last()?.at]);
    let all: Vec<_> = launch.trace.cpus.iter().filter_map(ends).collect();
    let begin = all.iter().map(|[first, _]| *first).min().unwrap_or_default();
    let end = all.iter().map(|[_, last]| *last).max().unwrap_or_default();
    let (from, to) = (launch.from.max(begin), launch.to.min(end));
    let has_gap = |cpu: &CpuTrace| {
        let is_lost = |gap: &Gap| gap.from > Timestamp::default() || cpu.switches_from.is_none();
        cpu.gaps.iter().any(|gap| is_lost(gap) && gap.overlaps(from, to))
    };
    // Events that the kernel dropped leave no gap.
    launch.trace.lost.dropped > 0 || launch.trace.cpus.iter().any(has_gap)
}

/// Whether a saving is at least [`WORTH`], by the interval or range of its share.
fn judge(saving: &Saving) -> Answer {
    let [low, high] = saving.share_ends();
    if low >= WORTH {
        Answer::Yes
    } else if high < WORTH {
        Answer::No
    } else {
        Answer::CannotTell
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::Bytes;
    use unjank_host::machine::ThrottledGroup;
    use unjank_host::tracefs::script::Script;
    use unjank_measure::Findings;
    use unjank_units::Nanos;

    use super::super::scripted::explained;
    use super::super::{Launches, findings};
    use super::*;

    fn findings_of(all: Vec<Explained>) -> Findings {
        let command = vec!["git".into(), "st atus".into()];
        let about = About { command, ..About::default() };
        let mut launches = Launches::new(Bytes::default(), &about);
        for launch in all {
            launches.add(launch, Bytes::default());
        }
        findings(&launches, &about)
    }

    fn verdict_of(all: Vec<Explained>) -> Verdict {
        findings_of(all).verdicts.remove(0)
    }

    /// Computes for 200 ns, and waits for a CPU in between.
    fn waits(wait: u64) -> (Script, u64) {
        let end = 200 + wait;
        let script = Script::new().runs(0, 0, 9, 7).runs(0, 100, 7, 9).runs(0, 100 + wait, 9, 7);
        (script.sleeps(0, end, 7, 0), end)
    }

    #[test]
    fn a_change_that_saves_a_tenth_is_named_and_lost_events_decide_nothing() {
        let (script, end) = waits(200);
        let verdict = verdict_of(vec![explained(&script, end)]);
        assert_eq!(verdict.answer, Answer::Yes);
        let expected = "Launching git 'st atus' took 400 ns: 50 % computing, 50 % waiting for a \
                        CPU. With a CPU before other programs, it would take 200 ns";
        assert_eq!(verdict.reason, expected);
        let next = verdict.next.as_deref();
        assert_eq!(next, Some("sudo unjank why --prove=cpu -- git 'st atus'"));
        let gap = verdict_of(vec![explained(&script.loses(1, 150, 160), end)]);
        assert_eq!(gap.answer, Answer::CannotTell);
        for (begins, answer) in [(None, Answer::CannotTell), (Some(60), Answer::Yes)] {
            let mut launch = explained(&waits(200).0.loses(1, 0, 60), end);
            let other = launch.trace.cpus.iter_mut().find(|cpu| cpu.cpu == 1).unwrap();
            other.switches_from = begins.map(Timestamp::from_nanos);
            assert_eq!(verdict_of(vec![launch]).answer, answer, "another CPU begins later");
        }
        let mut dropped = explained(&waits(200).0, end);
        dropped.trace.lost.dropped = 1;
        assert_eq!(verdict_of(vec![dropped]).answer, Answer::CannotTell, "without a gap");
        let computes = Script::new().runs(0, 0, 9, 7).sleeps(0, 400, 7, 0);
        assert_eq!(verdict_of(vec![explained(&computes, 400)]).answer, Answer::No);
        let sleeps = Script::new().runs(0, 0, 9, 7).sleeps(0, 100, 7, 0);
        // Nothing is lost behind the end of a recording.
        for sleeps in [sleeps.clone(), sleeps.loses(0, 100, u64::MAX)] {
            let sleeps = verdict_of(vec![explained(&sleeps, 400)]);
            assert_eq!(sleeps.answer, Answer::CannotTell);
            assert!(sleeps.reason.ends_with("whose cause is unknown"), "{}", sleeps.reason);
        }
    }

    #[test]
    fn time_without_quota_is_not_saved_by_a_priority() {
        let (script, end) = waits(800);
        let findings_with = |has_process: Option<bool>| {
            let mut launch = explained(&script, end);
            let group = |has_process| ThrottledGroup {
                path: "/batch".to_owned(),
                time: Nanos(750),
                has_process,
            };
            launch.know_throttled(has_process.map(group).into_iter().collect());
            findings_of(vec![launch])
        };
        assert_eq!(findings_with(None).verdicts[0].answer, Answer::Yes);
        let own = findings_with(Some(true));
        assert_eq!(own.verdicts[0].answer, Answer::No, "only 50 of 1,000 ns are left");
        let its = "its control group /batch used up its CPU quota and was held back for 750 ns";
        assert!(own.warnings[0].starts_with(its), "{:?}", own.warnings);
        let perhaps = findings_with(Some(false));
        let Verdict { answer, reason, .. } = &perhaps.verdicts[0];
        assert_eq!(*answer, Answer::CannotTell);
        assert!(reason.ends_with("which no priority changes"), "{reason}");
        assert!(perhaps.warnings[0].contains("if the program or its server is in it"));
    }

    #[test]
    fn several_launches_must_agree() {
        let of = |all: &[u64]| {
            let launches = all.iter().map(|&wait| {
                let (script, end) = waits(wait);
                explained(&script, end)
            });
            let mut findings = findings_of(launches.collect());
            let table = findings.tables.iter().find(|table| table.name == "why/what_if").unwrap();
            let notes = table.notes.iter();
            let is_predicted =
                !notes.into_iter().any(|note| note.starts_with("cannot tell what a change"));
            (findings.verdicts.remove(0), is_predicted)
        };
        let answer = |all| {
            let (verdict, is_predicted) = of(all);
            assert!(is_predicted);
            verdict.answer
        };
        assert_eq!(answer(&[100, 90, 110]), Answer::Yes);
        assert_eq!(answer(&[1, 2, 3]), Answer::No);
        // Some launches would gain a tenth, others not.
        let (both, _) = of(&[10, 30, 40]);
        assert_eq!(both.answer, Answer::CannotTell);
        assert!(both.reason.ends_with("it saves 5–17 %"), "{}", both.reason);
        // One launch waited most of its time, the others not at all.
        let (differ, is_predicted) = of(&[1, 2_000, 4_000, 2]);
        assert!(!is_predicted);
        assert_eq!(differ.answer, Answer::CannotTell);
        assert!(differ.reason.contains("only 1 of the 3 others"), "{}", differ.reason);
    }
}
