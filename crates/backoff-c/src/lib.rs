//! The C and C++ interface of `unjank-backoff`. Its documentation is the header
//! `include/unjank_backoff.h`, which is made from this source.
//!
//! | module | subject |
//! |---|---|
//! | [`mutex`], [`condvar`], [`signal`] | zero when they are made, and of a size with room to grow |
//! | [`backoff`] | the loop of one's own |
//! | [`costs`] | calibration and a pause |
//! | [`pool`] | threads |
//! | `argument` | what C has given |
//!
//! No panic crosses into C: every function is `extern "C"`, which aborts where
//! one would leave it. Callbacks are `extern "C-unwind"`, so that the exception
//! of a C++ callback ends there, too, and is not undefined.
#![allow(unsafe_code)]
#![expect(
    non_camel_case_types,
    reason = "names as in C, so that the header has those of the source"
)]

mod argument;
pub mod backoff;
pub mod condvar;
pub mod costs;
pub mod mutex;
pub mod pool;
pub mod signal;
