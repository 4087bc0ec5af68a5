//! From wake-up latencies to a verdict, and from a trace to the cause of one
//! late wake-up and to what is to blame for many.

mod blame;
mod cause;
mod events;
mod sentence;
mod verdict;

pub use blame::{Blame, Total};
pub use cause::{Cause, Culprit, LateWakeUp, Phase, cause_of};
pub use events::cause_events;
pub(crate) use verdict::HEALTHY_SOURCE;
pub use verdict::{HEALTHY, verdict};
