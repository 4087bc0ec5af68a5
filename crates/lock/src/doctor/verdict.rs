//! The verdict on a program: it waits without waste, it does not, or why that is
//! unknown. Pure.
//!
//! The answer is `yes` only if waits for locks would have been observed.

use std::collections::BTreeSet;

use unjank_host::Nanos;
use unjank_host::language_runtime::LanguageRuntime;
use unjank_measure::Answer;

use super::diagnosis::{Certainty, Diagnosis, DiagnosisKind};
use super::thread_report::{ThreadReport, used_over};
use super::words::{counted, percent};

/// The share of a CPU, for all threads together, from which waste is reported.
const WORTH_A_WORD: f64 = 0.01;
/// The least length of all windows together.
const ENOUGH: Nanos = Nanos::from_millis(100);
/// Contended monitor entries a second from which they count as a lock.
const MONITORS: f64 = 100.0;

/// How much of the waits of all threads was observed.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Coverage {
    /// How long system calls were traced; `None` if they were not.
    pub(super) traced: Option<Nanos>,
    /// Waits on futexes that ended in a window.
    pub(super) waits: u64,
    /// The language runtimes of the processes.
    pub(super) runtimes: BTreeSet<LanguageRuntime>,
    /// Contended monitor entries and exits a second, of the JVM with the most.
    pub(super) monitors: f64,
    /// Processes with system calls of another architecture.
    pub(super) foreign: usize,
    /// Threads that came and went unobserved.
    pub(super) lost: usize,
    /// Threads that wait for processes that are not watched.
    pub(super) outside: usize,
    /// Threads of JVMs that slept through the watch.
    pub(super) slept: usize,
    /// Whether a JVM runs virtual threads.
    pub(super) virtual_threads: bool,
    /// Threads that each wake one other thread, and are woken by it.
    pub(super) paired: usize,
}

/// The answer about all threads, with its reason. They were watched for `length`, each for all of
/// it or for a part.
pub(super) fn overall(
    reports: &[ThreadReport],
    length: Nanos,
    coverage: &Coverage,
) -> (Answer, String) {
    let wasted: f64 = reports.iter().map(|it| it.wasted_over(length)).sum();
    let used = used_over(length, reports);
    let having = |certainty| {
        let bad =
            move |it: &&ThreadReport| it.worst().kind.is_bad() && it.worst().certainty == certainty;
        reports.iter().filter(bad)
    };
    let (seen, suspected) =
        (having(Certainty::Certain).count(), having(Certainty::Suspected).count());
    let surely: f64 = having(Certainty::Certain).map(|it| it.wasted_over(length)).sum();
    // These count even if another diagnosis of the thread wastes more.
    let any = |bad: fn(&Diagnosis) -> bool| reports.iter().any(|it| it.diagnoses.iter().any(bad));
    let held_up = any(|it| it.certainty == Certainty::Certain && it.kind.holds_up());
    let doubtful = any(|it| it.certainty == Certainty::Suspected && it.kind.is_bad());
    let unknown = reports.iter().filter(|it| it.worst().kind == DiagnosisKind::CannotTell);
    let unknown = unknown.filter(|it| it.observed.cpu_share() >= WORTH_A_WORD).count();
    let blind = blind_spots(reports.len(), coverage);
    let answer = if surely >= WORTH_A_WORD || held_up {
        Answer::No
    } else if !doubtful && unknown == 0 && blind.is_empty() {
        Answer::Yes
    } else {
        Answer::CannotTell
    };
    let wasteful = seen + suspected;
    let mut reasons = vec![format!(
        "{wasteful} of its {} threads {} {} of a CPU out of {} that it uses",
        reports.len(),
        if wasteful == 1 { "wastes" } else { "waste" },
        percent(wasted),
        percent(used),
    )];
    let counted = [(suspected, "of them suspected only"), (unknown, "cannot be judged")];
    let counted = counted.into_iter().filter(|(count, _)| *count > 0);
    reasons.extend(counted.map(|(count, words)| format!("{count} {words}")));
    match (answer, coverage.traced) {
        (Answer::CannotTell, _) => reasons.extend(blind),
        (Answer::Yes, Some(traced)) => {
            reasons.push(format!("{} waits on futexes were seen in {traced}", coverage.waits));
        }
        _ => {}
    }
    (answer, reasons.join("; "))
}

/// Reasons why a contended lock may have been missed: clauses.
fn blind_spots(threads: usize, coverage: &Coverage) -> Vec<String> {
    let mut blind = Vec::new();
    match coverage.traced {
        None => {
            blind.push("waits for locks were missed: system calls were not traced".into());
        }
        Some(traced) if traced < ENOUGH => {
            blind.push(format!("system calls were traced for {traced} only"));
        }
        Some(_) => {}
    }
    blind.extend(coverage.runtimes.iter().filter_map(|it| hidden_waits(*it)).map(str::to_owned));
    if coverage.virtual_threads {
        blind.push(
            "virtual threads wait for locks inside the JVM, where only its thread dump shows them \
             (jcmd PID Thread.dump_to_file)"
                .into(),
        );
    }
    if coverage.slept > 0 {
        let threads = counted(coverage.slept as u64, "thread of a JVM", "threads of a JVM");
        blind.push(format!(
            "{threads} slept through the watch: idle, or behind a monitor that is held for long"
        ));
    }
    if coverage.monitors >= MONITORS {
        let rate = coverage.monitors;
        blind.push(format!(
            "a JVM counted {rate:.0} contended entries and exits of monitors a second"
        ));
    }
    if coverage.outside > 0 {
        let threads = counted(coverage.outside as u64, "thread waits", "threads wait");
        blind.push(format!(
            "{threads} for processes that are not watched: watch the process that has started them"
        ));
    }
    if coverage.paired > 0 {
        let threads = counted(coverage.paired as u64, "thread wakes", "threads wake");
        blind.push(format!(
            "{threads} and {} woken by one other: taking turns at a lock, or client and server",
            if coverage.paired == 1 { "is" } else { "are" },
        ));
    }
    if coverage.foreign > 0 {
        let processes = counted(coverage.foreign as u64, "process makes", "processes make");
        blind.push(format!("{processes} system calls of another architecture"));
    }
    if coverage.lost * 10 > threads {
        let threads = counted(coverage.lost as u64, "thread", "threads");
        blind.push(format!("{threads} came and went unseen"));
    }
    blind
}

/// The waits that a runtime with a scheduler of its own hides; `None` if its threads wait
/// themselves.
fn hidden_waits(runtime: LanguageRuntime) -> Option<&'static str> {
    match runtime {
        LanguageRuntime::Go => Some(
            "goroutines wait for locks inside the program, where only Go's mutex profile sees them",
        ),
        LanguageRuntime::Tokio => Some(
            "tasks of tokio wait for its locks inside the program, where only tokio-console sees \
             them",
        ),
        LanguageRuntime::Beam => Some(
            "processes of Erlang wait for each other inside the program, where only its observer \
             sees them",
        ),
        LanguageRuntime::HotSpot | LanguageRuntime::CPython => None,
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::sched::ThreadId;

    use super::super::ObservedThread;
    use super::*;

    const SECOND: Nanos = Nanos::from_millis(1_000);

    /// A thread that used half of a CPU for a second.
    fn report(kind: DiagnosisKind, certainty: Certainty, wasted: f64) -> ThreadReport {
        let mut seen = ObservedThread::new(ThreadId(7), "w");
        (seen.watched, seen.cpu) = (SECOND, Nanos::from_millis(500));
        let action = kind.action();
        let it = Diagnosis { kind, certainty, wasted, evidence: String::new(), action };
        ThreadReport { observed: seen, diagnoses: vec![it] }
    }

    fn seen() -> Coverage {
        Coverage { traced: Some(Nanos::from_millis(1_000)), waits: 9, ..Coverage::default() }
    }

    fn fine() -> ThreadReport {
        report(DiagnosisKind::Fine, Certainty::Certain, 0.0)
    }

    #[test]
    fn the_answer_is_good_only_with_full_coverage() {
        let answer_for = |coverage: Coverage| overall(&[fine(), fine()], SECOND, &coverage);
        let (answer, reason) = answer_for(seen());
        assert_eq!(answer, Answer::Yes);
        assert!(reason.ends_with("; 9 waits on futexes were seen in 1.00 s"), "{reason}");
        for (coverage, why) in [
            (Coverage { traced: None, ..seen() }, "were not traced"),
            (Coverage { traced: Some(Nanos::from_millis(99)), ..seen() }, "for 99.0 ms only"),
            (Coverage { runtimes: [LanguageRuntime::Go].into(), ..seen() }, "goroutines wait"),
            (Coverage { runtimes: [LanguageRuntime::Tokio].into(), ..seen() }, "tasks of tokio"),
            (Coverage { runtimes: [LanguageRuntime::Beam].into(), ..seen() }, "of Erlang wait"),
            (Coverage { virtual_threads: true, ..seen() }, "virtual threads wait"),
            (Coverage { slept: 3, ..seen() }, "3 threads of a JVM slept through the watch"),
            (Coverage { monitors: 100.0, ..seen() }, "100 contended entries and exits"),
            (Coverage { foreign: 1, ..seen() }, "another architecture"),
            (Coverage { lost: 1, ..seen() }, "one thread came and went"),
            (Coverage { outside: 1, ..seen() }, "one thread waits for processes that are not"),
            (Coverage { paired: 2, ..seen() }, "2 threads wake and are woken by one other"),
        ] {
            let (answer, reason) = answer_for(coverage);
            assert_eq!(answer, Answer::CannotTell, "{why}");
            assert!(reason.contains(why), "{reason}");
        }
        for coverage in [
            Coverage { runtimes: [LanguageRuntime::CPython].into(), ..seen() },
            Coverage { monitors: 99.0, ..seen() },
        ] {
            assert_eq!(answer_for(coverage).0, Answer::Yes);
        }
        // A single thread may wait for other processes.
        assert_eq!(overall(&[fine()], SECOND, &seen()).0, Answer::Yes);
        for blind in [Coverage::default(), Coverage { outside: 1, ..seen() }] {
            assert_eq!(overall(&[fine()], SECOND, &blind).0, Answer::CannotTell);
        }
    }

    #[test]
    fn threads_count_for_the_part_of_the_watch_in_which_they_were_there() {
        // Ten threads, one after the other, each with 80 % of a CPU of which a half is wasted.
        let brief = || {
            let mut it = report(DiagnosisKind::Yields, Certainty::Certain, 0.4);
            (it.observed.watched, it.observed.cpu) =
                (Nanos::from_millis(100), Nanos::from_millis(80));
            it
        };
        let all: Vec<ThreadReport> = (0..10).map(|_| brief()).collect();
        let (answer, reason) = overall(&all, SECOND, &seen());
        assert_eq!(answer, Answer::No);
        assert_eq!(reason, "10 of its 10 threads waste 40 % of a CPU out of 80 % that it uses");
    }

    #[test]
    fn certain_waste_is_a_no_even_without_coverage() {
        let blind = Coverage::default();
        for (kind, certainty, wasted, expected) in [
            (DiagnosisKind::Yields, Certainty::Certain, 0.01, Answer::No),
            (DiagnosisKind::LongWaits, Certainty::Certain, 0.0, Answer::No),
            (DiagnosisKind::TakesTurns, Certainty::Certain, 0.0, Answer::No),
            (DiagnosisKind::TakesTurns, Certainty::Suspected, 0.0, Answer::CannotTell),
            (DiagnosisKind::Spins, Certainty::Suspected, 0.5, Answer::CannotTell),
            (DiagnosisKind::CannotTell, Certainty::Certain, 0.0, Answer::CannotTell),
            (DiagnosisKind::WakesNobody, Certainty::Certain, 0.009, Answer::CannotTell),
        ] {
            let reports = [report(kind, certainty, wasted), fine()];
            assert_eq!(overall(&reports, SECOND, &blind).0, expected, "{kind:?} {certainty:?}");
        }
        for (certainty, expected) in
            [(Certainty::Certain, Answer::No), (Certainty::Suspected, Answer::CannotTell)]
        {
            let mut both = report(DiagnosisKind::Naps, Certainty::Certain, 0.009);
            both.diagnoses.extend(report(DiagnosisKind::TakesTurns, certainty, 0.0).diagnoses);
            assert_eq!(overall(&[both, fine()], SECOND, &seen()).0, expected, "beside naps");
        }
        let slight = [report(DiagnosisKind::WakesNobody, Certainty::Certain, 0.009), fine()];
        assert_eq!(overall(&slight, SECOND, &seen()).0, Answer::Yes);
    }
}
