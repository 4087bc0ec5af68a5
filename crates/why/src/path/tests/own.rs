//! Paths of a thread whose ancestors in the program, up to its first thread, count as its own.

use std::sync::atomic::Ordering;

use unjank_host::input::Stop;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::script::{Script, at};
use unjank_host::tracefs::{Context, EventKind, StorageEvent};

use super::super::{Path, critical_path, path_of_program};
use super::path;
use super::wakers::calls;
use crate::history::History;

/// The first thread, 7, starts 21, which waits for 7. 7 computes, and waits for a message of
/// thread 4 of another program.
fn starts() -> Script {
    let started = StorageEvent::Started { thread: ThreadId(21), same_process: true };
    Script::new()
        .runs(0, 0, 0, 7)
        .runs(2, 0, 0, 4)
        .happens(0, 10, Context::Thread, EventKind::Storage(started))
        .wakes(0, 11, 21, 1)
        .runs(1, 20, 0, 21)
        .happens(1, 25, Context::Thread, calls(libc::SYS_futex))
        .sleeps(1, 30, 21, 0)
        .happens(0, 100, Context::Thread, calls(libc::SYS_read))
        .sleeps(0, 110, 7, 0)
        .happens(2, 290, Context::Thread, calls(libc::SYS_write))
        .wakes(2, 300, 7, 0)
        .runs(0, 310, 0, 7)
        .happens(0, 390, Context::Thread, calls(libc::SYS_futex))
}

fn show(path: &Path) -> Vec<String> {
    let show = |segment: &super::Segment| {
        format!(
            "{} t{} {} {:?}",
            segment.to.as_nanos(),
            segment.thread.0,
            segment.way.name(),
            segment.activity
        )
    };
    path.segments.iter().map(show).collect()
}

/// The begin, the end, the thread and the way of each wait.
fn waits(path: &Path) -> Vec<(u64, u64, u32, &'static str)> {
    let show = |wait: &super::OwnWait| {
        (wait.from.as_nanos(), wait.to.as_nanos(), wait.thread.0, wait.way.name())
    };
    path.waits.iter().map(show).collect()
}

#[test]
fn what_the_first_thread_did_before_it_woke_another_is_the_programs_own() {
    let script = starts().wakes(0, 400, 21, 1).runs(1, 410, 0, 21).sleeps(1, 600, 21, 0);
    let history = History::of(&script.trace());
    let path =
        path_of_program(&history, (ThreadId(7), ThreadId(21)), at(0), at(600), &Stop::default());
    let own = [
        "10 t7 own Computing",
        "20 t21 own RunQueue",
        "30 t21 own Computing",
        "110 t7 own Computing",
        "300 t4 ipc Computing",
        "310 t7 own RunQueue",
        "400 t7 own Computing",
        "410 t21 own RunQueue",
        "600 t21 own Computing",
    ];
    assert_eq!(show(&path), own);
    assert_eq!(waits(&path), [(110, 300, 7, "ipc")]);
    let of_wait: Vec<Option<u32>> = path.segments.iter().map(|segment| segment.wait).collect();
    assert_eq!(of_wait, [&[None; 4][..], &[Some(0)], &[None; 4]].concat());
    // Seen from the thread alone, it waits for the first one.
    let alone = critical_path(&history, ThreadId(21), at(0), at(600));
    assert_eq!(waits(&alone), [(30, 400, 21, "lock")]);
    assert_eq!(show(&alone)[0..2], ["10 t7 own Computing", "20 t21 own RunQueue"]);
}

#[test]
fn the_path_comes_back_to_the_first_thread_through_another() {
    // 7 wakes 22, which computes and wakes 21.
    let script = starts()
        .wakes(0, 400, 22, 2)
        .runs(2, 410, 4, 22)
        .happens(2, 490, Context::Thread, calls(libc::SYS_futex))
        .wakes(2, 500, 21, 1)
        .runs(1, 510, 0, 21)
        .sleeps(1, 600, 21, 0);
    let history = History::of(&script.trace());
    let path =
        path_of_program(&history, (ThreadId(7), ThreadId(21)), at(0), at(600), &Stop::default());
    assert_eq!(
        show(&path)[6..],
        [
            "400 t7 own Computing",
            "410 t22 lock RunQueue",
            "500 t22 lock Computing",
            "510 t21 own RunQueue",
            "600 t21 own Computing",
        ]
    );
    assert_eq!(waits(&path), [(110, 300, 7, "ipc"), (400, 500, 21, "lock")]);
    let of_wait: Vec<Option<u32>> =
        path.segments.iter().skip(6).map(|segment| segment.wait).collect();
    assert_eq!(of_wait, [None, Some(1), Some(1), None, None]);
}

#[test]
fn a_wait_that_the_path_comes_back_from_goes_on_before() {
    // 22 computes while 21 waits for it, and waits for 7 from 50 to 400.
    let script = starts()
        .runs(2, 29, 4, 22)
        .happens(2, 45, Context::Thread, calls(libc::SYS_futex))
        .sleeps(2, 50, 22, 4)
        .wakes(0, 400, 22, 2)
        .runs(2, 410, 4, 22)
        .happens(2, 490, Context::Thread, calls(libc::SYS_futex))
        .wakes(2, 500, 21, 1)
        .runs(1, 510, 0, 21)
        .sleeps(1, 600, 21, 0);
    let mut trace = script.trace();
    for cpu in &mut trace.cpus {
        cpu.events.sort();
    }
    let history = History::of(&trace);
    let path =
        path_of_program(&history, (ThreadId(7), ThreadId(21)), at(0), at(600), &Stop::default());
    assert_eq!(
        show(&path)[2..],
        [
            "30 t21 own Computing",
            "50 t22 lock Computing",
            "110 t7 own Computing",
            "300 t4 ipc Computing",
            "310 t7 own RunQueue",
            "400 t7 own Computing",
            "410 t22 lock RunQueue",
            "500 t22 lock Computing",
            "510 t21 own RunQueue",
            "600 t21 own Computing",
        ]
    );
    let found = waits(&path);
    assert_eq!(found, [(30, 50, 21, "lock"), (110, 300, 7, "ipc"), (400, 500, 21, "lock")]);
    let of_wait: Vec<Option<u32>> = path.segments.iter().map(|segment| segment.wait).collect();
    let [first, second, third] = [Some(0), Some(1), Some(2)];
    assert_eq!(of_wait[2..], [None, first, None, second, None, None, third, third, None, None]);
}

#[test]
fn a_thread_that_does_not_descend_from_the_first_is_alone() {
    let script = starts().wakes(0, 400, 4, 2).sleeps(2, 450, 4, 0);
    let history = History::of(&script.trace());
    let path =
        path_of_program(&history, (ThreadId(9), ThreadId(21)), at(15), at(350), &Stop::default());
    assert_eq!(path, critical_path(&history, ThreadId(21), at(15), at(350)));
}

#[test]
fn a_stop_request_ends_the_walk() {
    let script = starts().wakes(0, 400, 21, 1).runs(1, 410, 0, 21).sleeps(1, 600, 21, 0);
    let history = History::of(&script.trace());
    let stop = Stop::default();
    stop.flag().store(true, Ordering::Relaxed);
    let path = path_of_program(&history, (ThreadId(7), ThreadId(21)), at(0), at(600), &stop);
    assert_eq!(show(&path), ["600 t21 own Unknown"]);
}

/// A thread that was stopped (SIGSTOP, a debugger, the freezer) goes on with its call.
#[test]
fn a_call_that_is_restarted_stays_the_same() {
    let script = Script::new()
        .runs(0, 0, 0, 7)
        .runs(1, 0, 0, 3)
        .happens(0, 90, Context::Thread, calls(libc::SYS_ppoll))
        .sleeps(0, 100, 7, 0)
        .wakes(1, 150, 7, 0)
        .runs(0, 160, 0, 7)
        .happens(0, 165, Context::Thread, calls(libc::SYS_restart_syscall))
        .sleeps(0, 170, 7, 0)
        .wakes(1, 300, 7, 0)
        .runs(0, 310, 0, 7)
        .sleeps(0, 400, 7, 0);
    assert_eq!(path(&script, 7, 170, 310)[0], "170-300 t3 ipc Computing");
}
