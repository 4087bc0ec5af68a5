//! Options of `jitter jvm`.

use std::path::PathBuf;

use super::cell::{Cell, Load};

/// Cells, load and rounds of a run.
#[derive(Debug, Clone)]
pub struct Options {
    /// The cells to measure; the seed gives their order in each round.
    pub cells: Vec<Cell>,
    /// The load of all cells.
    pub load: Load,
    /// Trials of each cell.
    pub rounds: usize,
    /// Path of the JAR file of the measuring application.
    pub jar: PathBuf,
    /// A new directory of this user for the application's files.
    pub directory: PathBuf,
    /// Trace the scheduler if possible, to find the threads that had the CPU.
    pub trace: bool,
    /// Allow priorities above 90, and machines without real-time throttling.
    pub force: bool,
    /// Seed of the random order of the cells.
    pub seed: u64,
}
