//! The delay of swapped-out pages: what the app needs is not in memory.
//!
//! | module | subject |
//! |---|---|
//! | [`probe`] | what it costs to bring a page back |
//! | [`explain`] | from page-in costs to a verdict |

pub mod explain;
pub mod probe;

pub use probe::{Options, Pages, run};
