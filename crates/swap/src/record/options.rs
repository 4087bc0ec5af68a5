//! Options of a recording.

use std::ffi::OsString;
use std::path::PathBuf;

use unjank_host::files::{Destination, exists, is_stdout};
use unjank_host::{Bytes, Error, Nanos, Result};

/// Options of a recording.
#[derive(Debug, Clone)]
pub struct Options {
    /// The command to start and its arguments; empty for none.
    pub command: Vec<OsString>,
    /// Length of the recording; `None` until the command ends.
    pub duration: Option<Nanos>,
    /// The file for the trace.
    pub output: PathBuf,
    /// Whether to replace an existing file.
    pub force: bool,
    /// Whether to record the page cache, too.
    pub files: bool,
    /// Block devices of which to record all requests, too.
    pub devices: Vec<String>,
    /// The memory limit of the command and all processes that it starts.
    pub memory_limit: Option<Bytes>,
    /// The size of a swap area for the time of the recording.
    pub swap: Option<Bytes>,
    /// The directory of that swap area.
    pub directory: PathBuf,
    /// The size of the event buffer of each CPU.
    pub buffer: Bytes,
}

impl Options {
    /// Checks the options.
    ///
    /// # Errors
    /// `Invalid` for options that cannot work.
    pub fn check(&self) -> Result<()> {
        if self.command.is_empty() && self.duration.is_none() {
            return Err(Error::Invalid(
                "give a command to record (-- COMMAND) or a time (--for TIME)".to_owned(),
            ));
        }
        if self.command.is_empty() && self.memory_limit.is_some() {
            return Err(Error::Invalid("--memory-limit needs a command".to_owned()));
        }
        if self.duration == Some(Nanos::ZERO) {
            return Err(Error::Invalid("the time of a recording must be above zero".to_owned()));
        }
        // Checked again when the file is made, but nothing should be done before that.
        let is_file = !is_stdout(&self.output);
        if is_file && !self.force && self.output.symlink_metadata().is_ok() {
            return Err(exists(&self.output));
        }
        Destination::open_binary(&self.output).map(drop)
    }
}
