//! The state of the service.

use serde::{Deserialize, Serialize};
use unjank_host::{Bytes, Nanos};

use super::demotion::Counts;
use super::zram::{Stats, Stopped};

/// The state of the service at a moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// `unjank.tierd/1`.
    pub schema: String,
    /// The number of the service's process.
    pub process: u32,
    /// Time since it began.
    pub up: Nanos,
    /// The zram device: `zram0` …
    pub device: String,
    /// Its backing device or file.
    pub backing: String,
    /// The policy, and how long a page that it does not keep stays in zram.
    pub policy: String,
    /// See `policy`.
    pub after: Nanos,
    /// Why pages are written back by their age alone, whatever their process, if they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_age: Option<String>,
    /// Whether nothing is written back on request.
    pub paused: bool,
    /// What the kernel counts, since the device was set up.
    pub zram: Stats,
    /// Slots whose page is known.
    pub followed: u64,
    /// Those of them that were written back.
    pub demoted: u64,
    /// Counts since the service began.
    pub counts: Counts,
    /// The remaining budget.
    pub budget_left: Bytes,
    /// The share of the usual time for writing: less while programs wait for I/O.
    pub pace: f64,
    /// Why the last write-back stopped.
    pub stopped: Option<Stopped>,
    /// CPU time of the service.
    pub cpu_time: Nanos,
    /// Memory of the service.
    pub resident: Bytes,
}

impl Status {
    /// The name and version of its form.
    pub const SCHEMA: &str = "unjank.tierd/1";

    /// The share of the pages in zram whose process and address are known, in percent. Shared
    /// memory and files in memory have none.
    pub fn identified_percent(&self) -> f64 {
        let in_zram = self.followed.saturating_sub(self.demoted);
        let percent = in_zram as f64 / self.zram.pages.max(1) as f64 * 100.0;
        percent.min(100.0)
    }
}
