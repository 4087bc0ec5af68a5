//! Times in which events were lost.

use unjank_host::input::Stop;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::script::{Script, at};
use unjank_host::tracefs::{Context, Event, EventKind, LockFlags};
use unjank_units::Nanos;

use super::path;
use super::wakers::calls;
use crate::history::{History, State, Wait};
use crate::split::HighestClocks;
use crate::what_if::{Change, Replays, Window};

#[test]
fn a_thread_that_runs_is_unknown_while_events_of_its_cpu_are_lost() {
    let runs = || Script::new().runs(0, 0, 0, 7);
    let known = ["0-400 t7 own Computing"];
    let other = runs().loses(1, 150, 200).sleeps(0, 400, 7, 0);
    assert_eq!(path(&other, 7, 0, 400), known, "of another CPU");
    let seen = runs().happens(0, 250, Context::Thread, calls(0)).sleeps(0, 400, 7, 0);
    assert_eq!(
        path(&seen.loses(0, 150, 200).loses(0, 390, 500), 7, 0, 400),
        [
            "0-150 t7 own Computing",
            "150-200 t7 own Unknown",
            "200-390 t7 own Computing",
            "390-400 t7 own Unknown"
        ]
    );
    let between = runs().sleeps(0, 400, 7, 0).loses(0, 150, 200).loses(0, 300, 350);
    assert_eq!(
        path(&between, 7, 0, 400),
        ["0-150 t7 own Computing", "150-350 t7 own Unknown", "350-400 t7 own Computing"],
        "another thread may have run between the gaps"
    );
}

#[test]
fn a_thread_has_left_its_cpu_when_another_one_is_seen_there() {
    let missing = |call| {
        let calls = Script::new().runs(0, 0, 0, 7).happens(0, 90, Context::Thread, calls(call));
        // The switch from 7 to 9 is not in the trace.
        calls.runs(0, 110, 9, 3)
    };
    let again = |script: Script| script.sleeps(0, 310, 3, 7).sleeps(0, 400, 7, 0);
    assert_eq!(
        path(&again(missing(libc::SYS_read).wakes(0, 300, 7, 0)), 7, 0, 400),
        [
            "0-110 t7 own Computing",
            "110-300 t3 ipc Computing",
            "300-310 t7 own RunQueue",
            "310-400 t7 own Computing",
        ]
    );
    assert_eq!(
        path(&again(missing(libc::SYS_clock_nanosleep)), 7, 0, 400)[1],
        "110-310 t7 own Unknown",
        "nothing woke it: it may have been ready all the time"
    );
}

#[test]
fn a_thread_that_is_ready_may_have_run_meanwhile() {
    let script = Script::new().runs(0, 0, 9, 7).runs(0, 100, 7, 9).loses(0, 150, 200);
    let script = script.runs(0, 300, 9, 7).sleeps(0, 400, 7, 0);
    assert_eq!(
        path(&script, 7, 0, 400),
        [
            "0-100 t7 own Computing",
            "100-150 t7 own RunQueue",
            "150-200 t7 own Unknown",
            "200-300 t7 own RunQueue",
            "300-400 t7 own Computing",
        ]
    );
}

#[test]
fn a_thread_is_not_where_another_one_is_after_a_gap() {
    let before = || Script::new().runs(0, 0, 0, 7).runs(1, 0, 0, 3).loses(0, 150, 200);
    let then = [
        "0-150 t7 own Computing",
        "150-200 t7 own Unknown",
        "200-500 t3 other Computing",
        "500-510 t7 own RunQueue",
        "510-600 t7 own Computing",
    ];
    // Thread 9 has the CPU, or it has been idle until thread 3 wakes 7.
    let other = before().sleeps(0, 250, 9, 0).wakes(1, 500, 7, 0).runs(0, 510, 0, 7);
    assert_eq!(path(&other.sleeps(0, 600, 7, 0), 7, 0, 600), then);
    let idle = before().wakes(1, 500, 7, 0).runs(0, 510, 0, 7).sleeps(0, 600, 7, 0);
    assert_eq!(path(&idle, 7, 0, 600), then);
    // It runs on another CPU, to which it moved during the gap.
    let moved = before().runs(2, 300, 0, 7).sleeps(2, 600, 7, 0);
    assert_eq!(
        path(&moved, 7, 0, 600),
        [
            "0-150 t7 own Computing",
            "150-200 t7 own Unknown",
            "200-300 t7 own Unknown",
            "300-600 t7 own Computing"
        ]
    );
    // It was ready before the gap, and is woken after it, so it has slept in between.
    let ready = Script::new().runs(0, 0, 9, 7).runs(0, 100, 7, 9).runs(1, 0, 0, 3);
    let ready = ready.loses(0, 150, 200).wakes(1, 500, 7, 0).runs(0, 510, 9, 7);
    assert_eq!(path(&ready, 7, 100, 510)[1..3], [then[1], then[2]]);
}

#[test]
fn a_thread_runs_from_the_end_of_the_gap_in_which_it_was_woken() {
    let script = Script::new().runs(0, 0, 0, 7).sleeps(0, 100, 7, 9).loses(0, 150, 200);
    let script = script.happens(0, 300, Context::Irq, calls(0)).sleeps(0, 400, 7, 0);
    let mut trace = script.trace();
    let mut events: Vec<Event> = trace.cpus[0].events.iter().collect();
    events[2].current = ThreadId(7);
    trace.cpus[0].events = events.into_iter().collect();
    let history = History::of(&trace);
    let spans = &history.life(ThreadId(7), at(0)).unwrap().spans;
    let asleep = State::Asleep { wait: Wait::Unknown, wake: None };
    let states: Vec<(u64, State)> =
        spans.iter().map(|span| (span.to.as_nanos(), span.state)).collect();
    let runs = State::Running { cpu: 0 };
    assert_eq!(states, [(100, runs), (200, asleep), (400, runs)]);
}

#[test]
fn the_call_of_a_sleep_after_a_gap_is_not_known() {
    let waits = |script: Script| {
        let script = script.sleeps(0, 300, 7, 0).runs(0, 400, 0, 7);
        let history = History::of(&script.trace());
        let span = history.life(ThreadId(7), at(0)).unwrap().before(at(400)).unwrap();
        span.state
    };
    let reads = || Script::new().runs(0, 0, 0, 7).happens(0, 90, Context::Thread, calls(0));
    let wait = |wait| State::Asleep { wait, wake: None };
    assert_eq!(waits(reads()), wait(Wait::Call { number: 0, arguments: [0; 2] }));
    assert_eq!(waits(reads().loses(0, 150, 200)), wait(Wait::Unknown));
    let preempted = reads().runs(0, 100, 7, 9).loses(0, 150, 200).runs(0, 250, 9, 7);
    assert_eq!(waits(preempted), wait(Wait::Unknown));
}

#[test]
fn lost_calls_leave_the_rest_known() {
    let runs = || Script::new().runs(0, 0, 0, 7).happens(0, 90, Context::Thread, calls(0));
    let wait = |script: Script| {
        let trace = script.sleeps(0, 300, 7, 0).runs(0, 400, 0, 7).trace();
        let history = History::of(&trace);
        let life = history.life(ThreadId(7), at(0)).unwrap();
        assert_eq!(life.before(at(300)).unwrap().from, at(0), "it computes all the time");
        match life.before(at(400)).unwrap().state {
            State::Asleep { wait, .. } => wait,
            other => panic!("{other:?}"),
        }
    };
    let read = Wait::Call { number: 0, arguments: [0; 2] };
    assert_eq!(wait(runs().loses_calls(0, 150, 200)), Wait::Unknown);
    assert_eq!(wait(runs().loses_calls(0, 290, 310)), Wait::Unknown, "it may sleep in another");
    assert_eq!(wait(runs().loses_calls(1, 150, 200)), read, "on another CPU");
    assert_eq!(wait(runs().loses_calls(0, 50, 90)), read, "before");
    let later = runs().loses_calls(0, 150, 200).happens(0, 200, Context::Thread, calls(0));
    assert_eq!(wait(later), read, "a later one");
    let contended = EventKind::LockContended { lock: 1, flags: LockFlags(1 << 5) };
    let locked = runs().happens(0, 100, Context::Thread, contended).loses_calls(0, 150, 200);
    let lock = Wait::KernelLock { lock: 1, flags: LockFlags(1 << 5), call: Some(0) };
    assert_eq!(wait(locked), lock, "it cannot make another");
}

#[test]
fn a_replay_keeps_what_is_lost() {
    let script = Script::new().runs(0, 0, 9, 7).runs(0, 100, 7, 9).loses(0, 150, 200);
    let script = script.runs(0, 300, 9, 7).loses(0, 320, 340).sleeps(0, 400, 7, 0);
    let trace = script.trace();
    let window = Window {
        trace: &trace,
        history: &History::of(&trace),
        highest: &HighestClocks::new(),
        swap: &[],
        family: &[ThreadId(7)].into(),
        thread: ThreadId(7),
        locks: &[],
        from: at(0),
        to: at(400),
    };
    let stop = Stop::default();
    let replays = Replays::of(window, &stop).unwrap();
    assert_eq!(replays.length(&Change::default()), Some(Nanos(400)));
    let boosted = Change { boosted: [ThreadId(7)].into(), ..Change::default() };
    assert_eq!(
        replays.length(&boosted),
        Some(Nanos(400 - 50 - 100)),
        "but not the 50 ns that are lost"
    );
}
