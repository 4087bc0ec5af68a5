//! Shorter critical sections.

use super::*;

const LOCK: u64 = 0x1000;
const OTHER: u64 = 0x2000;

fn halved(script: &Script, to: u64) -> u64 {
    length(script, to, &Change { half_sections: true, ..Change::default() })
}

fn calls(number: i64, lock: u64, operation: i32) -> EventKind {
    let arguments = [lock, operation as u64, 0, 0, 0, 0];
    EventKind::SystemCall(SystemCall::Begins { number, arguments })
}

fn waits(lock: u64) -> EventKind {
    calls(libc::SYS_futex, lock, libc::FUTEX_WAIT)
}

fn wakes(lock: u64) -> EventKind {
    calls(libc::SYS_futex, lock, libc::FUTEX_WAKE)
}

/// From 100 to 300, thread 7 waits for 9, which computes throughout.
fn waits_in(number: i64) -> Script {
    Script::new()
        .runs(0, 0, 0, 7)
        .runs(1, 0, 0, 9)
        .happens(0, 90, Context::Thread, calls(number, LOCK, libc::FUTEX_WAIT))
        .sleeps(0, 100, 7, 0)
        .wakes(1, 300, 7, 0)
        .runs(0, 300, 0, 7)
        .sleeps(0, 400, 7, 0)
}

#[test]
fn a_holder_computes_half_as_long_while_the_path_waits() {
    assert_eq!(halved(&waits_in(libc::SYS_futex), 400), 300);
    assert_eq!(halved(&waits_in(libc::SYS_read), 400), 400, "it waited for a message");
}

#[test]
fn a_holder_that_waits_for_another_lock_gets_that_one_earlier_too() {
    // From 150 to 250, 9 waits for 8.
    let script = Script::new()
        .runs(0, 0, 0, 7)
        .runs(1, 0, 0, 9)
        .runs(2, 0, 0, 8)
        .happens(0, 90, Context::Thread, waits(LOCK))
        .sleeps(0, 100, 7, 0)
        .happens(1, 140, Context::Thread, waits(OTHER))
        .sleeps(1, 150, 9, 0)
        .wakes(2, 250, 9, 1)
        .runs(1, 250, 0, 9)
        .wakes(1, 300, 7, 0)
        .runs(0, 300, 0, 7)
        .sleeps(0, 400, 7, 0);
    // 8 computes alone until 150, then 50 instead of 100; 9 then 25 instead of 50.
    assert_eq!(halved(&script, 400), 325);
}

#[test]
fn a_thread_that_waits_beside_the_path_shortens_nothing() {
    // An idle worker, 5, waits from 50 until 9 has work for it.
    let script = Script::new()
        .runs(0, 0, 0, 7)
        .runs(1, 0, 0, 9)
        .runs(2, 0, 0, 5)
        .happens(2, 40, Context::Thread, waits(OTHER))
        .sleeps(2, 50, 5, 0)
        .happens(0, 90, Context::Thread, waits(LOCK))
        .sleeps(0, 100, 7, 0)
        .wakes(1, 200, 5, 2)
        .runs(2, 200, 0, 5)
        .wakes(1, 300, 7, 0)
        .runs(0, 300, 0, 7)
        .sleeps(0, 400, 7, 0);
    assert_eq!(halved(&script, 400), 300);
}

#[test]
fn a_holder_without_a_cpu_waits_for_as_long_as_before() {
    // 4 has the CPU of 9 from 150 to 250.
    let script = Script::new()
        .runs(0, 0, 0, 7)
        .runs(1, 0, 0, 9)
        .happens(0, 90, Context::Thread, waits(LOCK))
        .sleeps(0, 100, 7, 0)
        .runs(1, 150, 9, 4)
        .runs(1, 250, 4, 9)
        .wakes(1, 300, 7, 0)
        .runs(0, 300, 0, 7)
        .sleeps(0, 400, 7, 0);
    assert_eq!(halved(&script, 400), 350);
}

/// Until 200, 9 waits for `first`; from 300 to 400, 7 waits for [`LOCK`], which 9 releases.
fn gets_it_late(first: u64, between: Option<EventKind>) -> Script {
    let script = Script::new()
        .runs(0, 0, 0, 7)
        .runs(1, 0, 0, 9)
        .runs(2, 0, 0, 5)
        .happens(1, 140, Context::Thread, waits(first))
        .sleeps(1, 150, 9, 0)
        .wakes(2, 200, 9, 1)
        .runs(1, 200, 0, 9);
    let script = match between {
        Some(event) => script.happens(1, 250, Context::Thread, event),
        None => script,
    };
    script
        .happens(0, 290, Context::Thread, waits(LOCK))
        .sleeps(0, 300, 7, 0)
        .happens(1, 390, Context::Thread, wakes(LOCK))
        .wakes(1, 400, 7, 0)
        .runs(0, 400, 0, 7)
        .sleeps(0, 500, 7, 0)
}

#[test]
fn a_section_begins_when_its_holder_got_the_lock_from_another_thread() {
    // 9 has it from 200 to 300 instead of 400, so 7 does not wait any more.
    assert_eq!(halved(&gets_it_late(LOCK, None), 500), 400);
    // It is not known since when 9 had another lock.
    assert_eq!(halved(&gets_it_late(OTHER, None), 500), 450);
}

#[test]
fn a_section_ends_with_a_release_that_wakes_nobody() {
    // 5 computes 25 instead of 50 from 150 on, 9 100 alone, and then 50 instead of 100.
    assert_eq!(halved(&gets_it_late(LOCK, Some(wakes(LOCK))), 500), 425);
    assert_eq!(halved(&gets_it_late(LOCK, Some(wakes(OTHER))), 500), 400);
}

#[test]
fn a_holder_that_got_the_lock_while_the_path_waited_computes_less_from_then_on() {
    // 7 waits from 100 to 400; 9 gets the lock at 200, and computed outside of it before 150.
    let script = Script::new()
        .runs(0, 0, 0, 7)
        .runs(1, 0, 0, 9)
        .runs(2, 0, 0, 5)
        .happens(0, 90, Context::Thread, waits(LOCK))
        .sleeps(0, 100, 7, 0)
        .happens(1, 140, Context::Thread, waits(LOCK))
        .sleeps(1, 150, 9, 0)
        .wakes(2, 200, 9, 1)
        .runs(1, 200, 0, 9)
        .happens(1, 390, Context::Thread, wakes(LOCK))
        .wakes(1, 400, 7, 0)
        .runs(0, 400, 0, 7)
        .sleeps(0, 500, 7, 0);
    // 5 computes 25 instead of 50 from 150 on, 9 then 100 instead of 200.
    assert_eq!(halved(&script, 500), 375);
}
