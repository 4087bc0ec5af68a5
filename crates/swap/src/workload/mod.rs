//! Turns the events of a trace into the input of a model.
//!
//! | module | subject |
//! |---|---|
//! | `builder` | accesses of programs: a [`Workload`](unjank_cachesim::Workload) |
//! | `observed` | requests of a real memory: a [`Paged`](unjank_cachesim::Paged) |
//! | `marks` | launches of apps |

mod builder;
mod marks;
mod observed;
#[cfg(test)]
mod tests;

pub use builder::{Builder, Refused};
pub use marks::Launching;
pub use observed::Observed;
