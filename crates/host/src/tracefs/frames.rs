//! Frames of Android apps, as `SurfaceFlinger` compares them with their deadlines: `FrameTimeline`,
//! since Android 12 (`protos/perfetto/trace/android/frame_timeline_event.proto` of Perfetto).

use std::fmt;

use crate::clock::Timestamp;

/// A frame of an app's window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The number of the frame, which the names of slices have as well.
    pub token: i64,
    /// The process of the app.
    pub process: u32,
    /// When the app began to work on it.
    pub from: Timestamp,
    /// When it was finished.
    pub to: Timestamp,
    /// When it should have been finished, if the trace has that.
    pub deadline: Option<Timestamp>,
    /// Why it was late, as `SurfaceFlinger` sees it.
    pub jank: Jank,
    /// Whether it was never shown.
    pub is_dropped: bool,
}

/// Why a frame was late: the bits of `FrameTimelineEvent.JankType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Jank(pub u32);

impl Jank {
    /// The reasons by their bits.
    const REASONS: [(u32, &'static str); 10] = [
        (2, "SurfaceFlinger's scheduling"),
        (4, "wrong prediction"),
        (8, "display HAL"),
        (16, "SurfaceFlinger's CPU work"),
        (32, "SurfaceFlinger's GPU work"),
        (64, "the app missed its deadline"),
        (128, "an earlier frame in the queue"),
        (256, "unknown"),
        (512, "SurfaceFlinger's queue"),
        (1024, "dropped"),
    ];

    /// Whether the frame was late for one of the reasons. Other bits say that nobody saw it.
    pub fn is_some(self) -> bool {
        Self::REASONS.iter().any(|(bit, _)| self.0 & bit != 0)
    }

    /// The reasons of two windows of one frame.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The reasons, separated by commas.
impl fmt::Display for Jank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reasons = Self::REASONS.iter().filter(|(bit, _)| self.0 & bit != 0);
        let names: Vec<&str> = reasons.map(|(_, name)| *name).collect();
        f.pad(&if names.is_empty() { "none".to_owned() } else { names.join(", ") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_told_by_their_bits() {
        assert_eq!(Jank(64 | 4).to_string(), "wrong prediction, the app missed its deadline");
        assert!(Jank(64).and(Jank(1)).is_some() && Jank(2).is_some());
        assert!(!Jank(0).is_some() && !Jank(1).is_some() && !Jank(4096).is_some());
        assert_eq!(Jank(1).to_string(), "none");
    }
}
