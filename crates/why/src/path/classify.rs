//! How the path leaves a waiting thread for its waker, and whether the trace proves the dependency.

use super::calls::{Purpose, is_clock_nanosleep, is_ioctl, purpose};

use super::is_in_futex;
use super::segment::{Certainty, Way};
use crate::history::{Origin, Wait, Wake};

/// Whether the thread sleeps for a time, so that only a timer or a signal wakes it.
pub(super) fn is_sleep(wait: Wait) -> bool {
    matches!(wait, Wait::Call { number, .. } if purpose(number) == Purpose::Sleep)
}

/// Whether the thread sleeps until an absolute time: `TIMER_ABSTIME` of `clock_nanosleep(2)`.
pub(crate) fn is_sleep_until(wait: Wait) -> bool {
    let Wait::Call { number, arguments: [_, flags] } = wait else { return false };
    is_clock_nanosleep(number) && flags & libc::TIMER_ABSTIME as u64 != 0
}

/// Whether the waker was in `exit_group(2)`, which ends its process.
pub(super) fn is_by_exit_group(wake: &Wake) -> bool {
    purpose_of_waker(wake) == Purpose::ExitGroup
}

/// Whether a waiter of a futex may have been woken by the release of a lock: by a thread that it
/// did not join, and that neither sent a signal nor ended its process.
pub(crate) fn hands_over(wait: Wait, wake: &Wake) -> bool {
    let is_other = matches!(purpose_of_waker(wake), Purpose::SendSignal | Purpose::ExitGroup);
    is_in_futex(wait) && matches!(wake.by, Origin::Thread(_)) && !wake.joined && !is_other
}

/// The request of `ioctl` with which binder exchanges messages (`include/uapi/linux/android/binder.h`),
/// where pointers have 64 bits or programs of 32 bits use the same interface.
const BINDER_WRITE_READ: u32 = 0xc030_6201;

fn purpose_of_waker(wake: &Wake) -> Purpose {
    wake.during.map_or(Purpose::Other, |number| purpose(number.into()))
}

/// The properties of a waker that the wake-up itself does not have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waker {
    /// It is a thread of the kernel.
    pub(super) is_kernel: bool,
    /// It ended the process of the thread that waited.
    pub(super) kills: bool,
    /// What it and the thread that waited had to do with each other.
    pub(super) tie: Tie,
}

/// What shows, beside their system calls, that a thread waited for its waker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tie {
    /// Nothing.
    None,
    /// The waker had inherited the priority of the thread.
    Inherited,
    /// The waker had sent a binder transaction, or a reply, which the thread then received.
    Sent,
}

/// Whether a thread may be woken there by a binder transaction to it: in binder's request, in
/// `poll`, and, where calls of the thread are not recorded, in any call.
fn may_await_transaction(wait: Wait) -> bool {
    match wait {
        Wait::Call { number, arguments: [_, second] } => match purpose(number) {
            Purpose::Both => is_ioctl(number) && second as u32 == BINDER_WRITE_READ,
            purpose => purpose == Purpose::Receive,
        },
        Wait::Unknown => true,
        Wait::KernelLock { .. } | Wait::Fault { .. } | Wait::Lost | Wait::Stopped => false,
    }
}

/// How the path leaves a thread that waited in `wait` for its waker. The first row that applies
/// counts.
///
/// | the thread is in | the waker is in | way | certainty |
/// |---|---|---|---|
/// | a `percpu_rw_semaphore` | a thread of the kernel | work | inferred: until Linux 6.7, a writer waits for RCU meanwhile |
/// | a lock of the kernel | kill … | ipc | inferred: the signal may end the wait |
/// | a lock of the kernel | `exit_group` of its own process | lock | inferred: it may be killed |
/// | a reader-writer lock of the kernel, to read | anything else | lock | inferred: another reader may wake it |
/// | another lock of the kernel | anything else | lock | proved: the thread that releases it wakes the next |
/// | anything | a thread of the kernel | work | inferred |
/// | no call: it is stopped | `exit_group` of its own process | child | proved: it is killed |
/// | no call: it is stopped | kill … | ipc | proved: only a signal continues it |
/// | no call: it is stopped | anything else | ipc | inferred: its tracer may continue it |
/// | binder, poll, a call that is not recorded | anything, and sent what the thread then receives over binder | ipc | proved |
/// | any call | `exit_group` of its own process | child | proved: it is killed |
/// | a futex that is cleared at a thread's end | the end of that thread | child | proved: it joins that thread |
/// | a futex | the end of a thread | lock | proved: it held a robust lock |
/// | a futex | kill … | ipc | inferred |
/// | a futex | anything else | lock | proved if the waker inherited the thread's priority |
/// | flock, semop … | the same | lock | proved |
/// | flock, semop … | anything else | lock | inferred |
/// | wait, vfork | the end of a process, exec | child | proved |
/// | wait, vfork | anything else | child | inferred |
/// | pause, sigsuspend … | the end of a process | child | proved |
/// | pause, sigsuspend … | kill … | ipc | proved |
/// | pause, sigsuspend … | anything else | ipc | inferred |
/// | read, poll … | the end of a process | child | inferred: it leaves a pipe, or has a pidfd |
/// | read, poll … | write, send … | ipc | proved |
/// | read, poll … | anything else | ipc | inferred |
/// | write, send, binder … | read, binder … | ipc | proved |
/// | write, send, binder … | anything else | ipc | inferred |
/// | another ioctl | anything | ipc | inferred |
/// | anything else | anything | other | inferred |
pub(super) fn leaves_by(wait: Wait, wake: &Wake, waker: Waker) -> (Way, Certainty) {
    let sure = |proved: bool| if proved { Certainty::Proved } else { Certainty::Inferred };
    let of_waker = purpose_of_waker(wake);
    if let Wait::KernelLock { flags, .. } = wait {
        return match of_waker {
            _ if waker.is_kernel && flags.lock_type() == "percpu_rw_semaphore" => {
                (Way::Work, Certainty::Inferred)
            }
            Purpose::SendSignal => (Way::Ipc, Certainty::Inferred),
            _ => (Way::Lock, sure(!waker.kills && !flags.is_read())),
        };
    }
    if waker.is_kernel {
        return (Way::Work, Certainty::Inferred);
    }
    if wait == Wait::Stopped {
        let by_signal = sure(of_waker == Purpose::SendSignal);
        return if waker.kills { (Way::Child, Certainty::Proved) } else { (Way::Ipc, by_signal) };
    }
    if waker.tie == Tie::Sent && may_await_transaction(wait) {
        return (Way::Ipc, Certainty::Proved);
    }
    let Wait::Call { number, arguments: [_, second] } = wait else {
        return (Way::Other, Certainty::Inferred);
    };
    match purpose(number) {
        _ if waker.kills => (Way::Child, Certainty::Proved),
        Purpose::Futex if wake.joined => (Way::Child, Certainty::Proved),
        Purpose::Futex if of_waker == Purpose::SendSignal => (Way::Ipc, Certainty::Inferred),
        Purpose::Futex => {
            (Way::Lock, sure(waker.tie == Tie::Inherited || of_waker == Purpose::Exit))
        }
        Purpose::Lock => (Way::Lock, sure(of_waker == Purpose::Lock)),
        Purpose::AwaitSignal if wake.exiting => (Way::Child, Certainty::Proved),
        Purpose::AwaitSignal => (Way::Ipc, sure(of_waker == Purpose::SendSignal)),
        Purpose::Child => (Way::Child, sure(wake.exiting || of_waker == Purpose::Exec)),
        Purpose::Receive if wake.exiting => (Way::Child, Certainty::Inferred),
        Purpose::Receive => (Way::Ipc, sure(matches!(of_waker, Purpose::Send | Purpose::Both))),
        Purpose::Both | Purpose::Send => {
            // Two threads may call `ioctl` of unrelated devices.
            let is_message = !is_ioctl(number) || second as u32 == BINDER_WRITE_READ;
            let answers = matches!(of_waker, Purpose::Receive | Purpose::Both);
            (Way::Ipc, sure(is_message && answers))
        }
        Purpose::Exec
        | Purpose::Sleep
        | Purpose::Storage
        | Purpose::SendSignal
        | Purpose::Exit
        | Purpose::ExitGroup
        | Purpose::Other => (Way::Other, Certainty::Inferred),
    }
}
