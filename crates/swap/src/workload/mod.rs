//! From the events of a trace to what a model takes.
//!
//! | module | subject |
//! |---|---|
//! | `builder` | what programs did: a [`Workload`](unjank_cachesim::Workload) |
//! | `observed` | what a real memory did: a [`Paged`](unjank_cachesim::Paged) |
//! | `marks` | launches of apps |

mod builder;
mod marks;
mod observed;
#[cfg(test)]
mod tests;

pub use builder::{Builder, Refused};
pub use marks::Launching;
pub use observed::Observed;
