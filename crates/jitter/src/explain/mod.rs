//! From wake-up latencies to a verdict.

mod verdict;

pub use verdict::{HEALTHY, verdict};
