//! `unjank lock bench`: ways to wait for a lock against each other, over a grid
//! of threads, lengths of sections and work outside them, among others' work.
//!
//! | module | subject |
//! |---|---|
//! | `run` | visits to all cells with all strategies |
//! | [`strategy`], `section` | what is compared: one table; what a lock is for it |
//! | `sleep_loops`, `peers` | the paper's loops; locks that others have made |
//! | [`grid`], [`options`] | what is varied, and how long that takes |
//! | `work` | work whose length is known |
//! | `visit` | threads that take one lock over and over |
//! | `surroundings` | what goes on around them |
//! | [`peer`] | the second process |
//! | [`results`] | what was measured, cell by cell |
//! | [`judge`] | ratios with intervals, and who has won |
//! | `findings`, [`paper`] | the same as findings; what the paper says |
//! | `tables` | what people read of it |

mod findings;
pub mod grid;
pub mod judge;
pub mod options;
pub mod paper;
pub mod peer;
mod peers;
pub mod results;
mod run;
mod section;
mod sleep_loops;
pub mod strategy;
mod surroundings;
mod tables;
mod visit;
mod work;

pub use grid::{Cell, Environment};
pub use judge::{Compared, Outcome, Overall, Ratio};
pub use options::Options;
pub use peer::{PeerCommand, serve};
pub use results::{Arm, CellResult, Results, Round};
pub use run::run;
pub use strategy::Strategy;
pub use surroundings::Means;
pub use tables::tables;
