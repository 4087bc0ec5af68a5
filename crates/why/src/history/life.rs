//! The life of one thread: running, ready, asleep.

use std::collections::BTreeMap;

use unjank_host::Timestamp;
use unjank_host::block_device::DeviceNumber;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::Comm;
use unjank_units::Nanos;

use super::span::Span;
use super::spans::Spans;

/// The states of a thread over time, with its creation and its end.
#[derive(Debug, Clone, Default)]
pub struct Life {
    /// The last name that the trace has for it.
    pub name: Comm,
    /// Its states, without gaps, in order of time.
    pub spans: Spans,
    /// Its creation, if that is in the trace.
    pub birth: Option<Birth>,
    /// Its end, if that is in the trace.
    pub end: Option<Timestamp>,
    /// The times in which other threads waited for it and lent it their priority, by lender and in
    /// order of time. A lent priority is not always higher than the thread's own.
    pub loans: BTreeMap<ThreadId, Vec<(Timestamp, Timestamp)>>,
    /// Its reads from storage, in order of time and without overlap.
    pub reads: Vec<Read>,
    /// The times in which it looked for pages to evict, because it needed memory. In order of time
    /// and without overlap; waits included.
    pub reclaims: Vec<(Timestamp, Timestamp)>,
    /// The wake-ups by the senders of binder transactions that it received before it slept again,
    /// in order of time.
    pub received: Vec<Timestamp>,
    /// Its calls that wake waiters of a futex, as the release of a lock does: when, and the futex's
    /// address. In order of time.
    pub futex_wakes: Vec<(Timestamp, u64)>,
}

/// A time in which a thread read from storage, waits included: it added pages of files to the page
/// cache, or issued requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Read {
    /// When its system call or page fault began.
    pub from: Timestamp,
    /// When it added or requested the last pages, or when it fell asleep after that.
    pub to: Timestamp,
    /// Where its first request began, if it issued one.
    pub place: Option<Place>,
}

/// A sector of 512 bytes on a device.
pub type Place = (DeviceNumber, u64);

/// The creation of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Birth {
    /// When its parent called `clone`. For a thread that took over the id of its process's first
    /// thread in `exec`: when it did.
    pub at: Timestamp,
    /// The thread that called `clone`. After such an `exec`: the thread's own former id.
    pub parent: ThreadId,
    /// Whether both are of one process.
    pub same_process: bool,
    /// The first thread of the process, as far as the trace has the births in between.
    pub first: ThreadId,
}

impl Life {
    /// Its birth, or else the beginning of its first span; 0 if the trace has neither.
    pub fn begin(&self) -> Timestamp {
        self.birth.map(|birth| birth.at).or(self.spans.begin()).unwrap_or_default()
    }

    /// The span that contains the nanosecond before a moment.
    pub fn before(&self, moment: Timestamp) -> Option<Span> {
        let begun = self.spans.begun_before(moment);
        self.spans.get(begun.checked_sub(1)?).filter(|span| span.to >= moment)
    }

    /// How long it read data into memory between two moments, in reads that `counts`.
    pub fn reads_in(
        &self,
        begin: Timestamp,
        end: Timestamp,
        counts: impl Fn(&Read) -> bool,
    ) -> Nanos {
        let first = self.reads.partition_point(|read| read.to <= begin);
        let reads = self.reads[first..].iter().take_while(|read| read.from < end);
        let parts = reads
            .filter(|read| counts(read))
            .map(|read| read.to.min(end).since(read.from.max(begin)));
        parts.fold(Nanos::ZERO, |sum, part| sum + part)
    }

    /// The parts of [`reclaims`](Self::reclaims) between two moments.
    pub fn reclaims_in(
        &self,
        begin: Timestamp,
        end: Timestamp,
    ) -> impl DoubleEndedIterator<Item = (Timestamp, Timestamp)> + '_ {
        let first = self.reclaims.partition_point(|(_, to)| *to <= begin);
        let last = self.reclaims.partition_point(|(from, _)| *from < end).max(first);
        self.reclaims[first..last].iter().map(move |&(from, to)| (from.max(begin), to.min(end)))
    }

    /// Whether the wake-up at this moment was for a binder transaction, which it received.
    pub fn received_at(&self, wake: Timestamp) -> bool {
        self.received.binary_search(&wake).is_ok()
    }

    /// Whether `lender` lent it its priority between two moments. A loan ends just before the
    /// borrower wakes the lender.
    pub fn inherited_from(&self, lender: ThreadId, begin: Timestamp, end: Timestamp) -> bool {
        let Some(loans) = self.loans.get(&lender) else { return false };
        let first = loans.partition_point(|(_, to)| *to < begin);
        loans.get(first).is_some_and(|(from, _)| *from <= end)
    }
}
