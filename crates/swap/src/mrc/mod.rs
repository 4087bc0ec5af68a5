//! Misses over the size of the cache, of a trace under any policy.
//!
//! | module | subject |
//! |---|---|
//! | [`read`](fn@read) | a trace as requests, all of them or a sample |
//! | [`size`] | sizes of caches |
//! | [`sweep`](fn@sweep) | every policy at every size, on all CPUs |

mod findings;
mod read;
pub mod size;
mod sweep;
mod tables;

pub use findings::findings;
pub use read::{Options, Requests, read};
pub use size::{Size, Sizes};
pub use sweep::{Curve, Point, sweep};
