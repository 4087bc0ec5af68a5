//! The events of a recording about memory, by thread and by file.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use unjank_host::inode::FileId;
use unjank_host::input::{Stop, Stopped};
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{Comm, Event, EventKind, Gaps, StorageEvent, Task, Trace, in_order};
use unjank_host::{Nanos, Timestamp};

use super::options::Options;

/// A time in which a thread looked for pages to evict.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stall {
    pub(super) thread: ThreadId,
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
}

impl Stall {
    pub(super) fn length(&self) -> Nanos {
        self.to.since(self.from)
    }
}

/// Pages that entered the page cache for a thread.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub(super) pages: u64,
    pub(super) files: BTreeSet<FileId>,
}

/// What a recording has about memory.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// In order of their ends.
    pub(super) stalls: Vec<Stall>,
    /// Stalls that were left out, because events of that time may be missing.
    pub(super) in_gaps: u64,
    /// The times in which each thread of kswapd had a CPU.
    pub(super) kswapd: BTreeMap<ThreadId, Vec<Nanos>>,
    /// The pages of each file that entered the page cache, by thread.
    pub(super) files: BTreeMap<FileId, BTreeMap<ThreadId, u64>>,
    /// The same by thread.
    pub(super) readers: BTreeMap<ThreadId, Read>,
    /// Page faults in user space, and faults on pages of files that were not mapped.
    pub(super) faults: u64,
    /// Pages that reclaim wrote.
    pub(super) written: u64,
}

impl Memory {
    pub(super) fn of(trace: &Trace, options: &Options, stop: &Stop) -> Result<Self, Stopped> {
        let gaps = Gaps::of(trace);
        let mut found = Self::default();
        let mut begun: HashMap<ThreadId, Timestamp> = HashMap::new();
        let mut runs: HashMap<ThreadId, Timestamp> = HashMap::new();
        for (_, event) in in_order(&trace.cpus) {
            if stop.is_requested() {
                return Err(Stopped);
            }
            let Event { at, current, kind, .. } = event;
            match kind {
                EventKind::ReclaimBegins => {
                    begun.insert(current, at);
                }
                EventKind::ReclaimEnds => {
                    let Some(from) = begun.remove(&current) else { continue };
                    let stall = Stall { thread: current, from, to: at };
                    let counts = options.counts(current, from, at);
                    if counts && gaps.overlap(from, at) {
                        found.in_gaps += 1;
                    } else if counts {
                        found.stalls.push(stall);
                    }
                }
                EventKind::Switch { prev, next, .. } => {
                    if is_kswapd(prev)
                        && let Some(from) = runs.remove(&prev.tid)
                        && let Some(time) = options.within(from, at)
                    {
                        found.kswapd.entry(prev.tid).or_default().push(time);
                    }
                    if is_kswapd(next) {
                        runs.insert(next.tid, at);
                    }
                }
                _ if options.counts(current, at, at) => found.count(current, kind),
                _ => {}
            }
        }
        Ok(found)
    }

    fn count(&mut self, current: ThreadId, kind: EventKind) {
        match kind {
            EventKind::PageFault { .. } | EventKind::Storage(StorageEvent::Touched(_)) => {
                self.faults += 1;
            }
            EventKind::Storage(StorageEvent::Reclaimed { .. }) => self.written += 1,
            EventKind::Storage(StorageEvent::Cached(pages)) => {
                let number = 1_u64.checked_shl(pages.order.into()).unwrap_or(1);
                let file = pages.file();
                *self.files.entry(file).or_default().entry(current).or_default() += number;
                let read = self.readers.entry(current).or_default();
                read.pages += number;
                read.files.insert(file);
            }
            _ => {}
        }
    }

    /// Whether the recording has nothing about memory.
    pub(super) fn is_empty(&self) -> bool {
        self.stalls.is_empty()
            && self.in_gaps == 0
            && self.kswapd.is_empty()
            && self.files.is_empty()
            && self.faults == 0
            && self.written == 0
    }
}

impl Options {
    fn counts(&self, thread: ThreadId, from: Timestamp, to: Timestamp) -> bool {
        from >= self.window.0
            && to <= self.window.1
            && self.only.as_ref().is_none_or(|only| only.contains(&thread))
    }

    /// The part of a time that is in the window.
    fn within(&self, from: Timestamp, to: Timestamp) -> Option<Nanos> {
        let (from, to) = (from.max(self.window.0), to.min(self.window.1));
        (from < to).then(|| to.since(from))
    }
}

/// Whether it is a thread that evicts pages in the background, one for each node of memory.
fn is_kswapd(task: Task) -> bool {
    let name: Comm = task.comm;
    let node = name.as_bytes().strip_prefix(b"kswapd");
    node.is_some_and(|node| !node.is_empty() && node.iter().all(u8::is_ascii_digit))
}
