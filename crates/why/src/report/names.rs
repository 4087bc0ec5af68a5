//! Names of threads and devices.

use unjank_host::sched::ThreadId;

use super::explained::Explained;
use crate::history::{Cause, History, Origin};
use crate::path::OwnWait;

/// `bash (4711)`.
pub(super) fn thread(history: &History, thread: ThreadId) -> String {
    match history.name(thread) {
        Some(name) => format!("{name} ({})", thread.0),
        None => thread.to_string(),
    }
}

/// What ended a wait.
pub(super) fn ended_by(launch: &Explained, wait: &OwnWait) -> String {
    let Some(wake) = wait.wake else { return "not in the trace".to_owned() };
    match wake.by {
        Origin::Thread(waker) => thread(&launch.history, waker),
        Origin::Interrupt(Cause::Timer) => "a timer".to_owned(),
        Origin::Interrupt(Cause::Network) => "the network".to_owned(),
        Origin::Interrupt(Cause::Device(name)) => format!("device {name}"),
        Origin::Interrupt(Cause::Storage(id)) => match launch.history.request(id) {
            Some(request) => format!(
                "block device {}, {} of {} sectors at {}",
                request.asked.device,
                operation(request.asked.letters.as_bytes()),
                request.asked.sectors,
                request.asked.sector
            ),
            None => "a block device".to_owned(),
        },
        Origin::Interrupt(Cause::StorageOfOld) => "a block device".to_owned(),
        Origin::Interrupt(Cause::Unknown) => "an interrupt".to_owned(),
    }
}

/// The operation of a request, by the letters of `blk_fill_rwbs`.
pub(super) fn operation(letters: &[u8]) -> &'static str {
    match letters {
        [b'F', ..] => "flush",
        letters if letters.contains(&b'R') => "read",
        letters if letters.contains(&b'W') => "write",
        letters if letters.contains(&b'D') => "discard",
        _ => "request",
    }
}
