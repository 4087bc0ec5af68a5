//! Options for reading traces.

use serde::Serialize;
use unjank_host::Bytes;
use unjank_host::input::Stop;

use super::columns::Columns;
use super::format::Format;

/// How traces are read.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Options {
    /// The format; detected from the content if `None`.
    pub format: Option<Format>,
    /// The columns of comma-separated values without a header.
    pub columns: Option<Columns>,
    /// Whether malformed lines and records are counted rather than an error.
    pub skip_bad: bool,
    /// The size of the device; requests beyond it are counted, and yield no events.
    pub device_size: Option<Bytes>,
    /// Swap devices, as the trace names them: a read is a page-in, a write a page-out.
    pub swap_devices: Vec<String>,
    /// The stage of a request that yields the event, in traces with several stages.
    pub stage: Stage,
    /// Ends the wait for a pipe or an endless file.
    #[serde(skip)]
    pub stop: Stop,
}

/// A stage of a request; traces of the block layer record several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Issued; or queued, if the beginning of the trace has no issued requests. Devices without a
    /// request queue, such as zram, have only queued ones.
    #[default]
    Auto,
    /// Handed to the block layer; the process is the one that made the request.
    Queued,
    /// Sent to the driver.
    Issued,
    /// Completed by the device.
    Completed,
}
