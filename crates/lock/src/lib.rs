//! The delay of waiting for locks: what each way of waiting costs on this
//! machine.
//!
//! | module | subject |
//! |---|---|
//! | [`probe`] | costs of pause, yield, lock and park; hand-offs between threads |
//! | [`explain`] | from costs to a verdict |

pub mod explain;
pub mod probe;

pub use probe::{Options, run};
