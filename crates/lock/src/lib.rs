//! Measures the cost of waiting for locks, compares ways to wait, and diagnoses
//! programs that waste time in waiting.
//!
//! | module | subject |
//! |---|---|
//! | [`probe`] | costs of pause, yield, lock and park; hand-offs between threads |
//! | [`mod@bench`] | compares ways to wait for a lock over a grid |
//! | [`pools`] | compares thread pools |
//! | [`doctor`] | diagnoses the threads of a running program |
//! | [`preload`] | tries spinning mutexes in a program that cannot be changed |
//! | [`explain`] | turns costs into a verdict |
//! | `energy` | reads the energy of trials |

pub mod bench;
pub mod doctor;
mod energy;
mod error;
pub mod explain;
pub mod pools;
pub mod preload;
pub mod probe;

pub use energy::TrialMeter;
pub use error::{Error, Result};
pub use probe::{Options, run};
