//! The native half of the Java library `unjank-rt`: real-time priority for
//! threads of a JVM, and periodic tasks on threads that no collector can stop.
//!
//! | module | subject |
//! |---|---|
//! | [`layout`] | where in shared memory things are |
//! | [`ring`] | messages from one writer to one reader |
//! | [`job`] | what a task does at each wake-up |
//! | [`task`] | the periodic loop |
//! | [`owner`] | tasks of this process, and those in processes of their own |
//! | `exports` | what Java calls |
//!
//! The other halves of layout and ring are the classes `TaskMemory` and
//! `MessageRing` in `java/rt`.
#![allow(unsafe_code)]

mod error;
mod exports;
pub mod job;
pub mod layout;
pub mod owner;
pub mod ring;
pub mod task;

pub use error::{Error, Result};
