//! Counts of lines and records that yield no event, with the first position of each reason.

use std::fmt;

/// A position in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// A line, counted from 1.
    Line(u64),
    /// A byte of the decompressed file, counted from 0.
    Byte(u64),
    /// A row of a table, counted from 0.
    Row(u64),
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Byte(byte) => write!(f, "byte {byte}"),
            Self::Row(row) => write!(f, "row {row}"),
        }
    }
}

/// Lines or records that were skipped for one reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Skip {
    /// The reason, without a full stop.
    pub reason: &'static str,
    /// How many.
    pub count: u64,
    /// Position of the first one.
    pub first: Position,
}

/// Everything that was skipped in one file, by reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skipped {
    all: Vec<Skip>,
    malformed: u64,
}

impl Skipped {
    /// Every reason, in the order of first occurrence.
    pub fn all(&self) -> &[Skip] {
        &self.all
    }

    /// How many lines or records were skipped for `reason`.
    pub fn count(&self, reason: &str) -> u64 {
        self.all.iter().find(|skip| skip.reason == reason).map_or(0, |skip| skip.count)
    }

    /// How many of them are malformed.
    pub(super) fn malformed(&self) -> u64 {
        self.malformed
    }

    pub(super) fn add_malformed(&mut self, reason: &'static str, position: Position) {
        self.malformed = self.malformed.saturating_add(1);
        self.add(reason, 1, position);
    }

    pub(super) fn add(&mut self, reason: &'static str, count: u64, position: Position) {
        // There are only a few reasons.
        match self.all.iter_mut().find(|skip| skip.reason == reason) {
            Some(skip) => skip.count = skip.count.saturating_add(count),
            None => self.all.push(Skip { reason, count, first: position }),
        }
    }
}
