//! The critical path of a window: backwards from its end, through the waker of
//! each wait.
//!
//! A thread that runs is computing. A thread that is ready waits for a CPU; before
//! that it is on its way to a run queue. A sleep is explained by its waker. If that is
//! a thread, its time within the wait is explained in the same way. If it is an
//! interrupt, the wait was for a request (the path goes back to its issuer), a timer,
//! the network or a device. A work item of the kernel leads to the thread that queued
//! it, a new thread to its parent.
//!
//! Every nanosecond of the window is in exactly one segment. Time that the trace does
//! not explain is [`Activity::Unknown`].

mod at;
mod calls;
mod classify;
mod found;
mod segment;
mod series;
mod walk;

pub use found::{LockWait, OwnWait, Path};
pub use segment::{Activity, Certainty, Detail, Page, Segment, Way};
pub use walk::{critical_path, path_of_program};

use crate::history::Wait;
use calls::{FUTEX_WAITV, Purpose, purpose};
pub(crate) use calls::{is_exec, is_futex_with_operation, is_listen, is_send_of_bytes};
pub(crate) use classify::{hands_over, is_sleep_until};

/// Whether a thread sleeps in a futex.
fn is_in_futex(wait: Wait) -> bool {
    matches!(wait, Wait::Call { number, .. } if purpose(number) == Purpose::Futex)
}

/// Whether a thread sleeps in one futex, whose address is the first argument. That of
/// `futex_waitv` is an array of futexes.
fn is_in_one_futex(wait: Wait) -> bool {
    is_in_futex(wait) && !matches!(wait, Wait::Call { number: FUTEX_WAITV, .. })
}

/// Whether a thread sleeps for a single lock, which is identified by its address.
fn is_for_addressed_lock(wait: Wait) -> bool {
    is_in_one_futex(wait) || matches!(wait, Wait::KernelLock { .. })
}

#[cfg(test)]
mod tests;
