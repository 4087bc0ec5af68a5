//! Waits for transactions and replies of binder.

use unjank_host::sched::ThreadId;
use unjank_host::tracefs::script::{Script, at};
use unjank_host::tracefs::{BinderRole, Context, EventKind, SystemCall};

use super::super::{Certainty, Path, Way, critical_path};
use crate::history::History;

/// The request with which programs exchange messages.
const WRITE_READ: u64 = 0xc030_6201;

fn calls(number: libc::c_long, second: u64) -> EventKind {
    #[allow(clippy::useless_conversion, reason = "c_long has 32 bits on some machines")]
    let number = i64::from(number);
    EventKind::SystemCall(SystemCall::Begins { number, arguments: [3, second, 0, 0, 0, 0] })
}

fn sent(transaction: u32) -> EventKind {
    EventKind::BinderSent { transaction, process: ThreadId(0), role: BinderRole::Call }
}

fn received(transaction: u32) -> EventKind {
    EventKind::BinderReceived { transaction }
}

/// The client 7 sends transaction 50 to the server 3, whose calls are not recorded, and sleeps
/// until 300. The server sends the reply 51 at 290 and wakes the client.
fn asks(call: EventKind) -> Script {
    Script::new()
        .runs(0, 0, 0, 7)
        .happens(0, 80, Context::Thread, call)
        .happens(0, 85, Context::Thread, sent(50))
        .wakes(0, 90, 3, 1)
        .sleeps(0, 100, 7, 0)
        .runs(1, 110, 0, 3)
        .happens(1, 120, Context::Thread, received(50))
        .happens(1, 290, Context::Thread, sent(51))
        .wakes(1, 300, 7, 0)
        .sleeps(1, 305, 3, 0)
        .runs(0, 310, 0, 7)
}

fn path(script: Script, thread: u32, to: u64) -> Path {
    let script = script.sleeps(0, 400, 7, 0);
    critical_path(&History::of(&script.trace()), ThreadId(thread), at(0), at(to))
}

/// The way and the evidence of the last wait of the client.
fn reply(script: Script) -> (Way, Certainty) {
    let path = path(script, 7, 400);
    let segment = path.segments.iter().rev().find(|segment| segment.wait.is_some()).unwrap();
    assert_eq!(segment.thread, ThreadId(3));
    (segment.way, segment.certainty)
}

#[test]
fn the_reply_of_a_server_that_was_not_launched_is_proved() {
    let ask = || asks(calls(libc::SYS_ioctl, WRITE_READ));
    let answered = ask().happens(0, 320, Context::Thread, received(51));
    assert_eq!(reply(answered), (Way::Ipc, Certainty::Proved));
    assert_eq!(reply(ask()), (Way::Ipc, Certainty::Inferred), "the kernel lacks the events");
    let of_another = ask().happens(0, 320, Context::Thread, received(49));
    assert_eq!(reply(of_another), (Way::Ipc, Certainty::Inferred));
}

#[test]
fn the_request_for_which_a_server_waited_is_proved_without_its_calls() {
    // The server sleeps since 10; its wait for the client is explained.
    let script = Script::new()
        .runs(0, 0, 0, 7)
        .runs(1, 0, 0, 3)
        .sleeps(1, 10, 3, 0)
        .happens(0, 85, Context::Thread, sent(50))
        .wakes(0, 90, 3, 1)
        .runs(1, 110, 0, 3);
    let of = |script: Script| {
        let segment = path(script, 3, 130).segments[1];
        (segment.thread.0, segment.way, segment.certainty)
    };
    let took = script.clone().happens(1, 120, Context::Thread, received(50));
    assert_eq!(of(took), (7, Way::Ipc, Certainty::Proved));
    assert_eq!(of(script), (7, Way::Other, Certainty::Inferred));
}

#[test]
fn a_message_that_was_received_after_another_sleep_proves_nothing() {
    let again = asks(calls(libc::SYS_ioctl, WRITE_READ))
        .sleeps(0, 320, 7, 0)
        .wakes(2, 330, 7, 0)
        .runs(0, 340, 0, 7)
        .happens(0, 350, Context::Thread, received(51));
    let first = path(again, 7, 320);
    let wait = first.segments.iter().rev().find(|segment| segment.wait.is_some()).unwrap();
    assert_eq!((wait.way, wait.certainty), (Way::Ipc, Certainty::Inferred));
}

#[test]
fn a_transaction_that_is_sent_after_the_wake_up_did_not_end_the_wait() {
    let late = Script::new()
        .runs(0, 0, 0, 7)
        .runs(1, 0, 0, 3)
        .happens(0, 80, Context::Thread, calls(libc::SYS_ioctl, WRITE_READ))
        .sleeps(0, 100, 7, 0)
        .wakes(1, 300, 7, 0)
        .happens(1, 305, Context::Thread, sent(51))
        .runs(0, 310, 0, 7)
        .happens(0, 320, Context::Thread, received(51));
    assert_eq!(reply(late), (Way::Ipc, Certainty::Inferred));
}

#[test]
fn a_futex_is_no_wait_for_a_message() {
    let locked = asks(calls(libc::SYS_futex, 0)).happens(0, 320, Context::Thread, received(51));
    assert_eq!(reply(locked), (Way::Lock, Certainty::Inferred));
    let polls = asks(calls(libc::SYS_ppoll, 0)).happens(0, 320, Context::Thread, received(51));
    assert_eq!(reply(polls), (Way::Ipc, Certainty::Proved), "servers may poll binder");
}
