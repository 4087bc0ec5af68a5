//! The results of Higashiyama, Masuda and Ochiai.

use unjank_host::Nanos;

use super::variant::Variant;

/// Source and setup of the numbers.
pub const SOURCE: &str = "Higashiyama et al., 2012: 120,000 wake-ups of a TimerTask; Android 4.0.3 \
                          (Dalvik), Linux 2.6.37, one ARM Cortex-A8 at 1 GHz";

/// A published worst wake-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Published {
    /// The figure that shows it.
    pub figure: &'static str,
    /// Whether other threads made garbage.
    pub garbage: bool,
    /// The threads that were real-time.
    pub variant: Variant,
    /// The latency of the latest wake-up.
    pub worst: Nanos,
}

/// Their three results.
pub const PUBLISHED: [Published; 3] = [
    Published {
        figure: "1",
        garbage: false,
        variant: Variant::WholeProcess,
        worst: Nanos::from_micros(2_700),
    },
    Published {
        figure: "2",
        garbage: true,
        variant: Variant::WholeProcess,
        worst: Nanos::from_micros(66_000),
    },
    Published {
        figure: "4",
        garbage: true,
        variant: Variant::Thread,
        worst: Nanos::from_micros(16_800),
    },
];

/// The published result for a cell.
pub fn published(garbage: bool, variant: Variant) -> Option<&'static Published> {
    PUBLISHED.iter().find(|known| (known.garbage, known.variant) == (garbage, variant))
}
