//! The child of `fork(2)`: it has one thread, and what the parent's others have
//! left behind in its memory.
//!
//! A child that finds another thread's watch in the table would hold its locks
//! the slow way for ever, and one that finds somebody asking the kernel for
//! plain sections would wait for an answer that nobody brings. So both are
//! forgotten before `fork` returns there. What other threads held stays held;
//! no lock could do better without their state.

#![allow(unsafe_code)]

use super::watch;

/// Has a child of `fork` begin without the watches of its parent's threads.
/// Says whether it will. To be called once.
pub(super) fn forget_watches_in_children() -> bool {
    // SAFETY: pthread_atfork(3) keeps the address of a function, which is there
    // for as long as this library is: it forgets what a library has registered
    // when that is unloaded.
    let failed = unsafe { libc::pthread_atfork(None, None, Some(in_the_child)) };
    failed == 0
}

/// Stores to atomics only: after a fork of several threads, a child may do no
/// more than a signal handler (`pthread_atfork(3)`, `signal-safety(7)`).
extern "C" fn in_the_child() {
    watch::forget();
}

#[cfg(all(test, not(miri)))]
mod tests;
