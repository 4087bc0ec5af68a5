//! The frames that an app draws: `Choreographer#doFrame N` on its first thread, and `DrawFrames N`
//! (`DrawFrame N` before Android 12) of the same number on its render thread.

use std::collections::{BTreeMap, HashMap};

use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::Slice;
use unjank_units::Nanos;

/// A frame from the beginning on the first thread to the end on the render thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Drawn {
    /// The number of the frame, which is the token of `FrameTimeline`.
    pub(super) number: i64,
    pub(super) from: Timestamp,
    /// When `doFrame` ended.
    pub(super) done: Timestamp,
    /// When it was drawn, and by which thread.
    pub(super) to: Timestamp,
    pub(super) thread: ThreadId,
}

const DO_FRAME: &str = "Choreographer#doFrame";
const DRAW_FRAMES: &str = "DrawFrame";

/// The frames of all apps.
#[derive(Debug, Default)]
pub(super) struct Drawings {
    /// By process, in order of their beginnings.
    by_process: BTreeMap<u32, Vec<Drawn>>,
}

impl Drawings {
    pub(super) fn of(slices: &[Slice]) -> Self {
        let mut draws: HashMap<(u32, i64), Vec<&Slice>> = HashMap::new();
        for slice in slices {
            if let Some(number) = number(&slice.name, DRAW_FRAMES) {
                draws.entry((slice.process, number)).or_default().push(slice);
            }
        }
        for draws in draws.values_mut() {
            draws.sort_by_key(|draw| draw.from);
        }
        let mut drawings = Self::default();
        for slice in slices {
            let Some(number) = number(&slice.name, DO_FRAME) else { continue };
            let Some(done) = slice.to else { continue };
            // Numbers of old versions begin anew, so the drawing must be near.
            let Some(draws) = draws.get(&(slice.process, number)) else { continue };
            let next = draws.get(draws.partition_point(|draw| draw.from < slice.from));
            let near = next.filter(|draw| draw.from <= done + LATEST);
            let Some((to, thread)) = near.and_then(|draw| draw.to.zip(draw.thread)) else {
                continue;
            };
            let frame = Drawn { number, from: slice.from, done, to, thread };
            drawings.by_process.entry(slice.process).or_default().push(frame);
        }
        drawings
    }

    /// The frames of a process that begin at a moment or later.
    pub(super) fn since(&self, process: u32, from: Timestamp) -> &[Drawn] {
        let all = self.by_process.get(&process).map_or(&[][..], Vec::as_slice);
        &all[all.partition_point(|drawn| drawn.from < from)..]
    }

    /// The frames of each process.
    pub(super) fn all(&self) -> impl Iterator<Item = (u32, &[Drawn])> {
        self.by_process.iter().map(|(&process, drawings)| (process, drawings.as_slice()))
    }
}

/// A drawing that begins later than this after `doFrame` is that of another frame.
const LATEST: Nanos = Nanos::from_millis(1_000);

/// The number behind a name: `DrawFrames 4711`. Vendors may add more behind it.
fn number(name: &str, begins: &str) -> Option<i64> {
    let rest = name.strip_prefix(begins)?;
    let word = rest.trim_start_matches(|letter: char| !letter.is_whitespace());
    word.split_whitespace().next()?.parse().ok()
}
