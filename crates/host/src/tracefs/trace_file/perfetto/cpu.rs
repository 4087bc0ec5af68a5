//! The events of one CPU while they are read.

use super::compact::Compact;
use super::events::Begin;
use crate::clock::Timestamp;
use crate::sched::ThreadId;
use crate::tracefs::event::{Context, Event, EventKind, PrevState, Task};
use crate::tracefs::name::Comm;
use crate::tracefs::trace::{CpuTrace, Gap};

/// The events of one CPU while they are read.
#[derive(Debug)]
pub(super) struct CpuReading {
    pub(super) trace: CpuTrace,
    /// The thread that the last switch has chosen.
    runs: Option<Task>,
    /// Since when that is not known.
    unknown_since: Timestamp,
    /// Whether events were lost since the last one that was read.
    loses: bool,
    /// The moment from which its data is valid, if the trace has it.
    pub(super) valid_from: Option<Timestamp>,
    /// Compact events before its first switch, whose thread is not known.
    pub(super) skipped: u64,
}

/// The idle task of a CPU.
const IDLE: ThreadId = ThreadId(0);
/// The kernel's priority of nice value 0.
const NICE_0: i32 = 120;

impl CpuReading {
    pub(super) fn new(cpu: usize) -> Self {
        let (runs, valid_from) = (None, None);
        let unknown_since = Timestamp::default();
        let trace = CpuTrace::new(cpu);
        Self { trace, runs, unknown_since, loses: false, valid_from, skipped: 0 }
    }

    /// Adds an event of a bundle.
    pub(super) fn push(&mut self, begin: &Begin<'_>, kind: EventKind) {
        if let EventKind::Switch { next, .. } = kind {
            self.runs = Some(next);
        }
        let &Begin { at, current, context, .. } = begin;
        self.trace.events.push(Event { at, current, context, kind });
    }

    /// Adds a compact event.
    pub(super) fn push_compact(&mut self, compact: &Compact) {
        let at = compact.at();
        let Some(runs) = self.runs else {
            if let Compact::Switch { next, .. } = *compact {
                // Nothing is known before it.
                let from = self.unknown_since.min(at);
                self.trace.gaps.push(Gap { from, to: at });
                if from == Timestamp::default() && !self.loses {
                    self.trace.switches_from = Some(self.valid_from.unwrap_or_default());
                }
                self.runs = Some(next);
                let prev = Task { tid: IDLE, comm: Comm::default(), prio: NICE_0 };
                self.switch(at, prev, PrevState::Runnable, next);
            } else {
                self.skipped += 1;
            }
            return;
        };
        match *compact {
            Compact::Switch { prev_state, next, .. } => {
                self.runs = Some(next);
                self.switch(at, runs, prev_state, next);
            }
            Compact::Waking { context, task, cpu, .. } => {
                let kind = EventKind::Waking { task, cpu };
                self.trace.events.push(Event { at, current: runs.tid, context, kind });
            }
        }
    }

    fn switch(&mut self, at: Timestamp, prev: Task, prev_state: PrevState, next: Task) {
        let kind = EventKind::Switch { prev, prev_state, next };
        let (current, context) = (prev.tid, Context::Thread);
        self.trace.events.push(Event { at, current, context, kind });
    }

    /// Events were lost behind the last one that was read: the thread that runs is not known.
    pub(super) fn lose(&mut self) {
        self.loses = true;
        self.runs = None;
        self.unknown_since = self.trace.events.last_at().unwrap_or_default();
    }

    /// Ends a bundle whose events follow the `before` first ones, of which the last was at `last`:
    /// if events were lost before it, they are missing between the two.
    pub(super) fn end_bundle(&mut self, last: Option<Timestamp>, before: usize) {
        // Its columns are not in order with its other events.
        self.trace.events.sort_from(before);
        let first = self.trace.events.range(before..self.trace.events.len()).next_at();
        if let Some(to) = first.filter(|_| self.loses) {
            let from = last.unwrap_or_default().min(to);
            self.trace.gaps.push(Gap { from, to });
            self.loses = false;
        }
    }
}
