//! The C and C++ interface of `unjank-backoff`. Its documentation is the header
//! `include/unjank_backoff.h`, which is generated from this source.
//!
//! | module | subject |
//! |---|---|
//! | [`mutex`], [`condvar`], [`signal`] | types that are zero at first, with reserved space |
//! | [`backoff`] | back-off for loops of the caller |
//! | [`costs`] | calibration and pause |
//! | [`pool`] | the thread pool |
//! | `argument` | conversion of arguments from C |
//!
//! No panic crosses into C: every function is `extern "C"`, which aborts if a panic
//! would leave it. Callbacks are `extern "C-unwind"`, so that an exception of a C++
//! callback aborts as well and is not undefined behaviour.
#![allow(unsafe_code)]
#![expect(non_camel_case_types, reason = "C names, which the header takes from the source")]

mod argument;
pub mod backoff;
pub mod condvar;
pub mod costs;
pub mod mutex;
pub mod pool;
pub mod signal;
