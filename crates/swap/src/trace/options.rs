//! How traces are read.

use unjank_host::Bytes;
use unjank_host::input::Stop;

use super::columns::Columns;
use super::format::Format;

/// How traces are read.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The format; told from the content where there is none.
    pub format: Option<Format>,
    /// The columns of comma-separated values that no line names.
    pub columns: Option<Columns>,
    /// Whether lines and records that are no good are counted rather than an error.
    pub skip_bad: bool,
    /// The size of the device; requests beyond it are counted, not told.
    pub device_size: Option<Bytes>,
    /// Devices of swap, as the trace names them: a read of one is a page-in, a write a page-out.
    pub swap_devices: Vec<String>,
    /// Which of the stages of a request makes the event, in traces that have several.
    pub stage: Stage,
    /// What ends the wait for a file that is a pipe, or never ends.
    pub stop: Stop,
}

/// A stage in a request's life, of which traces of the block layer tell several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stage {
    /// Issued; or queued, where the beginning of the trace has nothing issued. Devices without a
    /// queue of requests, such as zram, have only the latter.
    #[default]
    Auto,
    /// Handed to the block layer: the program that asked is the one that is named.
    Queued,
    /// Sent to the driver.
    Issued,
    /// Answered.
    Completed,
}
