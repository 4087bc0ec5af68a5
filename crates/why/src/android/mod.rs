//! Launches and frames of Android apps in a recording, by the slices that Android's own code writes
//! (`atrace`, the categories `am`, `dalvik`, `gfx`, `view`), and by `FrameTimeline`.
//!
//! | module | subject |
//! |---|---|
//! | `launches` | launches, as `ActivityMetricsLogger` of Android marks them |
//! | `apps` | the process of a launched package |
//! | `drawing` | the frames that an app draws: first and fully drawn |
//! | `frames` | frames that missed their deadline |

mod apps;
mod drawing;
mod frames;
mod launches;

use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{Frame, Processes, Slice};

pub use frames::{FrameJudge, LateFrame, late_frames};
pub use launches::{AppLaunch, StartKind, launches};

/// What a recording has about apps.
#[derive(Debug, Clone, Copy)]
pub struct AppTrace<'a> {
    /// The slices, in order of their beginnings.
    pub slices: &'a [Slice],
    /// The frames that `SurfaceFlinger` compared with their deadlines.
    pub frames: &'a [Frame],
    /// The processes that it lists.
    pub processes: &'a Processes,
}

/// The thread whose progress is explained, and the first thread of its process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppThread {
    /// The first thread of the app's process.
    pub first: ThreadId,
    /// The thread whose last step ends the time.
    pub thread: ThreadId,
    /// Where the explained time ends.
    pub to: Timestamp,
}

/// The slices that begin in a time, its end included.
fn beginning_in(slices: &[Slice], from: Timestamp, to: Timestamp) -> impl Iterator<Item = &Slice> {
    let first = slices.partition_point(|slice| slice.from < from);
    slices[first..].iter().take_while(move |slice| slice.from <= to)
}
