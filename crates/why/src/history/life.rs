//! The life of one thread: running, ready, asleep.

use std::collections::BTreeMap;

use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::Comm;
use unjank_units::Nanos;

use super::span::Span;
use super::spans::Spans;

/// A thread, and what it did when.
#[derive(Debug, Clone, Default)]
pub struct Life {
    /// Its last name.
    pub name: Comm,
    /// Its states, without gaps, in order of time.
    pub spans: Spans,
    /// Its creation, if that is in the trace.
    pub birth: Option<Birth>,
    /// Its end, if that is in the trace.
    pub end: Option<Timestamp>,
    /// The times in which each thread that waited for it lent it its priority,
    /// which need not have been a higher one. They are in order of time.
    pub loans: BTreeMap<ThreadId, Vec<(Timestamp, Timestamp)>>,
    /// The times in which it made room for pages of files and asked for them, waits
    /// included: each from the beginning of a system call or page fault on. They are in
    /// order of time and do not overlap.
    pub reads: Vec<(Timestamp, Timestamp)>,
}

/// The creation of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Birth {
    /// When its parent called `clone`; of a first thread whose id another
    /// thread of its process took over in `exec`: when that did.
    pub at: Timestamp,
    /// The thread that did, by its former id.
    pub parent: ThreadId,
    /// Whether both are of one process.
    pub same_process: bool,
}

impl Life {
    /// Its first moment in the trace.
    pub fn begin(&self) -> Timestamp {
        self.birth.map(|birth| birth.at).or(self.spans.begin()).unwrap_or_default()
    }

    /// The span before a moment: the one that the nanosecond before it is in.
    pub fn before(&self, moment: Timestamp) -> Option<Span> {
        let begun = self.spans.begun_before(moment);
        self.spans.get(begun.checked_sub(1)?).filter(|span| span.to >= moment)
    }

    /// How long it read files into memory between two moments.
    pub fn reads_in(&self, begin: Timestamp, end: Timestamp) -> Nanos {
        let first = self.reads.partition_point(|(_, to)| *to <= begin);
        let reads = self.reads[first..].iter().take_while(|(from, _)| *from < end);
        let parts = reads.map(|&(from, to)| to.min(end).since(from.max(begin)));
        parts.fold(Nanos::ZERO, |sum, part| sum + part)
    }

    /// Whether `lender` lent it its priority between two moments. It has its own
    /// back just before it wakes the thread that waited for it.
    pub fn inherited_from(&self, lender: ThreadId, begin: Timestamp, end: Timestamp) -> bool {
        let Some(loans) = self.loans.get(&lender) else { return false };
        let first = loans.partition_point(|(_, to)| *to < begin);
        loans.get(first).is_some_and(|(from, _)| *from <= end)
    }
}
