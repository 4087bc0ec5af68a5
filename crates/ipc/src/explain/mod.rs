//! Judges round trips, and finds in a trace why one call was slow.

mod breakdown;
mod inheritance;
mod load;
mod verdict;

pub(crate) use breakdown::break_down;
pub(crate) use inheritance::{Circumstances, inherited_shares, judge_inheritance};
pub use inheritance::{Inheritance, InheritanceVerdict, Share};
pub use load::beside_load;
pub use verdict::{HEALTHY, NEXT_COMMAND, verdict};
