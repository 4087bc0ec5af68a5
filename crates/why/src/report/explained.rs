//! One launch: its window, history, path and split.

use std::collections::BTreeMap;

use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{EventKind, StorageEvent, Trace};
use unjank_units::Nanos;

use crate::history::History;
use crate::path::{Path, critical_path};
use crate::split::{HighestClocks, Split};

/// The window of a launch: from the first exec of its process to `ready`, or to
/// the end of its first thread if that came before.
pub fn window(
    trace: &Trace,
    process: ThreadId,
    began: Timestamp,
    ready: Timestamp,
) -> (Timestamp, Timestamp) {
    let events = || trace.cpus.iter().flat_map(|cpu| &cpu.events);
    let executed = events().filter_map(|event| match event.kind {
        EventKind::Storage(StorageEvent::Executed { process: of, .. }) if of == process => {
            Some(event.at)
        }
        _ => None,
    });
    let ended = events().find_map(|event| match event.kind {
        EventKind::Storage(StorageEvent::Ended { thread, .. }) if thread == process => {
            Some(event.at)
        }
        _ => None,
    });
    let from = executed.min().unwrap_or(began);
    (from, ended.map_or(ready, |ended| ended.min(ready)).max(from))
}

/// The clock frequencies of the machine in kHz, by CPU; empty if it does not
/// report them.
#[derive(Debug, Clone, Default)]
pub struct Clocks {
    /// The highest possible ones.
    pub highest: HighestClocks,
    /// Those at the start of the recording.
    pub at_start: BTreeMap<usize, u64>,
}

/// One launch, and why it took so long.
#[derive(Debug)]
pub struct Explained {
    /// The thread whose progress is explained.
    pub thread: ThreadId,
    /// The window.
    pub from: Timestamp,
    /// Its end.
    pub to: Timestamp,
    pub(super) trace: Trace,
    pub(super) history: History,
    pub(super) path: Path,
    pub(super) split: Split,
    pub(super) highest: HighestClocks,
}

impl Explained {
    /// Explains what `thread` did in a window.
    pub fn new(
        trace: Trace,
        thread: ThreadId,
        (from, to): (Timestamp, Timestamp),
        clocks: Clocks,
    ) -> Self {
        let mut history = History::of(&trace);
        history.begin_with_clocks(&clocks.at_start);
        let highest = clocks.highest;
        let path = critical_path(&history, thread, from, to);
        let split = Split::of(&path, &history, &highest);
        Self { thread, from, to, trace, history, path, split, highest }
    }

    /// The length of the window.
    pub fn total(&self) -> Nanos {
        self.to.since(self.from)
    }

    /// Its time by cause.
    pub fn split(&self) -> &Split {
        &self.split
    }

    /// Its critical path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
