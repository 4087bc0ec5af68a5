//! What one trace said.

use std::sync::Arc;

use unjank_measure::SeriesRecord;

use super::inversion::Inversion;
use super::launches::Launch;
use super::makers::Makers;
use super::paging::Paging;
use super::skew::Skew;
use super::thrash::{self, Episode};
use crate::trace::{Operation, Summary};

/// What one trace said.
#[derive(Debug, Clone)]
pub struct Analysis {
    /// What it is called.
    pub label: String,
    /// What was read.
    pub summary: Summary,
    /// The share of the data that is called hot.
    pub hot: f64,
    /// Accesses by operation, in the order of [`Operation::ALL`].
    pub accesses: [u64; Operation::ALL.len()],
    /// Accesses over pages.
    pub skew: Skew,
    /// Stack distances of accesses that are not the first of their page: how many other pages
    /// were accessed in between. None where no page came twice.
    pub distances: Option<SeriesRecord>,
    /// Who makes the hottest accesses.
    pub makers: Makers,
    /// What went out and came back.
    pub paging: Paging,
    /// Stretches of thrashing. `None` where the trace cannot tell.
    pub episodes: Option<Vec<Episode>>,
    /// From where on it was called thrashing.
    pub thrash: thrash::Limits,
    /// Episodes, and launches, beyond those that are told one by one.
    pub more: [u64; 2],
    /// Devices in the wrong order.
    pub inversions: Vec<Inversion>,
    /// Launches of programs other than the recorded command, which were not asked for.
    pub other_launches: u64,
    /// Whether the trace tells which process I/O is of. If not, all I/O after the mark of a
    /// launch is counted as the launch's.
    pub launches_are_told: bool,
    /// Launches that the trace has marks of, by app.
    pub launches: Vec<(Arc<str>, Launch)>,
    /// The names of those who wanted most in each episode.
    pub episode_makers: Vec<String>,
    /// The memory that the analysis took, in bytes.
    pub bytes: usize,
}
