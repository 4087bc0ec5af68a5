use std::sync::atomic::Ordering;

use unjank_host::sched::ThreadId;
use unjank_host::tracefs::script::{Script, at};
use unjank_host::tracefs::{Comm, Context, EventKind, StorageEvent, SystemCall};

use super::*;

fn choose(
    trace: &Trace,
    wanted: &ChoiceOptions,
    own: Option<OwnRecording>,
) -> Result<Chosen, String> {
    super::choose(trace, wanted, own, &Stop::default())
}

fn storage(script: Script, nanos: u64, event: StorageEvent) -> Script {
    script.happens(0, nanos, Context::Thread, EventKind::Storage(event))
}

fn executes(script: Script, nanos: u64, process: u32, program: &str) -> Script {
    let program = Comm::from(program);
    storage(
        script,
        nanos,
        StorageEvent::Executed { process: ThreadId(process), before: ThreadId(process), program },
    )
}

fn wanted(process: &str) -> ChoiceOptions {
    ChoiceOptions { process: Some(process.to_owned()), ..ChoiceOptions::default() }
}

/// A process that executed `app`, its thread 4, and the process `hog`.
fn script() -> Script {
    let script = executes(Script::new().runs(0, 0, 9, 7), 40, 7, "sh");
    let script = executes(script, 50, 7, "app");
    let started = StorageEvent::Started { thread: ThreadId(4), same_process: true };
    let script = storage(script, 90, started).runs(0, 100, 7, 9).runs(0, 200, 9, 4);
    let ended = StorageEvent::Ended { thread: ThreadId(7), last: None };
    storage(script, 300, ended).runs(0, 400, 4, 9)
}

#[test]
fn a_program_is_chosen_from_its_exec_to_its_end() {
    let chosen = choose(&script().trace(), &wanted("app"), None).unwrap();
    assert_eq!(chosen.thread, ThreadId(7));
    assert_eq!(chosen.from, (at(40), Edge::FirstExec));
    assert_eq!(chosen.to, (at(300), Edge::ThreadEnd));
    assert_eq!(choose(&script().trace(), &wanted("7"), None), Ok(chosen));
    let hog = choose(&script().trace(), &wanted("hog"), None).unwrap();
    assert_eq!(hog.from, (at(0), Edge::RecordingBegin));
    assert_eq!(hog.to, (at(400), Edge::RecordingEnd));
}

#[test]
fn a_name_that_no_event_has_is_known_from_the_recorder() {
    let names = [(ThreadId(400), "server".into()), (ThreadId(7), "former".into())].into();
    let trace = Trace { names, ..script().trace() };
    assert_eq!(choose(&trace, &wanted("server"), None).unwrap().thread, ThreadId(400));
    assert_eq!(choose(&trace, &wanted("app"), None).unwrap().thread, ThreadId(7));
    let history = crate::history::History::of(&trace);
    assert_eq!(history.name(ThreadId(400)), Some("server".into()));
    assert_eq!(history.name(ThreadId(7)), Some("victim".into()), "that of the last event");
}

#[test]
fn a_launch_begins_with_the_call_of_its_exec() {
    let call =
        |number: i64| EventKind::SystemCall(SystemCall::Begins { number, arguments: [0; 6] });
    let script = Script::new().runs(0, 0, 9, 7);
    let failed = script.happens(0, 10, Context::Thread, call(libc::SYS_execve));
    let called = failed.happens(0, 20, Context::Thread, call(libc::SYS_execve));
    let other =
        executes(called, 40, 7, "app").happens(0, 50, Context::Thread, call(libc::SYS_read));
    let other = executes(other, 60, 7, "app").runs(0, 100, 7, 9);
    let chosen = choose(&other.trace(), &wanted("app"), None).unwrap();
    assert_eq!(chosen.from, (at(20), Edge::FirstExec));
}

#[test]
fn a_thread_that_ends_on_two_cpus_ends_with_the_later() {
    let ended = EventKind::Storage(StorageEvent::Ended { thread: ThreadId(7), last: None });
    let twice = script().happens(1, 200, Context::Thread, ended).trace();
    let chosen = choose(&twice, &wanted("app"), None).unwrap();
    assert_eq!(chosen.to, (at(300), Edge::ThreadEnd));
}

#[test]
fn a_window_is_named_by_the_clock_or_after_the_begin() {
    let mut wanted = wanted("app");
    wanted.from = Some(Moment::At(at(60)));
    wanted.to = Some(Moment::After(Nanos(70)));
    let chosen = choose(&script().trace(), &wanted, None).unwrap();
    assert_eq!((chosen.from, chosen.to), ((at(60), Edge::Since), (at(70), Edge::Until)));
    wanted.to = Some(Moment::After(Nanos(1_000)));
    let chosen = choose(&script().trace(), &wanted, None).unwrap();
    assert_eq!(chosen.to, (at(400), Edge::RecordingEndBeforeUntil));
    wanted.to = Some(Moment::After(Nanos(60)));
    let why = choose(&script().trace(), &wanted, None).unwrap_err();
    assert!(why.ends_with("the recording covers 0.000000000 s to 0.000000400 s"), "{why}");
}

#[test]
fn what_unjank_recorded_is_chosen_without_a_name() {
    let first = ThreadId(7);
    let own = OwnRecording { thread: first, first, window: (at(45), at(250)) };
    let chosen = choose(&script().trace(), &ChoiceOptions::default(), Some(own)).unwrap();
    assert_eq!((chosen.from.0, chosen.to.0), (at(45), at(250)));
    let worker = OwnRecording { thread: ThreadId(4), ..own };
    for process in [None, Some("7".to_owned())] {
        let wanted = ChoiceOptions { process, ..ChoiceOptions::default() };
        let chosen = choose(&script().trace(), &wanted, Some(worker)).unwrap();
        assert_eq!((chosen.thread, chosen.first), (ThreadId(4), first));
        assert_eq!((chosen.from.0, chosen.to.0), (at(45), at(250)));
        let wanted = ChoiceOptions { thread: Some("7".to_owned()), ..wanted };
        let chosen = choose(&script().trace(), &wanted, Some(worker)).unwrap();
        assert_eq!((chosen.thread, chosen.first), (first, first));
        assert_eq!(chosen.to.1, Edge::ThreadEnd);
    }
    let other = choose(&script().trace(), &wanted("hog"), Some(own)).unwrap();
    assert_eq!(other.from.1, Edge::RecordingBegin);
}

#[test]
fn a_recorded_window_far_beyond_the_events_is_refused() {
    let first = ThreadId(7);
    let chosen = |from, to, wanted: ChoiceOptions| {
        let own = OwnRecording { thread: first, first, window: (at(from), at(to)) };
        choose(&script().trace(), &wanted, Some(own))
    };
    let usual = ChoiceOptions::default;
    assert_eq!(chosen(45, 10_000, usual()).unwrap().to.0, at(10_000), "after its last event");
    let why = chosen(45, u64::MAX, usual()).unwrap_err();
    assert!(why.ends_with("but its events are from 0.000000000 s to 0.000000400 s"), "{why}");
    let until = ChoiceOptions { to: Some(Moment::At(at(250))), ..usual() };
    assert_eq!(chosen(45, u64::MAX, until).unwrap().to.0, at(250), "the user knows better");
    // A trace that begins after an hour.
    let late = Script::new().runs(0, 3_600_000_000_000, 0, 7).sleeps(0, 3_600_000_000_400, 7, 0);
    let own = OwnRecording { thread: first, first, window: (at(45), at(3_600_000_000_400)) };
    assert!(choose(&late.trace(), &usual(), Some(own)).unwrap_err().contains("claims to be of"));
}

#[test]
fn several_processes_of_a_name_are_listed() {
    let both = executes(script(), 60, 9, "app").trace();
    let why = choose(&both, &wanted("app"), None).unwrap_err();
    let expected = "2 processes are called app: victim (7), hog (9); name one by its number: \
                    --process 7";
    assert_eq!(why, expected);
    let why = choose(&both, &ChoiceOptions::default(), None).unwrap_err();
    assert_eq!(why, "name a process with --process: victim (7), hog (9)");
    let why = choose(&both, &wanted("nobody"), None).unwrap_err();
    assert!(why.starts_with("the recording has no process called nobody; it has "), "{why}");
    assert!(choose(&both, &wanted("4711"), None).unwrap_err().contains("no process 4711"));
}

#[test]
fn a_stop_request_ends_the_choice() {
    let stop = Stop::default();
    stop.flag().store(true, Ordering::Relaxed);
    let why = super::choose(&script().trace(), &wanted("app"), None, &stop).unwrap_err();
    assert_eq!(why, Stopped.to_string());
}

#[test]
fn a_thread_is_chosen_within_its_process() {
    let mut wanted = wanted("app");
    wanted.thread = Some("t4".to_owned());
    let chosen = choose(&script().trace(), &wanted, None).unwrap();
    assert_eq!((chosen.thread, chosen.from.0), (ThreadId(4), at(40)));
    wanted.thread = Some("nobody".to_owned());
    let why = choose(&script().trace(), &wanted, None).unwrap_err();
    assert_eq!(why, "process 7 has no thread called nobody");
}
