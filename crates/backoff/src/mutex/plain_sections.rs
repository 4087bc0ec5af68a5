//! Registers the process with the kernel for plain sections.

#[cfg(not(any(loom, miri)))]
use super::fork;
use super::watch::{ALLOWED, ASKING, REFUSED, STATE, UNASKED, add_to_watchers};
use crate::os::barrier;
use crate::sync::{Acquire, Relaxed, Release};

/// Registers the process when it is first called. That takes up to 20 ms if there
/// are several threads; other callers meanwhile continue without plain sections.
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

/// Registers the handler for forks once; children inherit it.
fn prepare_for_forks() -> bool {
    #[cfg(any(loom, miri))]
    return true;
    #[cfg(not(any(loom, miri)))]
    {
        static DONE: core::sync::atomic::AtomicBool = core::sync::atomic::AtomicBool::new(false);
        DONE.swap(true, Relaxed) || fork::forget_watches_in_children()
    }
}

/// Whether the kernel allows plain sections; a user-mode emulator does not.
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

/// Runs `does` in the state in which another thread is registering. Only if plain
/// sections [are allowed](are_allowed).
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
