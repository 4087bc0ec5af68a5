//! What is measured.

use std::path::PathBuf;

use super::cell::{Cell, Load};

/// What is measured.
#[derive(Debug, Clone)]
pub struct Options {
    /// The cells.
    pub cells: Vec<Cell>,
    /// What they have in common.
    pub load: Load,
    /// How often each cell is visited.
    pub rounds: usize,
    /// The measuring application.
    pub jar: PathBuf,
    /// Whether the scheduler is traced, where it can be, to tell who had the
    /// CPU.
    pub trace: bool,
    /// Also priorities among the kernel's own threads, and a machine without
    /// real-time throttling.
    pub force: bool,
    /// Orders the cells.
    pub seed: u64,
}
