//! Support for the child of `fork(2)`, which has one thread, and memory in the
//! state in which the parent's other threads left it.
//!
//! With another thread's watch in the table, a child would never have plain
//! sections. If another thread was registering with the kernel, the child would
//! wait for an answer that never comes. So both are reset before `fork` returns in
//! the child. Locks that other threads held stay held; no lock could do better
//! without their state.

#![allow(unsafe_code)]

use super::watch;

/// Resets watches in children of `fork`. Returns whether that could be registered.
/// Must be called once.
pub(super) fn forget_watches_in_children() -> bool {
    // SAFETY: pthread_atfork(3) keeps the address of a function, which is there
    // for as long as this library is: it forgets what a library has registered
    // when that is unloaded.
    let failed = unsafe { libc::pthread_atfork(None, None, Some(in_the_child)) };
    failed == 0
}

/// Only stores to atomics: after a fork with several threads, a child may do no more
/// than a signal handler (`pthread_atfork(3)`, `signal-safety(7)`).
extern "C" fn in_the_child() {
    watch::forget();
}

#[cfg(all(test, not(miri)))]
mod tests;
