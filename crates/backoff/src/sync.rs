//! Atomics: the processor's own, or loom's, which tries all orders in which
//! threads may see them (`tests/loom.rs`).

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicU32, fence};
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU32, fence};

pub(crate) use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
