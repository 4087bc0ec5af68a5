//! The delay of late wake-ups: a thread asked to run at a certain moment, and
//! ran later.
//!
//! | module | subject |
//! |---|---|
//! | [`probe`] | wakes threads at absolute moments and records how late they run |
//! | [`mod@bench`] | the probe against cyclictest |
//! | [`import`] | what cyclictest and jitterdebugger have measured |
//! | [`jvm`] | wake-ups in a JVM beside its collector, under every way to keep them in time |
//! | [`rt`] | threads of other processes made real-time, and put back |
//! | [`explain`] | verdicts, and the cause of one late wake-up |

pub mod bench;
pub mod explain;
pub mod import;
pub mod jvm;
pub mod probe;
pub mod rt;

pub use probe::{Moments, Options, Scheduling, run};
