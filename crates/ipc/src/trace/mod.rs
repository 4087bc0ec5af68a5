//! Calls over binder in a recording: how long they took, and in which part of the way.
//!
//! | module | subject |
//! |---|---|
//! | `options` | the processes and the time that count |
//! | `calls` | calls and messages without a reply, from the events of the driver |
//! | `report` | findings: the answer, the series and the tables |

mod calls;
mod options;
mod report;

pub use options::Options;

use unjank_host::input::Stop;
use unjank_host::tracefs::{EventKind, Roster, SearchError, Trace};
use unjank_measure::Findings;

use calls::Calls;

/// What a recording without calls lacks.
const MISSING: &str = "it has no calls over binder; record the events binder/binder_transaction \
                       and binder/binder_transaction_received (of Perfetto, the category \
                       binder_driver)";

/// Finds the calls of a recording.
///
/// # Errors
/// The recording has no calls over binder, or none of the chosen processes; after a stop request.
pub fn run(
    trace: &Trace,
    roster: &Roster,
    options: &Options,
    stop: &Stop,
) -> Result<Findings, SearchError> {
    if !trace.has(|kind| matches!(kind, EventKind::BinderSent { .. }))
        || !trace.has(|kind| matches!(kind, EventKind::BinderReceived { .. }))
    {
        return Err(SearchError::lacks(MISSING));
    }
    let calls = Calls::of(trace, options, stop)?;
    if calls.returned.is_empty() && calls.one_way.is_empty() {
        let whose = if options.only.is_some() { " of this process" } else { "" };
        return Err(SearchError::lacks(format!(
            "no call over binder{whose} began and returned in this time"
        )));
    }
    Ok(report::findings(trace, roster, options, &calls))
}

#[cfg(test)]
mod tests {
    use unjank_host::Nanos;
    use unjank_host::sched::ThreadId;
    use unjank_host::tracefs::script::{Script, at};
    use unjank_host::tracefs::{BinderRole, Context, Processes};
    use unjank_measure::Answer;

    use super::*;

    fn options() -> Options {
        Options {
            only: None,
            window: (at(0), at(1_000_000)),
            deadline: Nanos(250),
            limit: 8,
            why: None,
        }
    }

    fn found(script: &Script, options: &Options) -> Result<Findings, SearchError> {
        let trace = script.trace();
        let stop = Stop::default();
        let roster = Roster::of(&trace, &Processes::default(), &stop).unwrap();
        run(&trace, &roster, options, &stop)
    }

    fn sent(script: Script, cpu: usize, nanos: u64, transaction: u32, role: BinderRole) -> Script {
        let process = ThreadId(if role == BinderRole::Reply { 7 } else { 20 });
        let kind = EventKind::BinderSent { transaction, process, role };
        script.happens(cpu, nanos, Context::Thread, kind)
    }

    fn received(script: Script, cpu: usize, nanos: u64, transaction: u32) -> Script {
        script.happens(cpu, nanos, Context::Thread, EventKind::BinderReceived { transaction })
    }

    /// The client 7 on CPU 0 calls the thread 21 of process 20 on CPU 1 at 100 and has the reply at
    /// 380.
    fn call() -> Script {
        let script = sent(Script::new().runs(0, 50, 0, 7), 0, 100, 1, BinderRole::Call);
        let script = script.wakes(0, 110, 21, 1).sleeps(0, 120, 7, 0).runs(1, 170, 0, 21);
        let script = sent(received(script, 1, 180, 1), 1, 300, 2, BinderRole::Reply);
        let script = script.wakes(1, 310, 7, 0).sleeps(1, 320, 21, 0).runs(0, 370, 0, 7);
        received(script, 0, 380, 2)
    }

    fn numbers(table: &unjank_measure::Table, row: usize) -> Vec<f64> {
        let json = serde_json::to_value(&table.rows[row]).unwrap();
        let cells = json.as_array().unwrap().iter();
        cells.filter_map(|cell| cell["value"].as_f64()).collect()
    }

    #[test]
    fn a_call_is_divided_at_the_server_s_receipt_and_reply() {
        let findings = found(&call(), &options()).unwrap();
        let verdict = &findings.verdicts[0];
        assert_eq!(verdict.answer, Answer::No);
        assert_eq!(
            verdict.reason,
            "1 of 1 call took longer than 250 ns; the longest, from victim[7] to process 20: 80 ns \
             to the server (60 ns of it t21[21] waited for a CPU), 120 ns in the server, 80 ns back \
             (60 ns of it victim[7] waited for a CPU)"
        );
        let series = findings.series_named("ipc/trace/call").unwrap();
        assert_eq!((series.n, series.summary.unwrap().max), (1, 280));
        let parts = findings.table_named("ipc/trace/parts").unwrap();
        let medians: Vec<f64> = (0..3).map(|row| numbers(parts, row)[0]).collect();
        assert!((medians[0] - 80.0).abs() + (medians[1] - 120.0).abs() < 1e-9, "{medians:?}");
        let relaxed = Options { deadline: Nanos(300), ..options() };
        assert_eq!(found(&call(), &relaxed).unwrap().verdicts[0].answer, Answer::Yes);
    }

    #[test]
    fn a_server_s_own_call_is_part_of_its_work() {
        // The server calls thread 5 while it serves; the inner reply ends the inner call.
        let script = sent(Script::new().runs(0, 50, 0, 7), 0, 100, 1, BinderRole::Call);
        let script = received(script.runs(1, 110, 0, 21), 1, 120, 1);
        let script = sent(script, 1, 130, 5, BinderRole::Call).runs(2, 140, 0, 5);
        let script = sent(received(script, 2, 150, 5), 2, 160, 6, BinderRole::Reply);
        let script = sent(received(script, 1, 170, 6), 1, 200, 2, BinderRole::Reply);
        let findings = found(&received(script, 0, 210, 2), &options()).unwrap();
        let table = findings.table_named("ipc/trace/longest").unwrap();
        let wholes = [numbers(table, 0)[0], numbers(table, 1)[0]];
        assert!((wholes[0] - 110.0).abs() + (wholes[1] - 40.0).abs() < 1e-9, "{wholes:?}");
    }

    #[test]
    fn messages_without_a_reply_and_calls_without_an_end_are_counted_apart() {
        let script = sent(call(), 0, 400, 3, BinderRole::OneWay);
        let script = received(script.runs(1, 410, 0, 21), 1, 450, 3);
        let findings = found(&sent(script, 0, 500, 9, BinderRole::Call), &options()).unwrap();
        assert_eq!(findings.series_named("ipc/trace/call").unwrap().n, 1);
        let one_way = findings.series_named("ipc/trace/one_way").unwrap();
        assert_eq!((one_way.n, one_way.summary.unwrap().max), (1, 50));
        assert!((findings.fact_named("ipc/trace/unfinished").unwrap().value - 1.0).abs() < 1e-9);
    }

    #[test]
    fn calls_of_other_processes_and_in_gaps_do_not_count() {
        let why = |options: &Options, script: &Script| {
            found(script, options).map(|_| ()).map_err(|why| why.to_string())
        };
        let only = |thread| Options { only: Some([ThreadId(thread)].into()), ..options() };
        assert_eq!(why(&only(7), &call()), Ok(()), "the client");
        assert_eq!(why(&only(21), &call()), Ok(()), "the server");
        let nothing =
            |whose| Err(format!("no call over binder{whose} began and returned in this time"));
        assert_eq!(why(&only(5), &call()), nothing(" of this process"));
        assert_eq!(why(&options(), &call().loses(2, 200, 210)), nothing(""));
        let early = Options { window: (at(0), at(300)), ..options() };
        assert_eq!(why(&early, &call()), nothing(""));
    }

    #[test]
    fn a_trace_without_binder_says_what_to_record() {
        let why = found(&Script::new().runs(0, 10, 0, 7), &options()).unwrap_err().to_string();
        assert!(why.contains("the category binder_driver"), "{why}");
    }

    proptest::proptest! {
        #[test]
        fn any_trace_is_searched(bytes in proptest::collection::vec(0_u8.., 0..800)) {
            if let Ok(findings) = found(&Script::invented(&bytes), &options()) {
                proptest::prop_assert!(findings.series.iter().any(|series| series.n > 0));
            }
        }
    }
}
