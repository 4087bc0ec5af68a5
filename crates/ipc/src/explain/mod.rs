//! From round trips to verdicts, and from a trace to the reason why one call
//! was slow.

mod inheritance;
mod journey;
mod verdict;

pub(crate) use inheritance::{Circumstances, judge};
pub use inheritance::{Inheritance, InheritanceVerdict};
pub(crate) use journey::journey_of;
pub use verdict::{CLOSER, HEALTHY, verdict};
