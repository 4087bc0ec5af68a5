//! Wake-ups whose origin is easily mistaken: consecutive interrupts, reused thread ids,
//! kernel threads.

#![allow(
    clippy::useless_conversion,
    reason = "numbers are c_long, which has 32 bits on some machines"
)]

use unjank_host::block_device::DeviceNumber;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::script::{Script, at, rename, task};
use unjank_host::tracefs::{
    Context, DeviceRequest, EventKind, Irq, Softirq, StorageEvent, SystemCall,
};

use super::super::{Activity, Certainty, Way, critical_path};
use super::path;
use crate::history::History;

const RCU: EventKind = EventKind::SoftirqEntry(Softirq(9));

pub(super) fn woken(tid: u32) -> EventKind {
    EventKind::Waking { task: task(tid), cpu: 0 }
}

pub(super) fn disk() -> Irq {
    Irq { number: 9, name: "disk".into() }
}

pub(super) fn read(sector: u64) -> DeviceRequest {
    DeviceRequest { device: DeviceNumber(1), sector, sectors: 8, letters: "R".into() }
}

pub(super) fn calls(number: libc::c_long) -> EventKind {
    let number = i64::from(number);
    EventKind::SystemCall(SystemCall::Begins { number, arguments: [0; 6] })
}

#[test]
fn an_interrupt_after_that_of_a_device_is_not_about_the_device() {
    let sleeps = || Script::new().runs(0, 0, 0, 7).runs(1, 0, 0, 9).sleeps(0, 100, 7, 0);
    let interrupted = |script: Script| {
        let entry = EventKind::IrqEntry(disk());
        let done = EventKind::Storage(StorageEvent::Completed(read(8)));
        script.happens(1, 200, Context::Irq, entry).happens(1, 201, Context::Irq, done)
    };
    let ends = |script: Script| {
        let script = script.happens(1, 202, Context::Irq, EventKind::IrqExit(9));
        script.runs(0, 310, 0, 7).sleeps(0, 400, 7, 0)
    };
    let during = interrupted(sleeps()).happens(1, 201, Context::Irq, woken(7));
    assert_eq!(path(&ends(during), 7, 100, 310)[0], "100-201 t7 own Storage");
    // A handler of the same device ends a flush.
    let flush = interrupted(sleeps()).happens(1, 202, Context::Irq, EventKind::IrqExit(9));
    let flush = flush.happens(1, 250, Context::Irq, EventKind::IrqEntry(disk()));
    let flush = flush.happens(1, 251, Context::Irq, woken(7)).runs(0, 310, 0, 7);
    assert_eq!(path(&flush, 7, 100, 310)[0], "100-251 t7 own Storage");
    // Another interrupt of the processor follows.
    let after = interrupted(sleeps()).happens(1, 202, Context::Irq, EventKind::IrqExit(9));
    let after = after.happens(1, 300, Context::Irq, woken(7));
    let after = after.runs(0, 310, 0, 7).sleeps(0, 400, 7, 0);
    assert_eq!(path(&after, 7, 100, 310)[0], "100-300 t7 own Unknown");
    // A grace period of RCU ends on the way out of the interrupt.
    let grace = interrupted(sleeps()).happens(1, 202, Context::Irq, EventKind::IrqExit(9));
    let grace = grace.happens(1, 203, Context::Softirq, RCU);
    let grace = grace.happens(1, 204, Context::Softirq, woken(7));
    let grace = grace.runs(0, 310, 0, 7).sleeps(0, 400, 7, 0);
    assert_eq!(path(&grace, 7, 100, 310)[0], "100-204 t7 own Unknown");
}

#[test]
fn an_interrupt_of_the_processor_is_no_device() {
    let sleeps = || Script::new().runs(0, 0, 0, 7).sleeps(0, 100, 7, 0);
    let ends = |script: Script, at, context| {
        path(&script.happens(1, at, context, woken(7)), 7, 100, at).remove(0)
    };
    let entry = |name: &str| EventKind::IrqEntry(Irq { number: 1, name: name.into() });
    for name in ["IPI", "arch_timer"] {
        let script = sleeps().happens(1, 200, Context::Irq, entry(name));
        assert_eq!(ends(script, 201, Context::Irq), "100-201 t7 own Unknown", "{name}");
    }
    // The cause of a softirq on an idle CPU.
    let tasklet = |nanos| {
        let done = EventKind::Storage(StorageEvent::Completed(read(8)));
        let script = sleeps().happens(1, 200, Context::Irq, EventKind::IrqEntry(disk()));
        let script = script.happens(1, 300, Context::Irq, done);
        let script = script.happens(1, 60_000, Context::Irq, EventKind::IrqExit(9));
        let begins = EventKind::SoftirqEntry(Softirq(6));
        ends(script.happens(1, nanos, Context::Softirq, begins), nanos + 1, Context::Softirq)
    };
    assert_eq!(tasklet(150_000), "100-150001 t7 own Storage", "of the disk");
    assert_eq!(tasklet(10_000_000), "100-10000001 t7 own Unknown", "of another interrupt");
}

#[test]
fn an_interrupt_after_a_timer_is_not_about_the_timer() {
    // An idle CPU: nothing happens there between two interrupts.
    let sleeps = || Script::new().runs(0, 0, 0, 7).runs(1, 0, 9, 0).sleeps(0, 100, 7, 0);
    let ends = |script: Script, nanos| {
        let script = script.happens(1, nanos, Context::Irq, woken(7));
        path(&script.runs(0, 900_000, 0, 7), 7, 100, nanos)[0]
            .rsplit_once(' ')
            .unwrap()
            .1
            .to_owned()
    };
    let over = |script: Script| script.happens(1, 205, Context::Irq, EventKind::TimerEnds);
    assert_eq!(ends(sleeps().expires(1, 200), 204), "Timer");
    assert_eq!(ends(over(sleeps().expires(1, 200)), 300), "Unknown");
    assert_eq!(ends(sleeps().expires(1, 200), 150_000), "Unknown", "without the event of its end");
    let next = over(sleeps().expires(1, 200)).expires(1, 400);
    assert_eq!(ends(next, 150_000), "Timer", "its callback was interrupted for long");
}

#[test]
fn a_work_item_of_a_soft_interrupt_is_not_that_of_the_interrupted_thread() {
    let begins = |at, context, queued| {
        Script::new()
            .runs(0, 0, 0, 7)
            .runs(1, 0, 0, 9)
            .sleeps(1, 100, 9, 0)
            .happens(0, 490, Context::Irq, EventKind::IrqEntry(disk()))
            .happens(0, at, context, queued)
            .happens(0, 494, Context::Irq, EventKind::IrqExit(9))
            .happens(0, 496, Context::Softirq, EventKind::SoftirqEntry(Softirq(0)))
            .happens(0, 500, Context::Softirq, EventKind::WorkBegins { item: 5, function: 6 })
            .happens(0, 505, Context::Softirq, woken(9))
            .happens(0, 510, Context::Softirq, EventKind::SoftirqExit(Softirq(0)))
            .sleeps(0, 1_000, 7, 0)
    };
    let queued = EventKind::WorkQueued { item: 5, function: 6 };
    let of_device = begins(492, Context::Irq, queued);
    assert_eq!(path(&of_device, 7, 0, 1_000), ["0-1000 t7 own Computing"]);
    assert_eq!(path(&of_device, 9, 100, 505), ["100-505 t9 own Device"]);
    // A thread queued the item; the interrupt in between is unrelated.
    let of_thread = begins(480, Context::Thread, queued);
    assert_eq!(path(&of_thread, 9, 100, 505), ["100-505 t9 own Unknown"]);
}

#[test]
fn the_thread_of_an_interrupt_is_woken_by_its_device() {
    let mut irq = task(7);
    irq.comm = "irq/9-disk".into();
    let wakes = EventKind::Waking { task: irq, cpu: 0 };
    let script = Script::new()
        .runs(0, 0, 0, 7)
        .sleeps(0, 100, 7, 0)
        .happens(1, 200, Context::Irq, EventKind::IrqEntry(disk()))
        .happens(1, 201, Context::Irq, EventKind::IrqExit(9))
        .happens(1, 202, Context::Irq, wakes)
        .runs(0, 210, 0, 7)
        .sleeps(0, 300, 7, 0);
    assert_eq!(path(&script, 7, 100, 210)[0], "100-202 t7 own Device");
}

#[test]
fn an_id_that_is_used_again_is_another_thread() {
    let started = StorageEvent::Started { thread: ThreadId(7), same_process: false };
    let ended = StorageEvent::Ended { thread: ThreadId(7), last: None };
    let script = Script::new()
        .runs(0, 0, 0, 7)
        .happens(0, 50, Context::Thread, EventKind::Storage(ended))
        .sleeps(0, 60, 7, 0)
        .runs(1, 0, 0, 3)
        .happens(1, 100, Context::Thread, EventKind::Storage(started))
        .wakes(1, 110, 7, 0)
        .runs(0, 130, 0, 7)
        .sleeps(0, 200, 7, 0);
    assert_eq!(
        path(&script, 7, 0, 200),
        ["0-100 t3 own Computing", "100-130 t7 own RunQueue", "130-200 t7 own Computing"]
    );
    assert_eq!(path(&script, 7, 0, 60), ["0-60 t7 own Computing"]);
}

#[test]
fn a_thread_that_executes_a_program_has_the_id_of_the_first() {
    let process = ThreadId(7);
    let started = StorageEvent::Started { thread: ThreadId(3), same_process: true };
    let ended = StorageEvent::Ended { thread: process, last: Some(false) };
    let executed = StorageEvent::Executed { process, before: ThreadId(3), program: "new".into() };
    let mut script = Script::new()
        .runs(0, 0, 0, 7)
        .happens(0, 20, Context::Thread, EventKind::Storage(started))
        .wakes(0, 30, 3, 1)
        .runs(1, 40, 0, 3)
        .happens(1, 50, Context::Thread, calls(libc::SYS_execve))
        .wakes(1, 60, 7, 0)
        .happens(0, 80, Context::Thread, EventKind::Storage(ended))
        .sleeps(0, 90, 7, 0)
        .happens(1, 100, Context::Thread, EventKind::Storage(executed))
        .sleeps(1, 200, 7, 0);
    script = script.runs(2, 200, 0, 9);
    assert_eq!(
        path(&script, 7, 0, 200),
        [
            "0-20 t7 own Computing",
            "20-40 t3 own RunQueue",
            "40-100 t3 own Computing",
            "100-200 t7 own Computing"
        ]
    );
}

/// The kernel exchanges the ids before it loads the program, and the exec event comes after that.
#[test]
fn a_thread_that_executes_a_program_has_its_id_while_the_program_is_loaded() {
    let process = ThreadId(7);
    let started = StorageEvent::Started { thread: ThreadId(3), same_process: true };
    let ended = StorageEvent::Ended { thread: process, last: Some(false) };
    let executed = StorageEvent::Executed { process, before: ThreadId(3), program: "new".into() };
    let script = Script::new()
        .runs(0, 0, 0, 7)
        .happens(0, 20, Context::Thread, EventKind::Storage(started))
        .wakes(0, 30, 3, 1)
        .runs(1, 40, 0, 3)
        .happens(1, 50, Context::Thread, calls(libc::SYS_execve))
        .wakes(1, 60, 7, 0)
        .happens(0, 80, Context::Thread, EventKind::Storage(ended))
        .sleeps(0, 90, 7, 0)
        .sleeps(1, 92, 7, 0)
        .happens(1, 96, Context::Irq, EventKind::IrqEntry(disk()))
        .happens(1, 97, Context::Irq, woken(7))
        .happens(1, 97, Context::Irq, EventKind::IrqExit(9))
        .runs(1, 98, 0, 7)
        .happens(1, 100, Context::Thread, EventKind::Storage(executed))
        .sleeps(1, 200, 7, 0);
    assert_eq!(
        path(&script, 7, 0, 200),
        [
            "0-20 t7 own Computing",
            "20-40 t3 own RunQueue",
            "40-92 t3 own Computing",
            "92-97 t7 own Device",
            "97-98 t7 own RunQueue",
            "98-200 t7 own Computing"
        ]
    );
}

#[test]
fn threads_of_the_kernel_are_known_by_their_parent_the_recorder_or_their_name() {
    let started = StorageEvent::Started { thread: ThreadId(3), same_process: false };
    let waits = |parent| {
        Script::new()
            .runs(1, 0, 0, parent)
            .happens(1, 10, Context::Thread, EventKind::Storage(started))
            .wakes(1, 20, 3, 1)
            .runs(1, 30, parent, 3)
            .runs(0, 40, 0, 7)
            .sleeps(0, 100, 7, 0)
            .wakes(1, 200, 7, 0)
            .runs(0, 210, 0, 7)
            .sleeps(0, 300, 7, 0)
    };
    assert_eq!(path(&waits(2), 7, 100, 210)[0], "100-200 t3 work Computing");
    assert_eq!(path(&waits(4), 7, 100, 210)[0], "100-200 t3 other Computing");
    let mut trace = waits(4).trace();
    trace.kernel_threads.push(ThreadId(3));
    let history = History::of(&trace);
    let found = critical_path(&history, ThreadId(7), at(100), at(210));
    assert_eq!(found.segments[0].way, Way::Work);
}

#[test]
fn names_count_only_where_the_recorder_has_listed_no_threads() {
    let is_kernel = |name: &str, listed: &[u32]| {
        let mut trace = Script::new().runs(0, 0, 0, 7).sleeps(0, 100, 7, 0).trace();
        rename(&mut trace, name.into());
        trace.kernel_threads.extend(listed.iter().copied().map(ThreadId));
        History::of(&trace).is_kernel(ThreadId(7))
    };
    assert!(is_kernel("kworker/0:1", &[]));
    assert!(!is_kernel("kworker/0:1", &[2]), "a program calls itself so");
    assert!(is_kernel("kworker/0:1", &[2, 7]));
    assert!(is_kernel("iou-wrk-7", &[2]), "it is listed as a thread of its process");
    assert!(!is_kernel("bash", &[]));
}

#[test]
fn a_program_that_is_called_like_an_interrupt_is_woken_by_its_waker() {
    let wakes = |listed: &[u32]| {
        let mut irq = task(7);
        irq.comm = "irq/9-disk".into();
        let script = Script::new()
            .runs(0, 0, 0, 7)
            .sleeps(0, 100, 7, 0)
            .happens(1, 200, Context::Irq, EventKind::IrqEntry(disk()))
            .happens(1, 201, Context::Irq, EventKind::IrqExit(9))
            .happens(1, 202, Context::Irq, EventKind::Waking { task: irq, cpu: 0 })
            .runs(0, 210, 0, 7);
        let mut trace = script.trace();
        trace.kernel_threads.extend(listed.iter().copied().map(ThreadId));
        let path = critical_path(&History::of(&trace), ThreadId(7), at(100), at(202));
        path.segments[0].activity
    };
    assert_eq!(wakes(&[2, 7]), Activity::Device);
    assert_eq!(wakes(&[2]), Activity::Unknown);
}

#[test]
fn a_lent_priority_proves_the_lock_though_it_goes_back_before_the_wake_up() {
    let lends = |from, to| EventKind::Inherits { thread: ThreadId(3), from, to };
    // 7 lends on CPU 0, and 4 on CPU 2.
    let certainty = |lent: &[(usize, i32, i32)], back: Option<(i32, i32)>| {
        let mut script = Script::new().runs(0, 0, 0, 7).runs(1, 0, 0, 3).runs(2, 0, 0, 4).happens(
            0,
            90,
            Context::Thread,
            calls(libc::SYS_futex),
        );
        for (&(cpu, own, lent), nanos) in lent.iter().zip(93..) {
            script = script.happens(cpu, nanos, Context::Thread, lends(own, lent));
        }
        script = script.sleeps(0, 100, 7, 0);
        if let Some((lent, own)) = back {
            script = script.happens(1, 190, Context::Thread, lends(lent, own));
        }
        let script = script.wakes(1, 200, 7, 0).runs(0, 210, 0, 7).sleeps(0, 300, 7, 0);
        let history = History::of(&script.trace());
        let found = critical_path(&history, ThreadId(7), at(0), at(300));
        let waited = found.segments.iter().find(|it| it.way == Way::Lock).unwrap();
        waited.certainty
    };
    assert_eq!(certainty(&[(0, 120, 89)], Some((89, 120))), Certainty::Proved);
    let same = certainty(&[(0, 120, 120)], Some((120, 120)));
    assert_eq!(same, Certainty::Proved, "of the same priority");
    let still = certainty(&[(0, 120, 89)], None);
    assert_eq!(still, Certainty::Proved, "another thread waits on");
    assert_eq!(certainty(&[], None), Certainty::Inferred);
    let others = certainty(&[(2, 120, 89)], Some((89, 120)));
    assert_eq!(others, Certainty::Inferred, "only another thread lent its priority");
    let both = certainty(&[(2, 120, 100), (0, 100, 89)], Some((89, 120)));
    assert_eq!(both, Certainty::Proved, "two threads did");
}

#[test]
fn a_pipe_that_ends_with_a_process_is_a_wait_for_it() {
    let ended = StorageEvent::Ended { thread: ThreadId(3), last: Some(true) };
    let script = |ends: bool| {
        let script = Script::new()
            .runs(0, 0, 0, 7)
            .runs(1, 0, 0, 3)
            .happens(0, 90, Context::Thread, calls(libc::SYS_read))
            .sleeps(0, 100, 7, 0);
        let ended = EventKind::Storage(ended);
        let script = if ends { script.happens(1, 190, Context::Thread, ended) } else { script };
        script.wakes(1, 200, 7, 0).runs(0, 210, 0, 7).sleeps(0, 300, 7, 0)
    };
    assert_eq!(path(&script(true), 7, 100, 210)[0], "100-200 t3 child Computing");
    assert_eq!(path(&script(false), 7, 100, 210)[0], "100-200 t3 ipc Computing");
}

#[test]
fn the_end_of_a_process_is_a_signal_to_its_parent() {
    let ended = StorageEvent::Ended { thread: ThreadId(3), last: Some(true) };
    let script = |ends: bool| {
        let script = Script::new()
            .runs(0, 0, 0, 7)
            .runs(1, 0, 0, 3)
            .happens(0, 90, Context::Thread, calls(libc::SYS_rt_sigsuspend))
            .sleeps(0, 100, 7, 0);
        let script = if ends {
            script.happens(1, 150, Context::Thread, EventKind::Storage(ended))
        } else {
            script.happens(1, 150, Context::Thread, calls(libc::SYS_kill))
        };
        script.wakes(1, 200, 7, 0).runs(0, 210, 0, 7).sleeps(0, 300, 7, 0)
    };
    assert_eq!(path(&script(true), 7, 100, 200), ["100-200 t3 child Computing"]);
    assert_eq!(path(&script(false), 7, 100, 200), ["100-200 t3 ipc Computing"]);
}

#[test]
fn a_chain_of_any_length_is_followed() {
    const THREADS: u32 = 5_000;
    // On one CPU, each thread sleeps until the one after it has computed and wakes it.
    let thread = |n: u32| 10 + n;
    let asleep = (0..THREADS).fold(Script::new(), |script, n| {
        let from = 2 * u64::from(n);
        script.runs(0, from, 0, thread(n)).sleeps(0, from + 1, thread(n), 0)
    });
    let woken = |n: u32| 20_000 + 10 * u64::from(THREADS - n);
    let last = asleep.runs(0, 20_000, 0, thread(THREADS));
    let script = (0..THREADS).rev().fold(last, |script, n| {
        script.wakes(0, woken(n), thread(n), 0).sleeps(0, woken(n) + 1, thread(n + 1), thread(n))
    });
    let history = History::of(&script.trace());
    let path = critical_path(&history, ThreadId(thread(0)), at(0), at(woken(0) + 1));
    assert_eq!(path.segments.iter().map(|segment| segment.depth).max(), Some(THREADS));
    assert!(path.segments.iter().all(|segment| segment.activity != Activity::Unknown));
}
