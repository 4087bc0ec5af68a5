//! Turns wake-up latencies into a verdict, and a trace into the cause of one
//! late wake-up and the culprits of many.

mod blame;
mod cause;
mod events;
mod load;
mod sentence;
mod verdict;

pub use blame::{Blame, CulpritTotal};
pub use cause::{Cause, Culprit, LateWakeUp, Phase, cause_of, cause_of_wait};
pub use events::cause_events;
pub use load::beside_load;
pub(crate) use verdict::HEALTHY_SOURCE;
pub use verdict::{HEALTHY, verdict};
