//! The analysis of one trace.

use std::sync::Arc;

use unjank_measure::SeriesRecord;

use super::inversion::Inversion;
use super::launches::Launch;
use super::makers::Makers;
use super::paging::Paging;
use super::skew::Skew;
use super::thrash::{self, Episode};
use crate::trace::{Operation, Summary};

/// The analysis of one trace.
#[derive(Debug, Clone)]
pub struct Analysis {
    /// The name of the trace.
    pub label: String,
    /// The summary of the trace.
    pub summary: Summary,
    /// The share of the data that is called hot.
    pub hot: f64,
    /// Accesses by operation, in the order of [`Operation::ALL`].
    pub accesses: [u64; Operation::ALL.len()],
    /// The skew of accesses over pages.
    pub skew: Skew,
    /// Stack distances of accesses that are not the first of their page: how many other pages
    /// were accessed in between. `None` if no page was accessed twice.
    pub distances: Option<SeriesRecord>,
    /// The kinds of pages, spaces and processes that make the hottest accesses.
    pub makers: Makers,
    /// Evictions and refaults.
    pub paging: Paging,
    /// Episodes of thrashing; `None` if the trace lacks page-ins, page-outs or times.
    pub episodes: Option<Vec<Episode>>,
    /// The limits of thrashing.
    pub thrash: thrash::Limits,
    /// Episodes, and launches, beyond those that are kept one by one.
    pub more: [u64; 2],
    /// LRU inversion of each pair of devices.
    pub inversions: Vec<Inversion>,
    /// Omitted launches of programs other than the recorded command.
    pub other_launches: u64,
    /// Whether I/O can be assigned to launches by process. If not, all I/O after the mark of a
    /// launch counts for the launch.
    pub launches_are_assignable: bool,
    /// The launches that have marks, with the names of their apps.
    pub launches: Vec<(Arc<str>, Launch)>,
    /// The name of the process with the most refaults in each episode.
    pub episode_makers: Vec<String>,
    /// The memory that the analysis took, in bytes.
    pub bytes: usize,
}
