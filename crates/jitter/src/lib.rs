//! Wake-up latency: the time from the moment a thread asked to be woken until it runs.
//!
//! | module | subject |
//! |---|---|
//! | [`probe`] | wakes threads at absolute moments and records how late they run |
//! | [`mod@bench`] | compares the probe with cyclictest |
//! | [`import`] | reads results of cyclictest and jitterdebugger |
//! | [`trace`] | the wake-ups of all threads in a recording |
//! | [`jvm`] | wake-ups in a JVM beside its collector, with six ways to keep them in time |
//! | [`rt`] | gives threads of other processes a policy, and puts the old one back |
//! | [`explain`] | verdicts, and the cause of one late wake-up |

pub mod bench;
pub mod explain;
pub mod import;
pub mod jvm;
pub mod probe;
pub mod rt;
pub mod trace;

pub use probe::{Moments, Options, Scheduling, run};
