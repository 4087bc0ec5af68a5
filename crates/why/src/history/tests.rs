use unjank_host::block_device::DeviceNumber;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::script::{Script, at, task};
use unjank_host::tracefs::{Context, DeviceRequest, EventKind, Gap, StorageEvent};

use super::*;
use crate::path::{Activity, Detail, Way, critical_path};

const FUTEX: i64 = libc::SYS_futex;
const SLEEP: i64 = libc::SYS_clock_nanosleep;

fn seen(thread: u32, nanos: u64, number: i64) -> Asleep {
    let wait = Wait::Call { number, arguments: [16, 0] };
    Asleep { thread: ThreadId(thread), at: at(nanos), wait }
}

/// A recording from 0 to 500, in which thread 9 wakes 7, which has slept all the
/// time.
fn woken() -> unjank_host::tracefs::Trace {
    let script = Script::new().runs(1, 20, 0, 9).wakes(1, 300, 7, 0).runs(0, 310, 0, 7);
    let mut trace = script.trace();
    for cpu in &mut trace.cpus {
        cpu.gaps.push(Gap { from: at(500), to: at(u64::MAX) });
    }
    trace.cpus[0].gaps.insert(0, Gap { from: at(0), to: at(5) });
    trace
}

fn first_wait(history: &History, thread: u32) -> Wait {
    match history.life(ThreadId(thread), at(0)).unwrap().spans.get(0).unwrap().state {
        State::Asleep { wait, .. } => wait,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_thread_that_sleeps_before_its_first_event_was_seen_in_its_call() {
    let history = History::of_running(&woken(), &[seen(7, 100, FUTEX)]);
    assert_eq!(first_wait(&history, 7), seen(7, 0, FUTEX).wait);
    let path = critical_path(&history, ThreadId(7), at(120), at(400));
    assert_eq!((path.segments[0].thread, path.segments[0].way), (ThreadId(9), Way::Lock));
    assert_eq!(first_wait(&History::of(&woken()), 7), Wait::Unknown, "else it is not known");
}

#[test]
fn what_the_trace_has_of_a_thread_is_not_replaced() {
    let history = History::of_running(&woken(), &[seen(9, 100, FUTEX), seen(7, 305, FUTEX)]);
    assert_eq!(first_wait(&history, 7), Wait::Unknown, "the look came after its wake-up");
    let states = &history.life(ThreadId(9), at(0)).unwrap().spans;
    assert!(!states.iter().any(|span| matches!(span.state, State::Asleep { .. })));
}

#[test]
fn a_thread_without_an_event_sleeps_until_the_recording_stops() {
    let history = History::of_running(&woken(), &[seen(21, 100, SLEEP), seen(22, 600, FUTEX)]);
    let spans = &history.life(ThreadId(21), at(0)).unwrap().spans;
    let only = spans.get(0).unwrap();
    assert_eq!((spans.len(), only.from, only.to), (1, at(5), at(500)));
    let activity = |thread| {
        let path = critical_path(&history, ThreadId(thread), at(120), at(450));
        assert_eq!(path.segments.len(), 1);
        path.segments[0].activity
    };
    assert_eq!(activity(21), Activity::Timer);
    assert_eq!(activity(22), Activity::Unknown, "what would end it is not in the trace");
    assert_eq!(activity(23), Activity::Unknown, "nothing is known of it");
}

#[test]
fn a_thread_is_in_a_run_queue_from_the_second_event_of_its_wake_up_on() {
    let way = |script: Script| {
        let history = History::of(&script.trace());
        let spans = history.life(ThreadId(7), at(0)).unwrap().spans.iter();
        let spans = spans.filter(|span| span.from >= at(100)).filter_map(|span| {
            let name = match span.state {
                State::Woken { cpu } => format!("to {cpu}"),
                State::Ready { cpu } => format!("in {cpu}"),
                State::Running { .. } | State::Asleep { .. } => return None,
            };
            Some((name, span.from.as_nanos(), span.to.as_nanos()))
        });
        spans.collect::<Vec<_>>()
    };
    let step = |name: &str, from, to| (name.to_owned(), from, to);
    let queued = EventKind::Wakeup { task: task(7), cpu: 2 };
    let asleep = || Script::new().runs(0, 0, 0, 7).runs(1, 0, 0, 9).sleeps(0, 100, 7, 0);
    let woken = || asleep().wakes_late(1, 300, 7, 0);
    // CPU 2 is idle and has to be interrupted.
    let moved = woken().migrates(1, 310, 7, 0, 2).happens(2, 340, Context::Irq, queued);
    assert_eq!(
        way(moved.runs(2, 360, 0, 7)),
        [step("to 0", 300, 310), step("to 2", 310, 340), step("in 2", 340, 360)]
    );
    assert_eq!(way(woken().runs(0, 360, 0, 7)), [step("in 0", 300, 360)], "it is not recorded");
    assert_eq!(way(asleep().wakes(1, 300, 7, 0).runs(0, 360, 0, 7)), [step("in 0", 300, 360)]);
    // CPU 2 is busy and is interrupted after the thread came into its queue.
    let interrupted = |reschedules| {
        let sent = EventKind::IpiSent { cpu: 2, reschedules };
        let script = woken().migrates(1, 310, 7, 0, 2).happens(1, 320, Context::Thread, sent);
        way(script.happens(1, 340, Context::Thread, queued).runs(2, 360, 0, 7))
    };
    assert_eq!(
        interrupted(true),
        [
            step("to 0", 300, 310),
            step("to 2", 310, 320),
            step("in 2", 320, 340),
            step("in 2", 340, 360)
        ]
    );
    let fetched = [step("to 0", 300, 310), step("to 2", 310, 340), step("in 2", 340, 360)];
    assert_eq!(interrupted(false), fetched, "it is fetched from there");
    // A signal to a thread on another CPU.
    let sent = EventKind::IpiSent { cpu: 2, reschedules: true };
    let kicked = woken().happens(1, 320, Context::Thread, sent);
    let kicked = kicked.happens(0, 340, Context::Irq, EventKind::Wakeup { task: task(7), cpu: 0 });
    assert_eq!(
        way(kicked.runs(0, 360, 0, 7)),
        [step("to 0", 300, 340), step("in 0", 340, 360)],
        "the interrupt is not for this thread"
    );
    // It was about to fall asleep: the waker waits until it has left its CPU.
    let early = Script::new().runs(0, 0, 0, 7).runs(1, 0, 0, 9).wakes_late(1, 90, 7, 0);
    let early = early.sleeps(0, 100, 7, 0).happens(1, 110, Context::Thread, queued);
    assert_eq!(way(early.runs(2, 120, 0, 7)), [step("to 2", 100, 110), step("in 2", 110, 120)]);
}

/// Drivers of SD cards finish requests in threads.
#[test]
fn a_request_that_a_thread_of_the_kernel_finishes_ends_its_waits() {
    let request =
        |sector| DeviceRequest { device: DeviceNumber(1), sector, sectors: 8, letters: "R".into() };
    let issued = |sector| EventKind::Storage(StorageEvent::Issued(request(sector)));
    let done = |sector| EventKind::Storage(StorageEvent::Completed(request(sector)));
    let waking = EventKind::Waking { task: task(7), cpu: 0 };
    let activity = |kernel: &[u32], between: Option<EventKind>, lost: u64| {
        let script = Script::new()
            .runs(0, 0, 0, 7)
            .runs(1, 0, 0, 5)
            .happens(0, 80, Context::Thread, EventKind::PageFault { address: 0x1000 })
            .happens(0, 90, Context::Thread, issued(8))
            .sleeps(0, 100, 7, 0)
            .happens(1, 300, Context::Thread, done(8));
        let script = between
            .into_iter()
            .fold(script, |script, kind| script.happens(1, 301, Context::Thread, kind));
        let script = script.loses(1, 300, 300 + lost);
        let mut trace = script.happens(1, 302, Context::Thread, waking).runs(0, 310, 0, 7).trace();
        trace.kernel_threads = kernel.iter().copied().map(ThreadId).collect();
        let path = critical_path(&History::of(&trace), ThreadId(7), at(100), at(302));
        let last = path.segments.last().unwrap();
        (last.activity, matches!(last.detail, Detail::Request(_)))
    };
    assert_eq!(activity(&[5], None, 0), (Activity::PageIn, true));
    assert_eq!(activity(&[5], Some(issued(16)), 0), (Activity::Computing, false), "it goes on");
    assert_eq!(activity(&[6], None, 0), (Activity::Computing, false), "a program polls");
    assert_eq!(activity(&[5], None, 1), (Activity::Computing, false), "it may have gone on");
}

/// The text form of ftrace has a resolution of 1 µs: within it, events of two CPUs have no order.
#[test]
fn a_thread_is_woken_in_the_moment_in_which_it_falls_asleep() {
    let states = |woken_by: usize| {
        let script = Script::new().runs(0, 0, 0, 7).runs(1, 0, 0, 9).wakes(woken_by, 100, 7, 0);
        let script = script.sleeps(0, 100, 7, 9).runs(0, 10_100, 9, 7);
        let history = History::of(&script.trace());
        let spans = history.life(ThreadId(7), at(0)).unwrap().spans.iter().map(|span| span.state);
        spans.collect::<Vec<_>>()
    };
    assert_eq!(states(1), [State::Running { cpu: 0 }, State::Ready { cpu: 0 }]);
    let asleep = State::Asleep { wait: Wait::Unknown, wake: None };
    assert_eq!(states(0), [State::Running { cpu: 0 }, asleep], "one CPU has an order");
}

#[test]
fn a_lock_that_is_taken_within_a_switch_is_no_sign_of_life() {
    let script = Script::new()
        .runs(0, 0, 0, 7)
        .runs(0, 100, 7, 3)
        .happens_within_switch(0, 104, EventKind::LockAcquired { lock: 9 })
        .runs(0, 500, 3, 7)
        .sleeps(0, 600, 7, 0);
    let history = History::of(&script.trace());
    let states = |thread| -> Vec<_> {
        let spans = history.life(ThreadId(thread), at(0)).unwrap().spans.iter();
        let of_span = |span: Span| (span.from.since(at(0)).get(), span.state);
        spans.map(of_span).filter(|(from, _)| *from >= 100).collect()
    };
    let [running, ready] = [State::Running { cpu: 0 }, State::Ready { cpu: 0 }];
    assert_eq!(states(7), [(100, ready), (500, running)]);
    assert_eq!(states(3), [(100, running), (500, ready)]);
}

/// Going through all lives for each question would take minutes here.
#[test]
fn an_id_may_be_used_any_number_of_times() {
    const LIVES: u64 = 100_000;
    let mut script = Script::new().runs(0, 0, 0, 3);
    for life in 0..LIVES {
        let started = StorageEvent::Started { thread: ThreadId(7), same_process: false };
        script = script.happens(0, life * 10, Context::Thread, EventKind::Storage(started));
        script = script.wakes(0, life * 10 + 1, 7, 1);
    }
    let history = History::of(&script.trace());
    for life in 0..LIVES {
        let begin = history.life(ThreadId(7), at(life * 10 + 5)).unwrap().begin();
        assert_eq!(begin, at(life * 10));
        assert_eq!(history.name(ThreadId(7)), Some("victim".into()));
    }
    assert_eq!(history.life(ThreadId(8), at(5)).map(Life::begin), None);
}

/// Following all births for each question would take minutes here.
#[test]
fn a_process_may_have_any_number_of_threads() {
    const THREADS: u32 = 100_000;
    let mut script = Script::new().runs(0, 0, 0, 1);
    for thread in 1..THREADS {
        let started = StorageEvent::Started { thread: ThreadId(thread + 1), same_process: true };
        let nanos = u64::from(thread) * 10;
        script = script.happens(0, nanos, Context::Thread, EventKind::Storage(started));
        script = script.runs(0, nanos + 1, thread, thread + 1);
    }
    let mut history = History::of(&script.trace());
    let end = at(u64::from(THREADS) * 10);
    for thread in 1..=THREADS {
        assert_eq!(history.first_of_process(ThreadId(thread), end), ThreadId(1));
    }
    history.began_with(&[(50, ThreadId(1)), (50, ThreadId(50))].into());
    assert_eq!(history.first_of_process(ThreadId(THREADS), end), ThreadId(50));
}

#[test]
fn a_wake_up_of_a_running_thread_is_over_at_once_or_with_the_second_event() {
    let queued = |script: Script, nanos| {
        let wakeup = EventKind::Wakeup { task: task(7), cpu: 0 };
        script.happens(1, nanos, Context::Thread, wakeup)
    };
    let woken_at = |script: &Script| {
        let history = History::of(&script.trace());
        let spans = history.life(ThreadId(7), at(0)).unwrap().spans.clone();
        let wakes = spans.iter().filter_map(|span| match span.state {
            State::Asleep { wake, .. } => wake,
            _ => None,
        });
        wakes.map(|wake| wake.at).collect::<Vec<_>>()
    };
    let runs = || Script::new().runs(0, 0, 0, 7).runs(1, 0, 0, 9);
    // A recording without sched_waking.
    let only_queued = queued(queued(runs(), 50).sleeps(0, 100, 7, 0), 300);
    assert_eq!(woken_at(&only_queued.runs(0, 310, 0, 7)), [at(300)]);
    // It was about to fall asleep, and was ready at once.
    let early = queued(runs().wakes_late(1, 90, 7, 0).sleeps(0, 100, 7, 0), 110);
    assert_eq!(woken_at(&early.runs(0, 120, 0, 7)), []);
    // It did not fall asleep then, but later.
    let stays = runs().wakes(1, 90, 7, 0).sleeps(0, 100, 7, 0);
    assert_eq!(woken_at(&queued(stays, 300).runs(0, 310, 0, 7)), [at(300)]);
}
