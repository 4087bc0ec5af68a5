//! What all settings are decided from, and a decided one.

use unjank_host::machine::Memory;
use unjank_host::{Bytes, Nanos};
use unjank_measure::SeriesRecord;

/// The share of page-ins that find their page gone from compressed memory, where no recording tells.
pub(super) const ASSUMED_MISSES: f64 = 0.1;

/// The machine as it is.
#[derive(Debug, Clone, Default)]
pub struct Present {
    /// Memory, swap areas and settings.
    pub memory: Memory,
    /// The kernel's release: `6.18.0`.
    pub kernel: String,
    /// Pages that swap readahead has read since the boot, and those of them that were used.
    pub readahead: Option<(u64, u64)>,
    /// The names in `/proc/crypto`, which zswap compresses with; `None` if it cannot be read.
    pub crypto: Option<Vec<String>>,
}

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// Its present value.
    pub now: String,
    /// The proposed value; `None` to leave it.
    pub proposed: Option<String>,
    /// A clause.
    pub why: String,
}

impl Setting {
    /// Whether the proposal changes it.
    pub fn is_changed(&self) -> bool {
        self.proposed.as_ref().is_some_and(|proposed| *proposed != self.now)
    }
}

/// The median of a series and the ends of its interval, in nanoseconds; `None` without samples.
pub(super) fn median(series: &SeriesRecord) -> Option<(f64, [f64; 2])> {
    let summary = series.summary?;
    let median = summary.p50 as f64;
    let ends = summary.intervals[0].map_or([median; 2], |ends| ends.map(|end| end as f64));
    (median > 0.0).then_some((median, ends))
}

/// A time for a sentence.
pub(super) fn time(nanoseconds: f64) -> Nanos {
    Nanos(nanoseconds as u64)
}

/// A size in whole MiB.
pub(super) fn mib(size: Bytes) -> Bytes {
    const MIB: u64 = 1 << 20;
    Bytes(size.get() / MIB * MIB)
}
