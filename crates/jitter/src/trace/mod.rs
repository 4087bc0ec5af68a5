//! The wake-ups of all threads in a recording: the time from each wake-up to the run, and what had
//! the CPU meanwhile.
//!
//! | module | subject |
//! |---|---|
//! | `options` | the threads and the time that count |
//! | `wakes` | the wake-ups of each thread, and the longest of all |
//! | `report` | findings: the answer, the series and the tables |

mod options;
mod report;
mod wakes;

pub use options::Options;

use unjank_host::input::Stop;
use unjank_host::tracefs::{EventKind, Roster, SearchError, Trace};
use unjank_measure::Findings;
use wakes::Wakes;

/// What a recording without wake-ups lacks.
const MISSING: &str = "it has no wake-ups of threads; record the events sched/sched_switch and \
                       sched/sched_waking (of Perfetto, the data source linux.ftrace)";

/// Finds the wake-ups of a recording.
///
/// # Errors
/// The recording has no wake-ups, or none of the chosen threads; after a stop request.
pub fn run(
    trace: &Trace,
    roster: &Roster,
    options: &Options,
    stop: &Stop,
) -> Result<Findings, SearchError> {
    if !has_wake_ups(trace) {
        return Err(SearchError::lacks(MISSING));
    }
    let wakes = Wakes::of(trace, roster, options, stop)?;
    if wakes.all.n() == 0 {
        let what = match (&options.thread, &options.only) {
            (None, None) => "no thread was woken in this time".to_owned(),
            (Some(pattern), None) => format!("no thread called {pattern} was woken in this time"),
            (None, Some(_)) => "no thread of this process was woken in this time".to_owned(),
            (Some(pattern), Some(_)) => {
                format!("no thread of this process called {pattern} was woken in this time")
            }
        };
        return Err(SearchError::Lacks(what));
    }
    Ok(report::findings(trace, roster, options, wakes, stop)?)
}

/// Whether a trace has both events of a wake-up.
fn has_wake_ups(trace: &Trace) -> bool {
    trace.has(|kind| matches!(kind, EventKind::Switch { .. }))
        && trace.has(|kind| matches!(kind, EventKind::Waking { .. } | EventKind::Wakeup { .. }))
}

#[cfg(test)]
mod tests {
    use unjank_host::Nanos;
    use unjank_host::tracefs::Processes;
    use unjank_host::tracefs::script::{Script, at};
    use unjank_measure::Answer;

    use super::*;
    use unjank_host::thread_pattern::ThreadPattern;

    fn options(late: u64) -> Options {
        Options {
            thread: None,
            only: None,
            window: (at(0), at(1_000_000)),
            late: Nanos(late),
            limit: 8,
            why: Some("unjank why FILE".to_owned()),
        }
    }

    fn found(script: &Script, options: &Options) -> Result<Findings, SearchError> {
        let trace = script.trace();
        let stop = Stop::default();
        let roster = Roster::of(&trace, &Processes::default(), &stop).unwrap();
        run(&trace, &roster, options, &stop)
    }

    /// The victim waits 300 ns for the hog, and later 20 ns; thread 5 waits 40 ns.
    fn script() -> Script {
        Script::new()
            .runs(1, 50, 0, 9)
            .wakes(0, 100, 7, 1)
            .runs(1, 400, 9, 7)
            .sleeps(1, 500, 7, 9)
            .wakes(0, 600, 7, 1)
            .runs(1, 620, 9, 7)
            .wakes(0, 700, 5, 0)
            .runs(0, 740, 0, 5)
    }

    #[test]
    fn the_thread_with_the_longest_wait_comes_first_with_its_cause() {
        let findings = found(&script(), &options(100)).unwrap();
        let series = findings.series_named("jitter/trace/wakeup").unwrap();
        assert_eq!((series.n, series.summary.unwrap().max), (3, 300));
        let table = findings.table_named("jitter/trace/threads").unwrap();
        let json = serde_json::to_value(&table.rows).unwrap();
        assert_eq!((&json[0][0], &json[1][0]), (&"victim[7]".into(), &"t5[5]".into()));
        let numbers = |row: usize, column: usize| json[row][column]["value"].as_f64().unwrap();
        assert!((numbers(0, 2) - 2.0).abs() < 1e-9 && (numbers(0, 5) - 300.0).abs() < 1e-9);
        assert!((numbers(0, 6) - 1.0).abs() < 1e-9, "one of them is late: {json}");
        assert_eq!(json[0][7], "while hog[9] ran");
        let verdict = &findings.verdicts[0];
        assert_eq!(verdict.answer, Answer::No);
        assert_eq!(
            verdict.reason,
            "1 of 3 wake-ups took longer than 100 ns; the longest: victim[7] waited 300 ns while \
             hog[9] ran"
        );
        assert_eq!(
            verdict.next.as_deref(),
            Some("unjank why FILE --process 7 --thread 7 --since 0.000000000 --until 0.000000400")
        );
        let culprits = findings.table_named("jitter/trace/culprits").unwrap();
        let json = serde_json::to_value(&culprits.rows).unwrap();
        assert_eq!(json[0][0], "hog");
        assert_eq!(found(&script(), &options(300)).unwrap().verdicts[0].answer, Answer::Yes);
    }

    #[test]
    fn threads_and_times_are_chosen() {
        let victims = Options { thread: Some(ThreadPattern::new("vic*").unwrap()), ..options(100) };
        let n = |options: &Options| {
            let findings = found(&script(), options);
            findings.map(|it| it.series[0].n).map_err(|why| why.to_string())
        };
        assert_eq!(n(&victims), Ok(2));
        assert_eq!(n(&Options { window: (at(550), at(650)), ..victims.clone() }), Ok(1));
        let five = [unjank_host::sched::ThreadId(5)].into();
        assert_eq!(n(&Options { only: Some(five), ..options(100) }), Ok(1));
        let nobody =
            Options { thread: Some(ThreadPattern::new("nobody").unwrap()), ..options(100) };
        assert_eq!(n(&nobody), Err("no thread called nobody was woken in this time".to_owned()));
    }

    #[test]
    fn wake_ups_in_a_gap_do_not_count() {
        let findings = found(&script().loses(2, 200, 300), &options(100)).unwrap();
        assert_eq!(findings.series[0].n, 2);
        assert_eq!(findings.warnings.len(), 1, "{:?}", findings.warnings);
    }

    #[test]
    fn a_trace_without_wake_ups_says_what_to_record() {
        let only_switches = Script::new().runs(0, 10, 0, 7);
        let why = found(&only_switches, &options(100)).unwrap_err().to_string();
        assert!(
            why.contains("record the events sched/sched_switch and sched/sched_waking"),
            "{why}"
        );
    }

    proptest::proptest! {
        #[test]
        fn any_trace_is_searched(bytes in proptest::collection::vec(0_u8.., 0..400)) {
            if let Ok(findings) = found(&Script::invented(&bytes), &options(1)) {
                proptest::prop_assert!(findings.series[0].n > 0);
            }
        }
    }
}
