//! Wake-ups by timers, which lead to the thread that armed them, and time limits.

#![allow(
    clippy::useless_conversion,
    reason = "numbers are c_long, which has 32 bits on some machines"
)]

use unjank_host::sched::ThreadId;
use unjank_host::tracefs::script::Script;
use unjank_host::tracefs::{Context, EventKind, StorageEvent, SystemCall};

use super::path;
use super::wakers::{calls, woken};

/// Thread 3 arms a timer at 150, or 7 does at 90; 7 sleeps from 100 until it expires at 300.
fn sleeps_until_a_timer(is_own: bool) -> Script {
    let arms = EventKind::TimerArmed { timer: 0x40 };
    let script = Script::new().runs(0, 0, 0, 7).runs(1, 0, 0, 3);
    let script = if is_own { script.happens(0, 90, Context::Thread, arms) } else { script };
    let script = script.sleeps(0, 100, 7, 0);
    let script = if is_own { script } else { script.happens(1, 150, Context::Thread, arms) };
    script
        .sleeps(1, 160, 3, 0)
        .happens(0, 300, Context::Irq, EventKind::TimerExpires { timer: 0x40 })
        .happens(0, 301, Context::Irq, woken(7))
        .runs(0, 310, 0, 7)
        .sleeps(0, 400, 7, 0)
}

#[test]
fn a_timer_that_another_thread_armed_leads_to_it() {
    assert_eq!(
        path(&sleeps_until_a_timer(false), 7, 100, 310),
        ["100-150 t3 other Computing", "150-301 t7 own Timer", "301-310 t7 own RunQueue"]
    );
    assert_eq!(path(&sleeps_until_a_timer(true), 7, 100, 310)[0], "100-301 t7 own Timer");
}

#[test]
fn an_address_of_a_timer_is_used_again() {
    let arms = EventKind::TimerArmed { timer: 0x40 };
    let expires = EventKind::TimerExpires { timer: 0x40 };
    let ended = StorageEvent::Ended { thread: ThreadId(3), last: None };
    let sleeps = |script: Script| {
        let script = script.happens(1, 300, Context::Irq, expires);
        let script = script.happens(1, 301, Context::Irq, woken(7)).runs(0, 310, 0, 7);
        path(&script.sleeps(0, 400, 7, 0), 7, 100, 301)
    };
    let begin = || Script::new().runs(0, 0, 0, 7).runs(1, 0, 0, 3).sleeps(0, 100, 7, 0);
    let armed = |script: Script| script.happens(1, 150, Context::Thread, arms);
    let whole = ["100-301 t7 own Timer"];
    assert_eq!(sleeps(armed(begin())).len(), 2);
    let before = armed(begin()).happens(1, 200, Context::Irq, expires);
    assert_eq!(sleeps(before), whole, "it has expired once");
    let gone = armed(begin()).happens(1, 160, Context::Thread, EventKind::Storage(ended));
    assert_eq!(sleeps(gone.sleeps(1, 170, 3, 0)), whole, "who armed it has ended");
    let interrupt = begin().happens(1, 150, Context::Irq, arms);
    assert_eq!(sleeps(interrupt), whole, "an interrupt armed it, not the thread");
    let again = armed(begin()).happens(1, 155, Context::Irq, arms);
    assert_eq!(sleeps(again), whole, "an interrupt armed it after the thread");
}

/// 7 waits with a time limit for 3, from 100 to 200 and from 210 until 3 wakes it at 300.
fn waits_with_a_time_limit(second: u64) -> Script {
    Script::new()
        .runs(0, 0, 0, 7)
        .runs(1, 0, 0, 3)
        .happens(0, 90, Context::Thread, waits_for_futex(0x40))
        .sleeps(0, 100, 7, 0)
        .expires(1, 200)
        .happens(1, 201, Context::Irq, woken(7))
        .runs(0, 205, 0, 7)
        .happens(0, 206, Context::Thread, waits_for_futex(second))
        .sleeps(0, 210, 7, 0)
        .wakes(1, 300, 7, 0)
        .runs(0, 310, 0, 7)
        .sleeps(0, 400, 7, 0)
}

#[test]
fn a_thread_that_does_other_things_between_its_waits_waits_for_a_time() {
    let waits = |between: &dyn Fn(Script) -> Script| {
        let script = Script::new()
            .runs(0, 0, 0, 7)
            .runs(1, 0, 0, 3)
            .happens(0, 90, Context::Thread, waits_for_futex(0x40))
            .sleeps(0, 100, 7, 0)
            .expires(1, 200)
            .happens(1, 201, Context::Irq, woken(7))
            .runs(0, 205, 0, 7);
        let script = between(script)
            .happens(0, 296, Context::Thread, waits_for_futex(0x40))
            .sleeps(0, 300, 7, 0)
            .wakes(1, 400, 7, 0)
            .runs(0, 410, 0, 7)
            .sleeps(0, 500, 7, 0);
        path(&script, 7, 100, 410).remove(0)
    };
    assert_eq!(waits(&|script| script), "100-201 t7 own Timer", "it computed for 95 ns");
    let ready = waits(&|script| script.runs(0, 208, 7, 9).runs(0, 295, 9, 7));
    assert_eq!(ready, "100-201 t3 lock Computing", "it computed for 8 ns");
    let polls = waits(&|script| {
        let script = script.happens(0, 206, Context::Thread, calls(libc::SYS_ppoll));
        let script = script.sleeps(0, 208, 7, 0).expires(1, 290);
        script.happens(1, 291, Context::Irq, woken(7)).runs(0, 295, 0, 7)
    });
    assert_eq!(polls, "100-201 t7 own Timer", "it slept in another call");
}

fn waits_for_futex(address: u64) -> EventKind {
    let number = i64::from(libc::SYS_futex);
    EventKind::SystemCall(SystemCall::Begins { number, arguments: [address, 0, 0, 0, 0, 0] })
}

#[test]
fn waits_in_one_futex_that_time_out_are_for_the_thread_that_ends_the_last() {
    let script = waits_with_a_time_limit(0x40);
    assert_eq!(
        path(&script, 7, 100, 310),
        [
            "100-201 t3 lock Computing",
            "201-205 t7 own RunQueue",
            "205-210 t7 own Computing",
            "210-300 t3 lock Computing",
            "300-310 t7 own RunQueue",
        ]
    );
    assert_eq!(path(&waits_with_a_time_limit(0x44), 7, 100, 310)[0], "100-201 t7 own Timer");
    // The window ends before 3 wakes it.
    assert_eq!(path(&script, 7, 100, 208)[0], "100-201 t7 own Timer");
}

/// 7 sleeps from 100 on for a time. 9 stops it at 200 and continues it at 500, by signals.
fn stops() -> Script {
    Script::new()
        .runs(0, 0, 0, 7)
        .runs(1, 0, 0, 9)
        .happens(0, 90, Context::Thread, calls(libc::SYS_nanosleep))
        .sleeps(0, 100, 7, 0)
        .happens(1, 190, Context::Thread, calls(libc::SYS_kill))
        .wakes(1, 200, 7, 0)
        .runs(0, 210, 0, 7)
        .stops(0, 220, 7, 0)
        .happens(1, 490, Context::Thread, calls(libc::SYS_kill))
}

#[test]
fn a_sleep_that_a_signal_stopped_goes_on_when_another_continues_it() {
    let script = stops()
        .wakes(1, 500, 7, 0)
        .runs(0, 510, 0, 7)
        .happens(0, 515, Context::Thread, calls(libc::SYS_restart_syscall))
        .sleeps(0, 520, 7, 0)
        .expires(0, 600)
        .happens(0, 600, Context::Irq, woken(7))
        .runs(0, 610, 0, 7)
        .sleeps(0, 700, 7, 0);
    assert_eq!(
        path(&script, 7, 100, 610),
        [
            "100-200 t7 own Timer",
            "200-210 t7 own RunQueue",
            "210-220 t7 own Computing",
            "220-500 t9 ipc Computing",
            "500-510 t7 own RunQueue",
            "510-520 t7 own Computing",
            "520-600 t7 own Timer",
            "600-610 t7 own RunQueue",
        ]
    );
}

#[test]
fn a_stopped_thread_does_not_wait_for_its_timer() {
    let script = stops().sleeps(1, 600, 9, 0);
    assert_eq!(path(&script, 7, 100, 600)[3], "220-600 t7 own Unknown");
}

#[test]
fn a_sleep_that_another_signal_ends_leads_to_its_sender() {
    let script = Script::new()
        .runs(0, 0, 0, 7)
        .runs(1, 0, 0, 9)
        .happens(0, 90, Context::Thread, calls(libc::SYS_nanosleep))
        .sleeps(0, 100, 7, 0)
        .happens(1, 190, Context::Thread, calls(libc::SYS_kill))
        .wakes(1, 200, 7, 0)
        .runs(0, 200, 0, 7)
        .sleeps(0, 300, 7, 0);
    assert_eq!(path(&script, 7, 100, 200), ["100-200 t9 other Computing"]);
}
