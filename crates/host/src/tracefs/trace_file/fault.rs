//! Errors in the content of a recording.

use std::fmt;

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
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.position {
            FaultPosition::Byte(byte) => write!(f, "byte {byte}: {}", self.what),
            FaultPosition::Line(line) => write!(f, "line {line}: {}", self.what),
            FaultPosition::File => f.write_str(&self.what),
        }
    }
}

impl std::error::Error for Fault {}
