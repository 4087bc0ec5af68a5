//! What is recorded, and for how long.

use std::ffi::OsString;
use std::path::PathBuf;

use unjank_host::files::{Destination, exists};
use unjank_host::{Bytes, Error, Nanos, Result};

/// Options of a recording.
#[derive(Debug, Clone)]
pub struct Options {
    /// The program that is started and recorded with all others, and its arguments; empty for
    /// none.
    pub command: Vec<OsString>,
    /// How long; without it, until the program ends.
    pub duration: Option<Nanos>,
    /// The file for the trace.
    pub output: PathBuf,
    /// Whether a file that is there is replaced.
    pub force: bool,
    /// Record pages of files that come into memory and go, too.
    pub files: bool,
    /// Block devices of which all requests are recorded, too.
    pub devices: Vec<String>,
    /// Memory that the program and all it starts may have.
    pub memory_limit: Option<Bytes>,
    /// The size of a swap area that is there only meanwhile.
    pub swap: Option<Bytes>,
    /// On which file system that lies.
    pub directory: PathBuf,
    /// Room for events, for each CPU.
    pub buffer: Bytes,
}

impl Options {
    /// Whether they can work.
    ///
    /// # Errors
    /// `Invalid` says why not.
    pub fn check(&self) -> Result<()> {
        if self.command.is_empty() && self.duration.is_none() {
            return Err(Error::Invalid(
                "what is to be recorded is missing: -- COMMAND, or --for TIME".to_owned(),
            ));
        }
        if self.command.is_empty() && self.memory_limit.is_some() {
            return Err(Error::Invalid(
                "--memory-limit is for a command, and there is none".to_owned(),
            ));
        }
        if self.duration == Some(Nanos::ZERO) {
            return Err(Error::Invalid("nothing can be recorded for no time".to_owned()));
        }
        // Told again when the file is made; but nothing should be done before that.
        if !self.force && self.output.symlink_metadata().is_ok() {
            return Err(exists(&self.output));
        }
        Destination::open(&self.output).map(drop)
    }
}
