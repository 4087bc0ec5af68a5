//! Frames that missed their deadline.

use std::collections::HashMap;

use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{Frame, Jank};
use unjank_units::Nanos;

use super::drawing::{Drawings, Drawn};
use super::{AppThread, AppTrace};

/// A frame that missed its deadline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LateFrame {
    /// Its number.
    pub number: i64,
    /// When the app began to work on it.
    pub from: Timestamp,
    /// By how much it missed its deadline.
    pub late: Nanos,
    /// Why it was late, as Android says; empty if the recording does not have that.
    pub reason: String,
    /// The explained thread, and the end of the frame.
    pub app: AppThread,
}

/// By what frames are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameJudge {
    /// `FrameTimeline` of Android 12 and later. The number of all frames.
    Android(usize),
    /// The recording has no deadlines: a frame should take no longer than this usual distance of
    /// frames. The number of all frames.
    Distance(Nanos, usize),
}

/// The late frames of all apps, those that are late by most first; `None` without frames.
pub fn late_frames(trace: &AppTrace<'_>) -> Option<(Vec<LateFrame>, FrameJudge)> {
    let drawings = Drawings::of(trace.slices);
    let judged = by_android(trace, &drawings).or_else(|| by_distance(&drawings));
    let (mut frames, judge) = judged?;
    frames.sort_by_key(|frame| {
        (std::cmp::Reverse(frame.late), frame.from, frame.app.first.0, frame.number)
    });
    Some((frames, judge))
}

fn by_android(trace: &AppTrace<'_>, drawings: &Drawings) -> Option<(Vec<LateFrame>, FrameJudge)> {
    if trace.frames.is_empty() {
        return None;
    }
    // Several windows may show one frame.
    let mut seen: HashMap<(u32, i64), (&Frame, Jank)> = HashMap::new();
    for frame in trace.frames {
        let (known, jank) =
            seen.entry((frame.process, frame.token)).or_insert((frame, Jank::default()));
        *jank = jank.and(frame.jank);
        if frame.to > known.to {
            *known = frame;
        }
    }
    let mut threads: HashMap<(u32, i64), ThreadId> = HashMap::new();
    for (process, drawings) in drawings.all() {
        threads.extend(drawings.iter().map(|drawn| ((process, drawn.number), drawn.thread)));
    }
    let late = seen.iter().filter(|(_, (frame, jank))| jank.is_some() || frame.is_dropped);
    let late = late.map(|(key, (frame, jank))| {
        let first = ThreadId(frame.process);
        let thread = threads.get(key).copied().unwrap_or(first);
        LateFrame {
            number: frame.token,
            from: frame.from,
            late: frame.deadline.map_or(Nanos::ZERO, |deadline| frame.to.since(deadline)),
            reason: jank.to_string(),
            app: AppThread { first, thread, to: frame.to },
        }
    });
    Some((late.collect(), FrameJudge::Android(seen.len())))
}

/// The fewest frames by which a usual distance is estimated.
const FEWEST: usize = 10;
/// The longest distance of frames that follow each other: 24 Hz, with some room.
const LONGEST: Nanos = Nanos::from_millis(45);

fn by_distance(drawings: &Drawings) -> Option<(Vec<LateFrame>, FrameJudge)> {
    let mut frames: Vec<(u32, &Drawn)> = Vec::new();
    let mut distances: Vec<Nanos> = Vec::new();
    for (process, drawings) in drawings.all() {
        let steps = drawings.windows(2).map(|two| two[1].from.since(two[0].from));
        distances.extend(steps.filter(|step| *step <= LONGEST));
        frames.extend(drawings.iter().map(|drawn| (process, drawn)));
    }
    if distances.len() < FEWEST {
        return None;
    }
    distances.sort_unstable();
    let usual = *distances.get(distances.len() / 2)?;
    let late = frames.iter().filter_map(|&(process, drawn)| {
        let length = drawn.to.since(drawn.from);
        (length > usual).then(|| LateFrame {
            number: drawn.number,
            from: drawn.from,
            late: length - usual,
            reason: String::new(),
            app: AppThread { first: ThreadId(process), thread: drawn.thread, to: drawn.to },
        })
    });
    Some((late.collect(), FrameJudge::Distance(usual, frames.len())))
}
