//! Whether a program wastes its time in waiting, or why that cannot be told:
//! pure.
//!
//! A "no" needs eyes: threads whose waits were not seen may wait for a lock.

use std::collections::BTreeSet;

use unjank_host::Nanos;
use unjank_host::language_runtime::LanguageRuntime;
use unjank_measure::Answer;

use super::diagnosis::{Certainty, Diagnosis, Kind};
use super::patient::Patient;
use super::words::percent;

/// A share of a CPU that is worth a word: of all threads together.
const WORTH_A_WORD: f64 = 0.01;
/// Windows of a trace that show enough together.
const ENOUGH: Nanos = Nanos::from_millis(100);
/// Contended entries of monitors a second that need an explanation.
const MONITORS: f64 = 100.0;

/// What could be seen of the waits of all threads.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Sight {
    /// For how long system calls were traced; `None` if they were not.
    pub(super) traced: Option<Nanos>,
    /// Waits on futexes that were seen to end.
    pub(super) waits: u64,
    /// What runs the threads.
    pub(super) runtimes: BTreeSet<LanguageRuntime>,
    /// The most contended entries and exits of monitors a second that a JVM counted.
    pub(super) monitors: f64,
    /// Processes with system calls of another architecture.
    pub(super) foreign: usize,
    /// Threads that came and went unseen.
    pub(super) lost: usize,
}

/// The answer about all threads, with its reason.
pub(super) fn overall(patients: &[Patient], sight: &Sight) -> (Answer, String) {
    let wasted: f64 = patients.iter().map(Patient::wasted).sum();
    let used: f64 = patients.iter().map(|it| it.seen.cpu_share()).sum();
    let having = |certainty| {
        let bad =
            move |it: &&Patient| it.worst().kind.is_bad() && it.worst().certainty == certainty;
        patients.iter().filter(bad)
    };
    let (seen, suspected) = (having(Certainty::Seen).count(), having(Certainty::Suspected).count());
    let surely: f64 = having(Certainty::Seen).map(Patient::wasted).sum();
    // These may waste less than what else a thread does.
    let any = |bad: fn(&Diagnosis) -> bool| patients.iter().any(|it| it.diagnoses.iter().any(bad));
    let held_up = any(|it| it.certainty == Certainty::Seen && it.kind.holds_up());
    let doubtful = any(|it| it.certainty == Certainty::Suspected && it.kind.is_bad());
    let unknown = patients.iter().filter(|it| it.worst().kind == Kind::CannotTell);
    let unknown = unknown.filter(|it| it.seen.cpu_share() >= WORTH_A_WORD).count();
    let blind = blind_spots(patients.len(), sight);
    let answer = if surely >= WORTH_A_WORD || held_up {
        Answer::Yes
    } else if !doubtful && unknown == 0 && blind.is_empty() {
        Answer::No
    } else {
        Answer::CannotTell
    };
    let mut reasons = vec![format!(
        "{} of its {} threads, {} of a CPU out of {} that it uses",
        seen + suspected,
        patients.len(),
        percent(wasted),
        percent(used),
    )];
    let counted = [(suspected, "of them suspected only"), (unknown, "cannot be told")];
    let counted = counted.into_iter().filter(|(count, _)| *count > 0);
    reasons.extend(counted.map(|(count, words)| format!("{count} {words}")));
    match (answer, sight.traced) {
        (Answer::CannotTell, _) => reasons.extend(blind),
        (Answer::No, Some(traced)) => {
            reasons.push(format!("{} waits on futexes were seen in {traced}", sight.waits));
        }
        _ => {}
    }
    (answer, reasons.join("; "))
}

/// Where a contended lock could be that would not have been seen: clauses.
fn blind_spots(threads: usize, sight: &Sight) -> Vec<String> {
    // A single thread waits for no other one.
    if threads < 2 {
        return Vec::new();
    }
    let mut blind = Vec::new();
    match sight.traced {
        None => {
            blind.push("waits for locks were not seen, for system calls were not traced".into());
        }
        Some(traced) if traced < ENOUGH => {
            blind.push(format!("system calls were traced for {traced} only"));
        }
        Some(_) => {}
    }
    if sight.runtimes.contains(&LanguageRuntime::Go) {
        blind.push(
            "goroutines wait for locks inside the program, where only its own mutex profile sees \
             them"
                .into(),
        );
    }
    if sight.monitors >= MONITORS {
        let rate = sight.monitors;
        blind.push(format!(
            "a JVM counted {rate:.0} contended entries and exits of monitors a second"
        ));
    }
    if sight.foreign > 0 {
        blind.push(format!("calls of {} processes are of another architecture", sight.foreign));
    }
    if sight.lost * 10 > threads {
        blind.push(format!("{} threads came and went unseen", sight.lost));
    }
    blind
}

#[cfg(test)]
mod tests {
    use unjank_host::sched::ThreadId;

    use super::super::Seen;
    use super::*;

    fn patient(kind: Kind, certainty: Certainty, wasted: f64) -> Patient {
        let mut seen = Seen::new(ThreadId(7), "w");
        (seen.watched, seen.cpu) = (Nanos::from_millis(1_000), Nanos::from_millis(500));
        let action = kind.action();
        let it = Diagnosis { kind, certainty, wasted, evidence: String::new(), action };
        Patient { seen, diagnoses: vec![it] }
    }

    fn seen() -> Sight {
        Sight { traced: Some(Nanos::from_millis(1_000)), waits: 9, ..Sight::default() }
    }

    fn fine() -> Patient {
        patient(Kind::Fine, Certainty::Seen, 0.0)
    }

    #[test]
    fn nothing_found_is_a_no_only_where_it_could_be_seen() {
        let told = |sight: Sight| overall(&[fine(), fine()], &sight);
        let (answer, reason) = told(seen());
        assert_eq!(answer, Answer::No);
        assert!(reason.ends_with("; 9 waits on futexes were seen in 1.00 s"), "{reason}");
        for (sight, why) in [
            (Sight { traced: None, ..seen() }, "were not traced"),
            (Sight { traced: Some(Nanos::from_millis(99)), ..seen() }, "for 99.0 ms only"),
            (Sight { runtimes: [LanguageRuntime::Go].into(), ..seen() }, "goroutines wait"),
            (Sight { monitors: 100.0, ..seen() }, "100 contended entries and exits"),
            (Sight { foreign: 1, ..seen() }, "another architecture"),
            (Sight { lost: 1, ..seen() }, "1 threads came and went"),
        ] {
            let (answer, reason) = told(sight);
            assert_eq!(answer, Answer::CannotTell, "{why}");
            assert!(reason.contains(why), "{reason}");
        }
        for sight in [
            Sight { runtimes: [LanguageRuntime::CPython].into(), ..seen() },
            Sight { monitors: 99.0, ..seen() },
        ] {
            assert_eq!(told(sight).0, Answer::No);
        }
        assert_eq!(overall(&[fine()], &Sight::default()).0, Answer::No, "it waits for nobody");
    }

    #[test]
    fn what_was_found_is_a_yes_whatever_was_not_seen() {
        let blind = Sight::default();
        for (kind, certainty, wasted, expected) in [
            (Kind::Yields, Certainty::Seen, 0.01, Answer::Yes),
            (Kind::LongWaits, Certainty::Seen, 0.0, Answer::Yes),
            (Kind::TakesTurns, Certainty::Seen, 0.0, Answer::Yes),
            (Kind::TakesTurns, Certainty::Suspected, 0.0, Answer::CannotTell),
            (Kind::Spins, Certainty::Suspected, 0.5, Answer::CannotTell),
            (Kind::CannotTell, Certainty::Seen, 0.0, Answer::CannotTell),
            (Kind::WakesNobody, Certainty::Seen, 0.009, Answer::CannotTell),
        ] {
            let patients = [patient(kind, certainty, wasted), fine()];
            assert_eq!(overall(&patients, &blind).0, expected, "{kind:?} {certainty:?}");
        }
        for (certainty, expected) in
            [(Certainty::Seen, Answer::Yes), (Certainty::Suspected, Answer::CannotTell)]
        {
            let mut both = patient(Kind::Naps, Certainty::Seen, 0.009);
            both.diagnoses.extend(patient(Kind::TakesTurns, certainty, 0.0).diagnoses);
            assert_eq!(overall(&[both, fine()], &seen()).0, expected, "beside naps");
        }
        let slight = [patient(Kind::WakesNobody, Certainty::Seen, 0.009), fine()];
        assert_eq!(overall(&slight, &seen()).0, Answer::No);
    }
}
