//! Atomics: the processor's own, or those of loom, which tries all orders in which
//! threads may see them (`tests/loom.rs`).

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, fence};
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, fence};

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

/// The mutex in models of other types: the library's own lock has its own models.
#[cfg(loom)]
pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

#[cfg(loom)]
impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(loom::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
        self.0.lock().expect("no model panics with it")
    }
}
