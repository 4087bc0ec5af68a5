//! Errors in the content of a recording.

use std::fmt;

use crate::input::Stopped;

/// An error in the content of a recording, and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    position: FaultPosition,
    what: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FaultPosition {
    /// Counted from 0.
    Byte(usize),
    /// Counted from 1.
    Line(usize),
    /// The file as a whole.
    File,
    /// Not known: the file was not read to its end.
    Stopped,
}

impl Fault {
    pub(super) fn at_byte(byte: usize, what: impl Into<String>) -> Self {
        Self { position: FaultPosition::Byte(byte), what: what.into() }
    }

    pub(super) fn at_line(line: usize, what: impl Into<String>) -> Self {
        Self { position: FaultPosition::Line(line), what: what.into() }
    }

    pub(super) fn of_file(what: impl Into<String>) -> Self {
        Self { position: FaultPosition::File, what: what.into() }
    }

    pub(super) fn stopped() -> Self {
        Self { position: FaultPosition::Stopped, what: Stopped.to_string() }
    }

    /// Whether a stop request ended the reading.
    pub fn is_stop(&self) -> bool {
        self.position == FaultPosition::Stopped
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.position {
            FaultPosition::Byte(byte) => write!(f, "byte {byte}: {}", self.what),
            FaultPosition::Line(line) => write!(f, "line {line}: {}", self.what),
            FaultPosition::File | FaultPosition::Stopped => f.write_str(&self.what),
        }
    }
}

impl std::error::Error for Fault {}
