//! The delay of late wake-ups: a thread asked to run at a certain moment, and
//! ran later.
//!
//! | module | subject |
//! |---|---|
//! | [`probe`] | wakes threads at absolute moments and records how late they run |
//! | [`explain`] | from wake-up latencies to a verdict |

pub mod explain;
pub mod probe;

pub use probe::{Options, Scheduling, run};
