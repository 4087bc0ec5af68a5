//! `unjank lock bench`: compares ways to wait for a lock over a grid of threads,
//! section lengths and work outside, in several environments.
//!
//! | module | subject |
//! |---|---|
//! | `run` | runs a trial of every strategy in every cell |
//! | [`strategy`], `tested_lock` | the table of strategies, and the trait of their locks |
//! | `sleep_loops`, `library_locks` | locks: the paper's loops, and those of libraries |
//! | [`grid`], [`options`] | the grid, and how long it takes |
//! | `work` | work of known length |
//! | `trial` | one measurement: threads take one lock over and over |
//! | `surroundings` | sets up an environment: load, quota |
//! | [`peer`] | the second process |
//! | [`results`] | measurements, cell by cell |
//! | [`comparison`] | ratios with intervals, and which one won |
//! | `findings`, [`paper`] | turns results into findings; the paper's figures |
//! | `headline` | which strategies differ from the baselines, in one line: pure |
//! | `tables` | the printed tables |

pub mod comparison;
mod findings;
pub mod grid;
mod headline;
mod library_locks;
pub mod options;
pub mod paper;
pub mod peer;
pub mod results;
mod run;
mod sleep_loops;
pub mod strategy;
mod surroundings;
mod tables;
mod tested_lock;
mod trial;
mod work;

pub use comparison::{Compared, ComparisonOutcome, Overall, Ratio};
pub use grid::{Cell, Environment};
pub use options::Options;
pub use peer::serve;
pub use results::{Arm, CellResult, Results, Round};
pub use run::run;
pub use strategy::Strategy;
pub use surroundings::Setup;
pub use tables::tables;
