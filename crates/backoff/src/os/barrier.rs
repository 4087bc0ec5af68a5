//! An asymmetric pair of memory barriers, by `membarrier(2)`.
//!
//! Two threads each store to one word and then load the other's. Without a full
//! barrier in both, both may load the old values. If one of the two runs a million
//! times more often than the other, it gets the [`light`] barrier, which costs
//! nothing, and the other gets the [`heavy`] one, which interrupts all CPUs that
//! run threads of this process. C++ knows the pair as
//! `asymmetric_thread_fence` (P1202).

#[cfg(not(loom))]
use core::sync::atomic::{Ordering, compiler_fence};

use rustix::thread::{MembarrierCommand, membarrier};

/// Keeps the compiler from reordering a store before it with a load after it. The
/// processor may still do so, until another thread calls [`heavy`].
#[inline]
pub(crate) fn light() {
    // In loom, both are full barriers.
    #[cfg(loom)]
    crate::sync::fence(crate::sync::SeqCst);
    #[cfg(not(loom))]
    compiler_fence(Ordering::SeqCst);
}

/// A full barrier in this thread, and in each thread of this process at some moment
/// during the call. Returns whether it worked: it does not without [`register`], or
/// if a system call filter forbids it.
pub(crate) fn heavy() -> bool {
    #[cfg(loom)]
    crate::sync::fence(crate::sync::SeqCst);
    cfg!(loom) || membarrier(MembarrierCommand::PrivateExpedited).is_ok()
}

/// Registers the process for [`heavy`]. Returns whether the kernel allows it. Takes
/// up to 20 ms in a process with several threads. Children of `fork(2)` inherit it.
pub(crate) fn register() -> bool {
    // Miri does not know the system call.
    !cfg!(any(loom, miri)) && membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok()
}
