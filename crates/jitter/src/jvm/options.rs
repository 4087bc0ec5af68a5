//! Options of `jitter jvm`.

use std::path::PathBuf;

use unjank_host::Nanos;

use super::cell::{Cell, Load};

/// The usual patience with a JVM.
pub const PATIENCE: Nanos = Nanos::from_millis(120_000);

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
    /// How long a JVM may take to end after its last wake-up was due, before it counts as
    /// hung.
    pub patience: Nanos,
    /// A new directory of this user for the application's files.
    pub directory: PathBuf,
    /// Trace the scheduler if possible, to find the threads that had the CPU.
    pub trace: bool,
    /// Allow priorities above 90, and machines without real-time throttling.
    pub force: bool,
    /// Seed of the random order of the cells.
    pub seed: u64,
}
