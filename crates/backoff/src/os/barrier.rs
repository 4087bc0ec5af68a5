//! A pair of memory barriers of which one side pays for both, by `membarrier(2)`.
//!
//! Two threads each store to one word and then load the other's: without a
//! full barrier in both, both may load what was there before. Where one of the
//! two runs a million times more often than the other, it is to have the
//! [`light`] one, which costs nothing, and the other the [`heavy`] one, which
//! interrupts all CPUs that run threads of this process. C++ knows the pair as
//! `asymmetric_thread_fence` (P1202).

#[cfg(not(loom))]
use core::sync::atomic::{Ordering, compiler_fence};

use rustix::thread::{MembarrierCommand, membarrier};

/// Of a store before it and a load after it, the compiler changes the order of
/// neither; the processor may, until somebody calls [`heavy`].
#[inline]
pub(crate) fn light() {
    // To loom, two full barriers are a light and a heavy one.
    #[cfg(loom)]
    crate::sync::fence(crate::sync::SeqCst);
    #[cfg(not(loom))]
    compiler_fence(Ordering::SeqCst);
}

/// A full barrier in this thread, and in each thread of this process at some
/// moment during the call. Says whether it was one: not so without [`register`],
/// and where a filter for system calls forbids it.
pub(crate) fn heavy() -> bool {
    #[cfg(loom)]
    crate::sync::fence(crate::sync::SeqCst);
    cfg!(loom) || membarrier(MembarrierCommand::PrivateExpedited).is_ok()
}

/// Asks the kernel for [`heavy`]; says whether it is there. Takes up to 20 ms in
/// a process of several threads. Children of `fork(2)` need not ask again.
pub(crate) fn register() -> bool {
    // Miri knows neither the system call nor what it does to loads and stores.
    !cfg!(any(loom, miri)) && membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok()
}
