//! Lets another process stop a trace.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The paths of the two files by which another process of the same user stops a
/// trace: see [`Instance::tripwire`](super::Instance::tripwire).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TripwirePaths {
    pub(super) marker: PathBuf,
    pub(super) tracing_on: PathBuf,
}

impl TripwirePaths {
    /// Opens both files for writing.
    ///
    /// # Errors
    /// If the process that made the instance has ended, or belongs to another
    /// user.
    pub fn open(&self) -> Result<Tripwire> {
        let open = |path: &PathBuf| {
            let file = OpenOptions::new().write(true).open(path);
            file.map_err(|source| Error::file("open", path, source))
        };
        Ok(Tripwire { marker: open(&self.marker)?, tracing_on: open(&self.tracing_on)? })
    }
}

/// Marks and stops a trace, with two system calls.
#[derive(Debug)]
pub struct Tripwire {
    marker: File,
    tracing_on: File,
}

impl Tripwire {
    /// Writes `text` into the trace and stops it. A failure only leaves more
    /// events in the trace.
    pub fn trip(&self, text: &str) {
        let _unmarked = (&self.marker).write(text.as_bytes());
        let _still_on = (&self.tracing_on).write(b"0");
    }
}
