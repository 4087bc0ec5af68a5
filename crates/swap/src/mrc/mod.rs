//! Miss-ratio curves of a trace under any policy.
//!
//! | module | subject |
//! |---|---|
//! | [`read`](fn@read) | reads the requests of a trace, all or a sample |
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
