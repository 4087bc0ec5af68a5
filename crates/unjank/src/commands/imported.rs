//! The record of a run that another tool has measured.

use std::hash::{DefaultHasher, Hash, Hasher as _};

use jiff::Timestamp as Date;
use unjank_host::machine::Machine;
use unjank_host::{Nanos, Timestamp};
use unjank_measure::record::{Run, Start};
use unjank_measure::{Findings, RunRecord};

use super::measured::{self, Settings};

/// The label of every run that was not measured by unjank.
const IMPORTED: &str = "imported";

/// A run of another tool.
pub(super) struct ImportedRun {
    /// The command of the record.
    pub(super) command: String,
    /// The beginning and length of the run, if the file has them.
    pub(super) ran: Option<(Date, Nanos)>,
    /// The machine, as far as the file describes it.
    pub(super) machine: Machine,
    pub(super) settings: Settings,
    pub(super) findings: Findings,
}

impl ImportedRun {
    /// The record. The same `content` has the same id each time, if the run has a date.
    pub(super) fn record(mut self, content: impl Hash) -> RunRecord {
        let mut hasher = DefaultHasher::new();
        content.hash(&mut hasher);
        let (start, end) = if let Some((began, length)) = self.ran {
            let zero = Timestamp::from_nanos(0);
            (Start::at(began, zero, hasher.finish() as u32), zero + length)
        } else {
            self.findings.warn("the file has no date: the date of the import is used");
            let now = Timestamp::now();
            (Start::now(), now)
        };
        let run = Run {
            tool: measured::tool(),
            command: self.command,
            host: self.machine,
            settings: self.settings.into_values(),
            findings: self.findings,
            labels: vec![IMPORTED.to_owned()],
        };
        start.finish(end, run)
    }
}
