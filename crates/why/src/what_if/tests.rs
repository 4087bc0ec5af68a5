mod memory;
mod sections;

use unjank_host::block_device::DeviceNumber;
use unjank_host::sched::ThreadId;
use unjank_host::swap_area::{Area, whole};
use unjank_host::tracefs::script::{Script, at, task};
use unjank_host::tracefs::{Context, DeviceRequest, EventKind, StorageEvent, SystemCall, Trace};

use super::*;
use crate::history::History;
use crate::path::critical_path;
use crate::split::HighestClocks;

/// The length of the window of thread 7 from 0 to `to` after a change.
fn length(script: &Script, to: u64, change: &Change) -> u64 {
    length_with(script, to, change, &HighestClocks::new())
}

fn length_with(script: &Script, to: u64, change: &Change, highest: &HighestClocks) -> u64 {
    length_of(&script.trace(), to, change, highest)
}

fn length_of(trace: &Trace, to: u64, change: &Change, highest: &HighestClocks) -> u64 {
    let mut history = History::of(trace);
    history.begin_with_clocks(&[(0, 1_000)].into());
    let window = Window {
        trace,
        history: &history,
        highest,
        // Sectors 8 to 15 of the device of `issued`.
        swap: &[Area::new("/swap".to_owned(), DeviceNumber(1), true, whole(8, 1))],
        family: &[ThreadId(7)].into(),
        thread: ThreadId(7),
        locks: &critical_path(&history, ThreadId(7), at(0), at(to)).locks,
        from: at(0),
        to: at(to),
    };
    let stop = Stop::default();
    let replays = Replays::of(window, &stop).unwrap();
    assert_eq!(replays.length(&Change::default()), Some(Nanos(to)), "as recorded");
    replays.length(change).unwrap().get()
}

fn boosted(threads: &[u32]) -> Change {
    Change {
        boosted: threads.iter().map(|thread| ThreadId(*thread)).collect(),
        ..Change::default()
    }
}

fn cached() -> Change {
    in_memory(Data::All)
}

fn in_memory(data: Data) -> Change {
    Change { in_memory: Some(InMemory { data, read: Nanos(1) }), ..Change::default() }
}

fn waking(thread: u32) -> EventKind {
    EventKind::Waking { task: task(thread), cpu: 0 }
}

fn issued(letters: &str) -> [EventKind; 2] {
    issued_at(letters, 8)
}

fn issued_at(letters: &str, sector: u64) -> [EventKind; 2] {
    let device = DeviceNumber(1);
    let request = DeviceRequest { device, sector, sectors: 8, letters: letters.into() };
    [StorageEvent::Issued(request), StorageEvent::Completed(request)].map(EventKind::Storage)
}

/// Thread 7 waits 200 ns behind the hog, and 100 ns behind a thread that it wakes again.
fn waits_for_the_cpu() -> Script {
    Script::new()
        .runs(0, 0, 9, 7)
        .runs(0, 100, 7, 9)
        .runs(0, 300, 9, 7)
        .runs(0, 400, 7, 4)
        .runs(0, 500, 4, 7)
        .sleeps(0, 600, 7, 0)
}

#[test]
fn a_boosted_thread_waits_for_boosted_threads_only() {
    assert_eq!(length(&waits_for_the_cpu(), 600, &boosted(&[7])), 300);
    assert_eq!(length(&waits_for_the_cpu(), 600, &boosted(&[7, 4])), 400);
    assert_eq!(length(&waits_for_the_cpu(), 600, &boosted(&[4])), 600, "7 itself waits");
}

#[test]
fn a_nice_value_takes_no_time_back_from_a_real_time_thread() {
    let with_priority = |prio: i32| {
        let mut trace = waits_for_the_cpu().trace();
        for cpu in &mut trace.cpus {
            let events = cpu.events.iter().map(|mut event| {
                if let EventKind::Switch { prev, next, .. } = &mut event.kind {
                    for hog in [prev, next].into_iter().filter(|task| task.tid == ThreadId(9)) {
                        hog.prio = prio;
                    }
                }
                event
            });
            cpu.events = events.collect();
        }
        length_of(&trace, 600, &boosted(&[7]), &HighestClocks::new())
    };
    assert_eq!(with_priority(100), 300, "nice -20");
    assert_eq!(with_priority(98), 500, "the lowest real-time priority");
    assert_eq!(with_priority(-1), 500, "SCHED_DEADLINE");
}

#[test]
fn what_is_not_known_of_the_end_of_a_window_stays() {
    let sleeps = Script::new().runs(0, 0, 9, 7).sleeps(0, 100, 7, 0);
    for change in [boosted(&[7]), cached()] {
        assert_eq!(length(&sleeps, 400, &change), 400);
    }
}

#[test]
fn the_way_to_an_idle_cpu_is_no_wait_for_others() {
    let script = Script::new()
        .runs(0, 0, 0, 7)
        .sleeps(0, 100, 7, 0)
        .expires(0, 200)
        .happens(0, 200, Context::Irq, waking(7))
        .runs(0, 250, 0, 7)
        .sleeps(0, 300, 7, 0);
    assert_eq!(length(&script, 300, &boosted(&[7])), 300);
}

#[test]
fn the_next_longest_path_takes_over() {
    // 7 waits for 9, which waits 300 ns for a CPU, and then for 3, which just computes.
    let script = Script::new()
        .runs(0, 0, 0, 7)
        .runs(1, 0, 0, 5)
        .runs(2, 0, 0, 3)
        .sleeps(0, 10, 7, 0)
        .wakes(2, 20, 9, 1)
        .runs(1, 320, 5, 9)
        .wakes(1, 400, 7, 0)
        .runs(0, 400, 0, 7)
        .sleeps(0, 410, 7, 0)
        .wakes(2, 420, 7, 0)
        .runs(0, 420, 0, 7)
        .sleeps(0, 500, 7, 0);
    // Without the wait of 9, 7 would be awake at 100, but 3 keeps it until 420.
    assert_eq!(length(&script, 500, &boosted(&[9])), 500);
    // Without 3, the window gets shorter by the saved wait.
    let alone = Script::new()
        .runs(0, 0, 0, 7)
        .runs(1, 0, 0, 5)
        .runs(2, 0, 0, 3)
        .sleeps(0, 10, 7, 0)
        .wakes(2, 20, 9, 1)
        .runs(1, 320, 5, 9)
        .wakes(1, 400, 7, 0)
        .runs(0, 400, 0, 7)
        .sleeps(0, 500, 7, 0);
    assert_eq!(length(&alone, 500, &boosted(&[9])), 200);
}

#[test]
fn a_waker_counts_with_what_it_did_at_that_time() {
    // 5 issues a request at 100, loses its CPU from 110 to 250, and the request completes at 300.
    let [issued, completed] = issued("W");
    let script = Script::new()
        .runs(0, 0, 0, 7)
        .runs(1, 0, 0, 5)
        .sleeps(0, 50, 7, 0)
        .happens(1, 100, Context::Thread, issued)
        .runs(1, 110, 5, 9)
        .runs(1, 250, 9, 5)
        .happens(2, 300, Context::Irq, completed)
        .happens(2, 300, Context::Irq, waking(7))
        .runs(0, 300, 0, 7)
        .sleeps(0, 400, 7, 0);
    assert_eq!(length(&script, 400, &boosted(&[5])), 400, "the request was issued at 100 anyway");
}

#[test]
fn a_reply_from_outside_comes_as_much_earlier_as_it_is_asked_for() {
    let irq = unjank_host::tracefs::Irq { number: 9, name: "gpu".into() };
    let script = Script::new()
        .runs(0, 0, 9, 7)
        .runs(0, 100, 7, 9)
        .runs(0, 300, 9, 7)
        .sleeps(0, 400, 7, 0)
        .happens(0, 600, Context::Thread, EventKind::IrqEntry(irq))
        .happens(0, 600, Context::Irq, waking(7))
        .runs(0, 600, 0, 7)
        .sleeps(0, 700, 7, 0);
    assert_eq!(length(&script, 700, &boosted(&[7])), 500);
}

#[test]
fn a_higher_clock_shortens_computing_only() {
    let highest = HighestClocks::from([(0, 2_000)]);
    let change = Change { highest_clock: true, ..Change::default() };
    let script = Script::new()
        .runs(0, 0, 0, 7)
        .sleeps(0, 100, 7, 0)
        .expires(0, 300)
        .happens(0, 300, Context::Irq, waking(7))
        .runs(0, 300, 0, 7)
        .sleeps(0, 400, 7, 0);
    assert_eq!(length_with(&script, 400, &change, &highest), 300);
}

#[test]
fn a_spun_lock_saves_all_of_the_way_from_the_wake_up_to_the_run() {
    let calls = |number| {
        let call = SystemCall::Begins { number, arguments: [16; 6] };
        EventKind::SystemCall(call)
    };
    let script = |number| {
        Script::new()
            .runs(0, 0, 0, 7)
            .runs(1, 0, 0, 9)
            .happens(0, 90, Context::Thread, calls(number))
            .sleeps(0, 100, 7, 0)
            .wakes_late(1, 200, 7, 0)
            .happens(0, 240, Context::Irq, EventKind::Wakeup { task: task(7), cpu: 0 })
            .runs(0, 300, 0, 7)
            .sleeps(0, 400, 7, 0)
    };
    let change = Change { lock_handoff: Some(Nanos(10)), ..Change::default() };
    assert_eq!(length(&script(libc::SYS_futex), 400, &change), 310);
    assert_eq!(length(&script(libc::SYS_read), 400, &change), 400, "it waited for no lock");
    let expires = Script::new()
        .runs(0, 0, 0, 7)
        .happens(0, 90, Context::Thread, calls(libc::SYS_futex))
        .sleeps(0, 100, 7, 0)
        .expires(1, 200)
        .happens(1, 200, Context::Irq, waking(7))
        .runs(0, 300, 0, 7)
        .sleeps(0, 400, 7, 0);
    assert_eq!(length(&expires, 400, &change), 400, "its time limit was over");
    let signals = Script::new()
        .runs(0, 0, 0, 7)
        .runs(1, 0, 0, 9)
        .happens(0, 90, Context::Thread, calls(libc::SYS_futex))
        .sleeps(0, 100, 7, 0)
        .happens(1, 190, Context::Thread, calls(libc::SYS_tgkill))
        .wakes(1, 200, 7, 0)
        .runs(0, 300, 0, 7)
        .sleeps(0, 400, 7, 0);
    assert_eq!(length(&signals, 400, &change), 400, "a signal ended the wait");
    let slow = Change { lock_handoff: Some(Nanos(200)), ..Change::default() };
    assert_eq!(length(&script(libc::SYS_futex), 400, &slow), 400, "parking was cheaper");
}

#[test]
fn a_spun_lock_takes_no_cpu_from_another_thread() {
    // 7 is woken at 200, and 9 has its CPU until 300. The 20 ns after that are the way.
    let call = SystemCall::Begins { number: libc::SYS_futex, arguments: [16; 6] };
    let script = Script::new()
        .runs(0, 0, 0, 7)
        .runs(1, 0, 0, 5)
        .happens(0, 90, Context::Thread, EventKind::SystemCall(call))
        .sleeps(0, 100, 7, 9)
        .wakes(1, 200, 7, 0)
        .sleeps(0, 300, 9, 0)
        .runs(0, 320, 0, 7)
        .sleeps(0, 400, 7, 0);
    let change = Change { lock_handoff: Some(Nanos(10)), ..Change::default() };
    assert_eq!(length(&script, 400, &change), 390);
    let with_boost = Change { boosted: [ThreadId(7)].into(), ..change };
    assert_eq!(length(&script, 400, &with_boost), 290);
}

#[test]
fn a_preempted_thread_needs_fewer_turns_at_a_higher_clock() {
    let highest = HighestClocks::from([(0, 2_000)]);
    let change = Change { highest_clock: true, ..Change::default() };
    assert_eq!(length_with(&waits_for_the_cpu(), 600, &change, &highest), 300);
    let woken = Script::new()
        .runs(0, 0, 0, 7)
        .sleeps(0, 100, 7, 9)
        .expires(0, 200)
        .happens(0, 200, Context::Irq, waking(7))
        .runs(0, 300, 9, 7)
        .sleeps(0, 400, 7, 0);
    assert_eq!(length_with(&woken, 400, &change, &highest), 300, "9 may use up its turn");
}

#[test]
fn a_sleep_until_a_time_ends_then() {
    let highest = HighestClocks::from([(0, 2_000)]);
    let change = Change { highest_clock: true, ..Change::default() };
    let sleeps = |flags| {
        let arguments = [1, flags, 0, 0, 0, 0];
        let call = SystemCall::Begins { number: libc::SYS_clock_nanosleep, arguments };
        let script = Script::new()
            .runs(0, 0, 0, 7)
            .happens(0, 90, Context::Thread, EventKind::SystemCall(call))
            .sleeps(0, 100, 7, 0)
            .expires(0, 300)
            .happens(0, 300, Context::Irq, waking(7))
            .runs(0, 300, 0, 7)
            .sleeps(0, 400, 7, 0);
        length_with(&script, 400, &change, &highest)
    };
    assert_eq!(sleeps(1), 350, "TIMER_ABSTIME");
    assert_eq!(sleeps(0), 300);
}

#[test]
fn a_timer_that_another_thread_arms_earlier_expires_earlier() {
    // 5 waits 100 ns for a CPU, and then arms the timer for which 7 waits.
    let script = Script::new()
        .runs(0, 0, 0, 7)
        .runs(1, 0, 0, 5)
        .sleeps(0, 50, 7, 0)
        .runs(1, 100, 5, 9)
        .runs(1, 200, 9, 5)
        .happens(1, 210, Context::Thread, EventKind::TimerArmed { timer: 0x40 })
        .happens(0, 300, Context::Irq, EventKind::TimerExpires { timer: 0x40 })
        .happens(0, 300, Context::Irq, waking(7))
        .runs(0, 300, 0, 7)
        .sleeps(0, 400, 7, 0);
    assert_eq!(length(&script, 400, &boosted(&[5])), 300);
}
