//! Names of threads, devices and the places of waits.

use unjank_host::sched::ThreadId;

use super::calls::call_name;
use super::explained::Explained;
use crate::history::{Cause, History, Origin, Request, Wait};
use crate::path::{Activity, Certainty, OwnWait, Segment};

/// `bash (4711)`.
pub(crate) fn thread_name(history: &History, thread: ThreadId) -> String {
    match history.name(thread) {
        Some(name) => format!("{name} ({})", thread.0),
        None => thread.to_string(),
    }
}

/// The call, page fault or lock in which a thread sleeps: `futex 0x7f…`, `page fault 0x55…`,
/// `read`.
pub(crate) fn place(wait: &Wait) -> String {
    match *wait {
        Wait::Call { number, arguments } => match call_name(number) {
            Some("futex") => format!("futex {:#x}", arguments[0]),
            Some(name) => name.to_owned(),
            None => format!("system call {number}"),
        },
        Wait::KernelLock { lock, flags, call } => {
            let name = call.and_then(|number| call_name(number.into()));
            let within = name.map_or_else(String::new, |name| format!(" in {name}"));
            format!("{}{within}", kernel_lock(flags.lock_type(), lock))
        }
        Wait::Fault { address, .. } => format!("page fault {address:#x}"),
        Wait::Stopped => "stopped by a signal".to_owned(),
        Wait::Unknown => "not recorded".to_owned(),
        Wait::Lost => "events were lost".to_owned(),
    }
}

/// `kernel mutex 0xffff88…`: a lock of the kernel by its type and address.
pub(super) fn kernel_lock(lock_type: &str, address: u64) -> String {
    format!("kernel {lock_type} {address:#x}")
}

/// The evidence for pieces of the path: `proved` if all are, otherwise `inferred`; `none` if
/// nothing is known of them.
pub(crate) fn evidence<'a>(segments: impl IntoIterator<Item = &'a Segment>) -> &'static str {
    let (mut known, mut proved) = (false, true);
    for segment in segments {
        known |= segment.activity != Activity::Unknown;
        proved &= segment.certainty == Certainty::Proved;
    }
    match (known, proved) {
        (false, _) => "none",
        (true, false) => "inferred",
        (true, true) => "proved",
    }
}

/// What ended a wait.
pub(crate) fn ended_by(launch: &Explained, wait: &OwnWait) -> String {
    let Some(wake) = wait.wake else { return "not in the trace".to_owned() };
    match wake.by {
        Origin::Thread(waker) => {
            let thread = thread_name(&launch.history, waker);
            match launch.work_function(waker, wake.at) {
                Some(function) => format!("{thread} in {function}"),
                None => thread,
            }
        }
        Origin::Interrupt(Cause::Timer(None)) => "a timer".to_owned(),
        Origin::Interrupt(Cause::Timer(Some(armed))) if armed.by == wait.thread => {
            "its own timer".to_owned()
        }
        Origin::Interrupt(Cause::Timer(Some(armed))) => {
            format!("a timer that {} armed", thread_name(&launch.history, armed.by))
        }
        Origin::Interrupt(Cause::Network) => "the network".to_owned(),
        Origin::Interrupt(Cause::Device(id)) => {
            format!("device {}", launch.history.interrupt_name(id))
        }
        Origin::Interrupt(Cause::Storage(id)) => match launch.history.request(id) {
            Some(request) => self::request(request),
            None => "a block device".to_owned(),
        },
        Origin::Interrupt(Cause::StorageOfOld) => "a block device".to_owned(),
        Origin::Interrupt(Cause::Unknown) => "an interrupt".to_owned(),
    }
}

/// `block device vda, read of 8 sectors at 2048`.
pub(super) fn request(request: &Request) -> String {
    let asked = &request.asked;
    let operation = operation(asked.letters.as_bytes());
    format!(
        "block device {}, {operation} of {} sectors at {}",
        asked.device, asked.sectors, asked.sector
    )
}

/// The operation of a request, by the letters of `blk_fill_rwbs`.
pub(crate) fn operation(letters: &[u8]) -> &'static str {
    match letters {
        [b'F', ..] => "flush",
        letters if letters.contains(&b'R') => "read",
        letters if letters.contains(&b'W') => "write",
        letters if letters.contains(&b'D') => "discard",
        _ => "request",
    }
}
