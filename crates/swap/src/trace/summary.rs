//! Counts of read events, and of skipped lines and records.

use std::path::PathBuf;

use unjank_host::Nanos;

use super::event::{Event, Operation};
use super::format::Format;
use super::skipped::Skipped;

/// Counts of the part of a trace that was read so far.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// Events returned.
    pub events: u64,
    /// Time from the first event to the latest.
    pub span: Nanos,
    /// How often an event is earlier than the previous one. Events keep the order of the file.
    pub backwards: u64,
    /// Events from before the first one, which get its time.
    pub before_first: u64,
    /// Events by operation, in the order of [`Operation::ALL`].
    pub operations: [u64; Operation::ALL.len()],
    /// The files, in the order in which they were given.
    pub inputs: Vec<InputSummary>,
    /// The time of the previous event.
    latest: Nanos,
}

/// Counts of the part of one file that was read so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputSummary {
    /// Its path; `stdin` for the standard input.
    pub name: PathBuf,
    /// The format that it was read as.
    pub format: Format,
    /// Whether the format was guessed: the content fits it, but nothing marks it.
    pub is_guessed: bool,
    /// Its compression: `none`, `gzip`, `zstd`, `xz` or `lz4`.
    pub packing: &'static str,
    /// Events read.
    pub events: u64,
    /// Lines or records that were read and yielded no event.
    pub skipped: Skipped,
}

impl Summary {
    /// Counts events that have the file's own times, and makes their times relative to `origin`.
    pub(super) fn take(&mut self, events: &mut [Event], origin: Nanos) {
        for event in &mut *events {
            self.before_first += u64::from(event.at < origin);
            event.at = event.at - origin;
            self.backwards += u64::from(event.at < self.latest);
            self.latest = event.at;
            self.span = self.span.max(event.at);
            self.operations[event.operation as usize] += 1;
        }
        self.events += events.len() as u64;
    }
}
