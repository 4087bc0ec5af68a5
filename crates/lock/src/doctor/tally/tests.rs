use unjank_host::tracefs::{Context, CpuTrace, Event, Gap, Task};

use super::*;

/// A trace of one CPU, from lines of a moment in microseconds, a thread and
/// a call.
fn trace(lines: &[(u64, u32, SystemCall)]) -> Trace {
    let event = |&(micros, thread, call): &(u64, u32, SystemCall)| Event {
        at: at(micros),
        current: ThreadId(thread),
        context: Context::Thread,
        kind: EventKind::SystemCall(call),
    };
    let cpu = CpuTrace { events: lines.iter().map(event).collect(), ..CpuTrace::new(0) };
    Trace { cpus: vec![cpu], ..Trace::default() }
}

fn at(micros: u64) -> Timestamp {
    Timestamp::from_nanos(micros * 1_000)
}

const FUTEX: i64 = if cfg!(target_arch = "x86_64") { 202 } else { 98 };
const YIELD: i64 = if cfg!(target_arch = "x86_64") { 24 } else { 124 };
const SLEEP: i64 = if cfg!(target_arch = "x86_64") { 230 } else { 115 };
const POLL: i64 = if cfg!(target_arch = "x86_64") { 271 } else { 73 };

const OWN: FutexId = FutexId::Private { process: 1, address: 0x1000 };

fn identify(_: ThreadId, word: FutexWord) -> FutexId {
    FutexId::Private { process: 1, address: word.address }
}

fn insert(trace: &mut Trace, place: usize, event: Event) {
    let mut events: Vec<Event> = trace.cpus[0].events.iter().collect();
    events.insert(place, event);
    trace.cpus[0].events = events.into_iter().collect();
}

/// A thread wakes another, at a moment in microseconds.
fn waking(micros: u64, waker: u32, woken: u32) -> Event {
    let task = Task { tid: ThreadId(woken), comm: "w".into(), prio: 120 };
    let kind = EventKind::Waking { task, cpu: 0 };
    Event { at: at(micros), current: ThreadId(waker), context: Context::Thread, kind }
}

fn begins(number: i64, operation: u64) -> SystemCall {
    SystemCall::Begins { number, arguments: [0x1000, operation, 0, 0, 0, 0] }
}

fn wait() -> SystemCall {
    begins(FUTEX, 128)
}

fn wake(most: u64) -> SystemCall {
    SystemCall::Begins { number: FUTEX, arguments: [0x1000, 129, most, 0, 0, 0] }
}

fn ends(result: i64) -> SystemCall {
    SystemCall::Ends { number: 0, result }
}

fn tally_of(lines: &[(u64, u32, SystemCall)]) -> Tally {
    let mut tally = Tally::new();
    tally.window(&trace(lines), at(0), at(25_000), &mut identify);
    tally
}

fn calls(tally: &Tally, thread: u32) -> Calls {
    tally.calls_of(ThreadId(thread), tally.traced)
}

#[test]
fn a_shared_futex_that_nobody_else_wakes_is_woken_from_outside() {
    let shared = FutexId::Shared { device: (0, 1), inode: 7, offset: 0 };
    let lines = [(1, 7, wait()), (900, 7, ends(0)), (950, 7, wake(1)), (955, 7, ends(1))];
    let outside = |lines: &[_], id| {
        let mut tally = Tally::new();
        tally.window(&trace(lines), at(0), at(25_000), &mut |_, _| id);
        calls(&tally, 7).outside.map(|futex| (futex.id, futex.waits))
    };
    assert_eq!(outside(&lines, shared), Some((shared, 1)), "its own wake-ups are for others");
    assert_eq!(outside(&lines, OWN), None, "no other process has private memory");
    let woken = [&lines[..], &[(960, 8, wake(1)), (965, 8, ends(1))]].concat();
    assert_eq!(outside(&woken, shared), None);
    assert_eq!(outside(&lines[2..], shared), None, "it does not wait");
}

#[test]
fn yields_and_naps_are_counted() {
    let tally = tally_of(&[
        (1, 7, begins(YIELD, 0)),
        (2, 7, begins(YIELD, 0)),
        (3, 7, begins(SLEEP, 0)),
        (603, 7, ends(0)),
        (700, 7, begins(POLL, 0)),
        (705, 7, ends(0)),
        (710, 7, begins(POLL, 0)),
        (1_710, 7, ends(0)),
        (1_720, 7, wait()),
        (2_720, 7, ends(-110)),
        (3_000, 7, begins(SLEEP, 0)),
        (9_000, 7, ends(0)),
        (9_001, 7, begins(POLL, 0)),
        (9_009, 7, ends(1)),
        (9_010, 7, begins(SLEEP, 0)),
    ]);
    let calls = calls(&tally, 7);
    assert_eq!((calls.yields, calls.empty_polls), (2, 1));
    let time = Nanos::from_micros(2_600);
    assert_eq!(calls.naps, Naps { sleeps: 1, polls: 1, waits: 1, time });
    assert_eq!(calls.watched, Nanos::from_millis(25));
    assert_eq!(tally.naps.n(), 3);
}

#[test]
fn a_lock_is_waited_on_and_woken_by_the_same_threads() {
    let tally = tally_of(&[
        (1, 7, wait()),
        (2, 8, wake(1)),
        (3, 8, ends(1)),
        (41, 7, ends(0)),
        (50, 7, wake(1)),
        (51, 7, ends(0)),
        (60, 8, wait()),
        (61, 8, ends(-11)),
        (24_000, 9, wait()),
    ]);
    let seven = calls(&tally, 7);
    assert_eq!((seven.wakes, seven.nobody), (1, 1));
    assert_eq!((seven.waits.woken, seven.waits.time), (1, Nanos::from_micros(40)));
    let futex = seven.busiest.unwrap();
    assert_eq!((futex.id, futex.threads, futex.is_lock), (OWN, 3, true));
    assert_eq!((futex.waits, futex.waited), (1, Nanos::from_micros(40)));
    assert_eq!(seven.lock, Some(futex.clone()));
    assert_eq!((futex.wait, futex.crowd), (Some(Nanos::from_micros(40)), 1));
    assert_eq!(calls(&tally, 8).waits.changed, 1);
    assert_eq!(calls(&tally, 9).waits.time, Nanos::from_millis(1), "up to the window's end");
    assert_eq!(calls(&tally, 10).busiest, None);
}

#[test]
fn a_thread_that_is_woken_in_a_crowd_and_sleeps_again_was_woken_for_nothing() {
    let tally = tally_of(&[
        (1, 7, wait()),
        (10, 1, wake(u64::from(u32::MAX >> 1))),
        (20, 7, ends(0)),
        (30, 7, wait()),
        (35, 1, ends(3)),
        (900, 7, ends(0)),
        (910, 7, wait()),
    ]);
    let waits = calls(&tally, 7).waits;
    assert_eq!((waits.woken, waits.in_crowds, waits.for_nothing), (2, 1, 1));
    assert_eq!(calls(&tally, 7).busiest.unwrap().crowd, 3);
    assert!(!calls(&tally, 7).busiest.unwrap().is_lock);
}

#[test]
fn overwritten_events_shorten_the_window() {
    let mut trace = trace(&[(1, 7, begins(YIELD, 0)), (20_001, 7, begins(YIELD, 0))]);
    trace.cpus[0].gaps = vec![
        Gap { from: at(0), to: at(20_000) },
        Gap { from: at(25_000), to: Timestamp::from_nanos(u64::MAX) },
    ];
    let mut tally = Tally::new();
    tally.window(&trace, at(0), at(25_000), &mut identify);
    assert_eq!(tally.traced, Nanos::from_millis(5));
    assert_eq!(calls(&tally, 7).yields, 1);
}

#[test]
fn an_end_without_a_begin_is_not_counted() {
    let tally = tally_of(&[(1, 7, ends(0)), (2, 7, begins(YIELD, 0)), (3, 7, ends(0))]);
    assert_eq!(calls(&tally, 7).waits, Waits::default());
}

#[test]
fn a_wait_that_began_before_the_window_is_known_by_its_waker() {
    let mut trace = trace(&[(900, 8, wake(1)), (902, 8, ends(1)), (950, 7, ends(0))]);
    insert(&mut trace, 1, waking(901, 8, 7));
    let mut tally = Tally::new();
    tally.window(&trace, at(0), at(25_000), &mut identify);
    let waits = calls(&tally, 7).waits;
    assert_eq!((waits.woken, waits.time), (1, Nanos::from_micros(950)));
    assert_eq!(tally.waits.n(), 0, "nobody knows how long it was");
    assert_eq!(tally.wakers(ThreadId(7)), [(ThreadId(8), 1)].into());
    assert_eq!(calls(&tally, 7).busiest.unwrap().waits, 1);
}

#[test]
fn a_wake_up_in_another_way_is_no_wait_on_a_futex() {
    let mut trace = trace(&[(900, 8, wake(1)), (902, 8, ends(0)), (950, 7, wait())]);
    insert(&mut trace, 2, waking(910, 8, 7));
    let mut tally = Tally::new();
    tally.window(&trace, at(0), at(25_000), &mut identify);
    assert_eq!(tally.wakers(ThreadId(7)), [(ThreadId(8), 1)].into());
    let calls = calls(&tally, 7);
    assert_eq!((calls.waits.woken, calls.waits.time), (0, Nanos::from_micros(24_050)));
}

#[test]
fn a_wait_whose_time_is_up_counts_as_time_on_its_futex() {
    let tally = tally_of(&[
        (1, 7, wait()),
        (5_001, 7, ends(-110)),
        (5_002, 7, wake(1)),
        (5_003, 7, ends(1)),
        (5_004, 8, wait()),
        (9_004, 8, ends(0)),
        (9_005, 8, wake(1)),
        (9_006, 8, ends(0)),
    ]);
    let seven = calls(&tally, 7);
    assert_eq!(seven.naps.count(), 0, "5 ms are no nap");
    assert_eq!(seven.lock.unwrap().waited, Nanos::from_millis(5));
}
