//! Judges round trips, and finds in a trace why one call was slow.

mod breakdown;
mod inheritance;
mod verdict;

pub(crate) use breakdown::break_down;
pub(crate) use inheritance::{Circumstances, judge_inheritance};
pub use inheritance::{Inheritance, InheritanceVerdict};
pub use verdict::{HEALTHY, NEXT_COMMAND, verdict};
