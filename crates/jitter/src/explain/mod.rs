//! From wake-up latencies to a verdict, and from a trace to the cause of one
//! late wake-up.

mod cause;
mod sentence;
mod verdict;

pub use cause::{Cause, Culprit, LateWakeUp, Phase, cause_of};
pub use verdict::{HEALTHY, verdict};
