//! The activity and the certainty of segments at every depth.

use unjank_host::sched::ThreadId;
use unjank_host::tracefs::script::{Script, at};
use unjank_host::tracefs::{Context, EventKind, LockFlags, StorageEvent, SystemCall};

use super::super::{Activity, Certainty, Path, Segment, Way, critical_path};
use super::path;
use super::wakers::{calls, read, woken};
use crate::history::{History, Origin, Wait};

const FAULT: EventKind = EventKind::PageFault { address: 0x1000 };

/// Thread `tid` of CPU `cpu` sleeps from `from` until the disk has served a
/// request, at 200.
fn reads(script: Script, cpu: usize, from: u64, tid: u32) -> Script {
    let issued = EventKind::Storage(StorageEvent::Issued(read(8)));
    let completed = EventKind::Storage(StorageEvent::Completed(read(8)));
    script
        .happens(cpu, from, Context::Thread, issued)
        .sleeps(cpu, from, tid, 0)
        .happens(cpu, 200, Context::Irq, completed)
        .happens(cpu, 201, Context::Irq, woken(tid))
        .runs(cpu, 205, 0, tid)
}

#[test]
fn a_page_that_another_thread_touches_is_paged_in() {
    // 7 waits for a message of 3, which touches a page that 4 brings in.
    let script = Script::new()
        .runs(0, 0, 0, 7)
        .runs(1, 0, 0, 3)
        .runs(2, 0, 0, 4)
        .happens(0, 90, Context::Thread, calls(libc::SYS_read))
        .sleeps(0, 100, 7, 0)
        .happens(1, 110, Context::Thread, FAULT)
        .sleeps(1, 120, 3, 0);
    let script = reads(script, 2, 130, 4)
        .wakes(2, 210, 3, 1)
        .runs(1, 215, 0, 3)
        .wakes(1, 220, 7, 0)
        .runs(0, 230, 0, 7)
        .sleeps(0, 300, 7, 0);
    assert_eq!(path(&script, 7, 100, 230)[2], "130-201 t4 ipc PageIn");
}

#[test]
fn what_another_thread_reads_for_a_page_is_storage() {
    // 7 touches a page, for which 3 reads a file.
    let script = Script::new()
        .runs(0, 0, 0, 7)
        .runs(1, 0, 0, 3)
        .happens(0, 90, Context::Thread, FAULT)
        .sleeps(0, 100, 7, 0)
        .happens(1, 110, Context::Thread, calls(libc::SYS_pread64));
    let script =
        reads(script, 1, 120, 3).wakes(1, 220, 7, 0).runs(0, 230, 0, 7).sleeps(0, 300, 7, 0);
    assert_eq!(path(&script, 7, 100, 230)[1], "120-201 t3 other Storage");
}

/// Thread 7 waits in `poll` from 100 to 300, and is then woken by 3, which
/// writes.
fn polls() -> Script {
    Script::new()
        .runs(0, 0, 0, 7)
        .runs(1, 0, 0, 3)
        .happens(0, 90, Context::Thread, calls(libc::SYS_ppoll))
        .sleeps(0, 100, 7, 0)
        .happens(1, 290, Context::Thread, calls(libc::SYS_write))
        .wakes(1, 300, 7, 0)
        .runs(0, 310, 0, 7)
        .sleeps(0, 400, 7, 0)
}

fn found(script: &Script, from: u64, to: u64) -> Path {
    critical_path(&History::of(&script.trace()), ThreadId(7), at(from), at(to))
}

#[test]
fn what_ends_a_wait_after_the_window_is_not_its_end() {
    let ends = |to| found(&polls(), 0, to).waits[0].wake.map(|wake| wake.by);
    assert_eq!(ends(400), Some(Origin::Thread(ThreadId(3))));
    assert_eq!(ends(250), None);
}

#[test]
fn nothing_proves_what_is_unknown() {
    let unknown = found(&polls(), 0, 250).segments[1];
    assert_eq!((unknown.activity, unknown.certainty), (Activity::Unknown, Certainty::Inferred));
    let sure = |segment: &Segment| segment.certainty == Certainty::Proved;
    assert!(found(&polls(), 0, 400).segments.iter().all(sure));
}

#[test]
fn what_follows_an_inferred_wake_up_is_inferred_at_every_depth() {
    // 7 polls for a message of 3, which waits for a futex that 4 wakes.
    let script = Script::new()
        .runs(0, 0, 0, 7)
        .runs(1, 0, 0, 3)
        .runs(2, 0, 0, 4)
        .happens(0, 90, Context::Thread, calls(libc::SYS_ppoll))
        .sleeps(0, 100, 7, 0)
        .happens(1, 110, Context::Thread, calls(libc::SYS_futex))
        .sleeps(1, 120, 3, 0)
        .happens(2, 190, Context::Thread, calls(libc::SYS_futex))
        .wakes(2, 200, 3, 1)
        .runs(1, 210, 0, 3)
        .happens(1, 290, Context::Thread, calls(libc::SYS_write))
        .wakes(1, 300, 7, 0)
        .runs(0, 310, 0, 7)
        .sleeps(0, 400, 7, 0);
    let segments = found(&script, 100, 310).segments;
    let sure: Vec<(u32, Way, Certainty)> =
        segments.iter().map(|it| (it.thread.0, it.way, it.certainty)).collect();
    assert_eq!(
        sure,
        [
            (3, Way::Ipc, Certainty::Proved),
            (4, Way::Ipc, Certainty::Inferred),
            (3, Way::Ipc, Certainty::Proved),
            (3, Way::Ipc, Certainty::Proved),
            (7, Way::Own, Certainty::Proved),
        ]
    );
}

#[test]
fn a_work_item_is_the_last_waker_and_no_proof() {
    let queued = EventKind::WorkQueued { item: 5, function: 6 };
    let begins = EventKind::WorkBegins { item: 5, function: 6 };
    let script = Script::new()
        .runs(0, 0, 0, 7)
        .runs(1, 0, 0, 9)
        .runs(2, 0, 0, 3)
        .happens(0, 90, Context::Thread, calls(libc::SYS_read))
        .sleeps(0, 100, 7, 0)
        .happens(2, 150, Context::Thread, queued)
        .happens(1, 200, Context::Thread, begins)
        .wakes(1, 300, 7, 0)
        .runs(0, 300, 0, 7)
        .sleeps(0, 400, 7, 0);
    let mut trace = script.trace();
    trace.kernel_threads.push(ThreadId(9));
    let found = critical_path(&History::of(&trace), ThreadId(7), at(100), at(300));
    let sure: Vec<(u32, Way, Certainty)> =
        found.segments.iter().map(|it| (it.thread.0, it.way, it.certainty)).collect();
    let inferred = |thread| (thread, Way::Work, Certainty::Inferred);
    assert_eq!(sure, [inferred(3), inferred(9)]);
}

#[test]
fn what_another_thread_did_before_it_issued_a_request_is_inferred() {
    // 7 waits from 100 on for a request that 3 issues at 130.
    let script = Script::new()
        .runs(0, 0, 0, 7)
        .runs(1, 0, 0, 3)
        .happens(0, 90, Context::Thread, FAULT)
        .sleeps(0, 100, 7, 0)
        .happens(1, 130, Context::Thread, EventKind::Storage(StorageEvent::Issued(read(8))))
        .happens(2, 200, Context::Irq, EventKind::Storage(StorageEvent::Completed(read(8))))
        .happens(2, 200, Context::Irq, woken(7))
        .runs(0, 205, 0, 7)
        .sleeps(0, 300, 7, 0);
    let segments = found(&script, 100, 205).segments;
    let sure: Vec<_> = segments.iter().map(|it| (it.thread.0, it.activity, it.certainty)).collect();
    assert_eq!(
        sure,
        [
            (3, Activity::Computing, Certainty::Inferred),
            (7, Activity::PageIn, Certainty::Proved),
            (7, Activity::RunQueue, Certainty::Proved),
        ]
    );
}

#[test]
fn who_queued_a_work_item_is_inferred() {
    // The explained thread is one of the kernel, and no wait leads to its work item.
    let script = Script::new()
        .runs(1, 0, 0, 7)
        .runs(2, 0, 0, 3)
        .happens(2, 150, Context::Thread, EventKind::WorkQueued { item: 5, function: 6 })
        .happens(1, 200, Context::Thread, EventKind::WorkBegins { item: 5, function: 6 })
        .sleeps(1, 300, 7, 0);
    let segments = found(&script, 100, 300).segments;
    let sure: Vec<_> = segments.iter().map(|it| (it.thread.0, it.certainty)).collect();
    let [queues, works] = [(3, Certainty::Inferred), (7, Certainty::Proved)];
    assert_eq!(sure, [queues, works]);
}

/// 7 sleeps for the kernel's lock 0x40, a mutex, until 3 gives it back at 300, and again, in the
/// same call, until 3 wakes it at 500.
fn contends(flags: LockFlags) -> Script {
    let contended = EventKind::LockContended { lock: 0x40, flags };
    Script::new()
        .runs(0, 0, 0, 7)
        .runs(1, 0, 0, 3)
        .happens(0, 90, Context::Thread, calls(libc::SYS_write))
        .happens(0, 95, Context::Thread, contended)
        .sleeps(0, 100, 7, 0)
        .wakes(1, 300, 7, 0)
        .runs(0, 310, 0, 7)
        .happens(0, 320, Context::Thread, EventKind::LockAcquired { lock: 0x40 })
        .sleeps(0, 400, 7, 0)
        .wakes(1, 500, 7, 0)
        .runs(0, 510, 0, 7)
        .sleeps(0, 600, 7, 0)
}

#[test]
fn who_wakes_a_waiter_for_a_lock_of_the_kernel_has_held_it() {
    let history = History::of(&contends(LockFlags(1 << 5)).trace());
    let found = critical_path(&history, ThreadId(7), at(100), at(510));
    let ways: Vec<_> = found.segments.iter().map(|it| (it.way, it.certainty)).collect();
    let own = (Way::Own, Certainty::Proved);
    let pipe = (Way::Ipc, Certainty::Inferred);
    assert_eq!(ways, [(Way::Lock, Certainty::Proved), own, own, pipe, own]);
    let [wait] = found.locks.as_slice() else { panic!("{:?}", found.locks) };
    assert!(matches!(wait.wait, Wait::KernelLock { lock: 0x40, call: Some(_), .. }));
    assert_eq!(wait.waker, ThreadId(3));

    // A reader of a reader-writer lock may be woken by another reader.
    let history = History::of(&contends(LockFlags(1 << 1)).trace());
    let segment = &critical_path(&history, ThreadId(7), at(100), at(310)).segments[0];
    assert_eq!((segment.way, segment.certainty), (Way::Lock, Certainty::Inferred));

    // No thread sleeps for a spin lock, so the sleep has another reason.
    let history = History::of(&contends(LockFlags(1)).trace());
    assert_eq!(critical_path(&history, ThreadId(7), at(100), at(510)).locks.len(), 0);
}

#[test]
fn only_an_ioctl_of_binder_is_answered_by_another_one() {
    let certainty = |request: u64| {
        let arguments = [3, request, 0, 0, 0, 0];
        let begins = SystemCall::Begins { number: libc::SYS_ioctl, arguments };
        let script = Script::new()
            .runs(0, 0, 0, 7)
            .runs(1, 0, 0, 3)
            .happens(0, 90, Context::Thread, EventKind::SystemCall(begins))
            .sleeps(0, 100, 7, 0)
            .happens(1, 110, Context::Thread, EventKind::SystemCall(begins))
            .wakes(1, 300, 7, 0)
            .runs(0, 310, 0, 7)
            .sleeps(0, 400, 7, 0);
        let path = critical_path(&History::of(&script.trace()), ThreadId(7), at(100), at(310));
        (path.segments[0].way, path.segments[0].certainty)
    };
    assert_eq!(certainty(0xc030_6201), (Way::Ipc, Certainty::Proved));
    assert_eq!(certainty(0x4008_6409), (Way::Ipc, Certainty::Inferred), "of a graphics driver");
}

#[test]
fn a_writer_of_a_percpu_semaphore_may_wait_for_rcu() {
    const WRITE: u16 = 1 << 2;
    const PERCPU: u16 = 1 << 4;
    let woken_by = |kernel_threads: &[ThreadId]| {
        let mut trace = contends(LockFlags(PERCPU | WRITE)).trace();
        trace.kernel_threads.extend(kernel_threads);
        let found = critical_path(&History::of(&trace), ThreadId(7), at(100), at(310));
        (found.waits[0].way, found.locks.len())
    };
    assert_eq!(woken_by(&[ThreadId(3)]), (Way::Work, 0));
    assert_eq!(woken_by(&[ThreadId(2)]), (Way::Lock, 1));
}
