#![doc = include_str!("../README.md")]
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "std")]
extern crate std;

pub mod backoff;
pub mod hint;
pub mod idle;
pub mod spin_policy;
#[cfg(feature = "std")]
mod sync;
pub mod ticks;

#[cfg(feature = "std")]
pub mod calibrate;
#[cfg(feature = "std")]
pub mod condvar;
#[cfg(feature = "std")]
pub mod mutex;
#[cfg(all(feature = "std", not(loom)))]
mod os;
#[cfg(all(feature = "std", loom))]
pub mod os;
#[cfg(all(feature = "std", not(loom)))]
pub mod pool;
#[cfg(feature = "std")]
pub mod queue;
#[cfg(feature = "std")]
mod rate;
#[cfg(feature = "std")]
pub mod signal;
#[cfg(feature = "std")]
pub mod wait;

pub use backoff::Backoff;
#[cfg(feature = "std")]
pub use condvar::Condvar;
#[cfg(feature = "std")]
pub use mutex::RawMutex;
#[cfg(all(feature = "std", not(loom)))]
pub use mutex::{Mutex, MutexGuard};
#[cfg(all(feature = "std", not(loom)))]
pub use pool::Pool;
#[cfg(feature = "std")]
pub use queue::WorkQueue;
#[cfg(feature = "std")]
pub use signal::Signal;
#[cfg(feature = "std")]
pub use wait::Wait;
