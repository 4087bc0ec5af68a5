//! What was read, and what was not.

use std::path::PathBuf;

use unjank_host::Nanos;

use super::event::{Event, Operation};
use super::format::Format;
use super::skipped::Skipped;

/// What a trace has had so far.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// Events that were told.
    pub events: u64,
    /// Time of the latest event since the first one.
    pub span: Nanos,
    /// How often an event is earlier than the one before it. Events are told in the order of
    /// the files.
    pub backwards: u64,
    /// Events from before the first one, which are told at its time.
    pub before_first: u64,
    /// Events by operation, in the order of [`Operation::ALL`].
    pub operations: [u64; Operation::ALL.len()],
    /// The files.
    pub inputs: Vec<InputSummary>,
    /// The time of the event before.
    latest: Nanos,
}

/// What one file has had so far.
#[derive(Debug, Clone)]
pub struct InputSummary {
    /// What it is called.
    pub name: PathBuf,
    /// Its format.
    pub format: Format,
    /// Whether the format was guessed: nothing marks it, and the content could be that.
    pub is_guessed: bool,
    /// How it is packed: `none`, `gzip`, `zstd`, `xz` or `lz4`.
    pub packing: &'static str,
    /// Events that were read.
    pub events: u64,
    /// What was read and made no event.
    pub skipped: Skipped,
}

impl Summary {
    /// Counts events whose times are still the file's own, and makes them begin at `origin`.
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
