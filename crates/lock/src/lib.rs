//! The delay of waiting for locks: what each way of waiting costs on this
//! machine, and which one gets most done.
//!
//! | module | subject |
//! |---|---|
//! | [`probe`] | costs of pause, yield, lock and park; hand-offs between threads |
//! | [`mod@bench`] | ways to wait for a lock against each other, over a grid |
//! | [`pools`] | thread pools against each other |
//! | [`doctor`] | what the threads of a running program do instead of waiting |
//! | [`explain`] | from costs to a verdict |

pub mod bench;
pub mod doctor;
mod error;
pub mod explain;
pub mod pools;
pub mod probe;

pub use error::{Error, Result};
pub use probe::{Options, run};
