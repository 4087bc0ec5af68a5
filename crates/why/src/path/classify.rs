//! In what a thread waited for another, and whether the trace proves it.

use super::calls::{Purpose, purpose};

use super::segment::{Certainty, Way};
use crate::history::{Wait, Wake};

/// Whether the thread sleeps until a time, whatever others do.
pub(super) fn is_sleep(wait: Wait) -> bool {
    matches!(wait, Wait::Call { number, .. } if purpose(number) == Purpose::Sleep)
}

/// How the path leaves a thread that waited in `wait` for its waker. The first row that applies
/// counts.
///
/// | the thread is in | the waker is in | way | certainty |
/// |---|---|---|---|
/// | a lock of the kernel | anything | lock | proved: the thread that releases it wakes the next |
/// | anything | a thread of the kernel | work | inferred |
/// | a futex that is cleared at a thread's end | the end of that thread | child | proved: it joins that thread |
/// | a futex | the end of a thread | lock | proved: it held a robust lock |
/// | a futex | anything else | lock | proved if the waker inherited the thread's priority |
/// | flock, semop … | the same | lock | proved |
/// | wait, vfork | the end of a process, exec | child | proved |
/// | pause, sigsuspend … | the end of a process | child | proved |
/// | pause, sigsuspend … | kill … | ipc | proved |
/// | read, poll … | write, send … | ipc | proved |
/// | read, poll … | anything else | ipc | inferred |
/// | write, send, binder … | read, binder … | ipc | proved |
/// | write, send, binder … | anything else | ipc | inferred |
/// | anything else | anything | other | inferred |
pub(super) fn leaves_by(
    wait: Wait,
    wake: &Wake,
    waker_is_kernel: bool,
    inherited: bool,
) -> (Way, Certainty) {
    let sure = |proved: bool| if proved { Certainty::Proved } else { Certainty::Inferred };
    if matches!(wait, Wait::KernelLock { .. }) {
        return (Way::Lock, Certainty::Proved);
    }
    if waker_is_kernel {
        return (Way::Work, Certainty::Inferred);
    }
    let Wait::Call { number, .. } = wait else {
        return (Way::Other, Certainty::Inferred);
    };
    let of_waker = wake.during.map_or(Purpose::Other, |number| purpose(number.into()));
    match purpose(number) {
        Purpose::Futex if wake.joined => (Way::Child, Certainty::Proved),
        Purpose::Futex => (Way::Lock, sure(inherited || of_waker == Purpose::Exit)),
        Purpose::Lock => (Way::Lock, sure(of_waker == Purpose::Lock)),
        Purpose::AwaitSignal if wake.exiting => (Way::Child, Certainty::Proved),
        Purpose::AwaitSignal => (Way::Ipc, sure(of_waker == Purpose::SendSignal)),
        Purpose::Child => (Way::Child, sure(wake.exiting || of_waker == Purpose::Exec)),
        Purpose::Receive => (Way::Ipc, sure(matches!(of_waker, Purpose::Send | Purpose::Both))),
        Purpose::Both | Purpose::Send => {
            (Way::Ipc, sure(matches!(of_waker, Purpose::Receive | Purpose::Both)))
        }
        Purpose::Exec
        | Purpose::Sleep
        | Purpose::Storage
        | Purpose::SendSignal
        | Purpose::Exit
        | Purpose::Other => (Way::Other, Certainty::Inferred),
    }
}
