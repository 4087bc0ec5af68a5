//! A recording that was read.

use super::super::frames::Frame;
use super::super::processes::Processes;
use super::super::slices::Slice;
use super::super::trace::Trace;
use super::annex::Annex;

/// A recording that was read from a file.
#[derive(Debug, Clone, Default)]
pub struct Recorded {
    /// The events of every CPU.
    pub trace: Trace,
    /// The trace clock, if the file names it.
    pub clock: Option<String>,
    /// The architecture of the recorded machine, as `uname -m` prints it, if
    /// the file names it. The numbers of system calls depend on it.
    pub architecture: Option<String>,
    /// The data that unjank adds to its own recordings.
    pub annex: Option<Annex>,
    /// The processes that the file lists.
    pub processes: Processes,
    /// Spans that programs named themselves, in order of their beginnings.
    pub slices: Vec<Slice>,
    /// Frames of Android apps that were shown or dropped, in order of their beginnings.
    pub frames: Vec<Frame>,
    /// Remarks for the user, one sentence each.
    pub notes: Vec<String>,
}
