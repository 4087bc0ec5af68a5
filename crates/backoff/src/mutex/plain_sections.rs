//! Asking the kernel for what plain sections need, and what the children of
//! this process are to do without.

#[cfg(not(any(loom, miri)))]
use super::fork;
use super::watch::{ALLOWED, ASKING, REFUSED, STATE, UNASKED, add_to_watchers};
use crate::os::barrier;
use crate::sync::{Acquire, Relaxed, Release};

/// Asks the kernel, the first time in a process, for what plain sections need.
/// That takes up to 20 ms where there are several threads; who comes meanwhile
/// goes on without them.
pub(crate) fn allow_plain_sections() {
    if STATE.compare_exchange(UNASKED, ASKING, Acquire, Relaxed).is_err() {
        return;
    }
    if prepare_for_forks() && barrier::register() {
        add_to_watchers(u32::MAX);
        STATE.store(ALLOWED, Release);
    } else {
        STATE.store(REFUSED, Release);
    }
}

/// Children of a child have what it has registered.
fn prepare_for_forks() -> bool {
    #[cfg(any(loom, miri))]
    return true;
    #[cfg(not(any(loom, miri)))]
    {
        static DONE: core::sync::atomic::AtomicBool = core::sync::atomic::AtomicBool::new(false);
        DONE.swap(true, Relaxed) || fork::forget_watches_in_children()
    }
}

/// Whether the kernel, when asked, lets there be plain sections; an emulator of
/// user programs does not.
#[cfg(all(test, not(any(loom, miri))))]
pub(super) fn are_allowed() -> bool {
    allow_plain_sections();
    loop {
        match STATE.load(Acquire) {
            ALLOWED => return true,
            REFUSED => return false,
            _another_asks => std::thread::yield_now(),
        }
    }
}

/// Does something as if another thread were asking the kernel, where that has
/// [allowed](are_allowed) it.
#[cfg(all(test, not(any(loom, miri))))]
pub(super) fn while_asking(does: impl FnOnce()) {
    while STATE.compare_exchange(ALLOWED, ASKING, Acquire, Relaxed).is_err() {
        std::thread::yield_now();
    }
    add_to_watchers(1);
    does();
    add_to_watchers(u32::MAX);
    STATE.store(ALLOWED, Release);
}
