//! Atomics: the processor's own, or loom's, which tries all orders in which
//! threads may see them (`tests/loom.rs`).

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicU32, fence};
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU32, fence};

/// Makes a constructor `const`, except in a model: loom's atomics cannot be made
/// at compile time.
macro_rules! const_except_in_models {
    ($(#[$attribute:meta])* $visibility:vis const fn $($rest:tt)*) => {
        #[cfg(not(loom))]
        $(#[$attribute])*
        $visibility const fn $($rest)*
        #[cfg(loom)]
        $(#[$attribute])*
        $visibility fn $($rest)*
    };
}
pub(crate) use const_except_in_models;

pub(crate) use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
