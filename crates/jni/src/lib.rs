//! The native half of the Java library `unjank-rt`: real-time priority for
//! threads of a JVM, and periodic tasks on threads that no collector can stop.
//!
//! | module | subject |
//! |---|---|
//! | [`layout`] | layout of a task's shared memory |
//! | [`ring`] | messages from one writer to one reader |
//! | [`job`] | the work of a task at each wake-up |
//! | [`task`] | the periodic loop |
//! | [`owner`] | starts and ends tasks, on threads of this process or in their own |
//! | `exports` | the native methods of Java |
//!
//! The counterparts of layout and ring in Java are the classes `TaskMemory` and
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
