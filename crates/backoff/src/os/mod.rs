//! The requests to the operating system.

pub(crate) mod barrier;
mod circumstances;
#[cfg(not(loom))]
mod futex;
#[cfg(loom)]
#[path = "futex_model.rs"]
mod futex;

#[cfg(loom)]
pub use futex::model;

pub(crate) use circumstances::{check_for_squeeze, is_real_time, is_squeezed};
pub(crate) use futex::{sleep, wait, wait_for, wake, wake_all, with_exact_timers};
