//! The life of one thread: running, ready, asleep.

use std::collections::BTreeMap;

use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::Comm;

use super::wait::{Wait, Wake};

/// A thread, and what it did when.
#[derive(Debug, Clone, Default)]
pub struct Life {
    /// Its last name.
    pub name: Comm,
    /// Its states, without gaps, in order of time.
    pub spans: Vec<Span>,
    /// Its creation, if that is in the trace.
    pub birth: Option<Birth>,
    /// Its end, if that is in the trace.
    pub end: Option<Timestamp>,
    /// The times in which each thread that waited for it lent it its priority,
    /// which need not have been a higher one. They are in order of time.
    pub loans: BTreeMap<ThreadId, Vec<(Timestamp, Timestamp)>>,
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

/// A state and its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Its begin.
    pub from: Timestamp,
    /// Its end.
    pub to: Timestamp,
    /// The state.
    pub state: State,
}

/// What a thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It has a CPU.
    Running {
        /// Which one.
        cpu: usize,
    },
    /// It was woken (`sched_waking`) and is not yet in a run queue (`sched_wakeup`, or
    /// the interrupt of the queue's CPU before that): the waker chooses a CPU, and an
    /// idle one fetches the thread itself.
    Woken {
        /// The CPU, as far as it is chosen.
        cpu: usize,
    },
    /// It could run, and waits in the run queue of a CPU.
    Ready {
        /// Which one.
        cpu: usize,
    },
    /// It sleeps.
    Asleep {
        /// What it sleeps in.
        wait: Wait,
        /// Its end; `None` if the trace does not have it.
        wake: Option<Wake>,
    },
}

impl Life {
    /// Its first moment in the trace.
    pub fn begin(&self) -> Timestamp {
        let first = self.spans.first().map(|span| span.from);
        self.birth.map(|birth| birth.at).or(first).unwrap_or_default()
    }

    /// The span before a moment: the one that the nanosecond before it is in.
    pub fn before(&self, moment: Timestamp) -> Option<&Span> {
        let end = self.spans.partition_point(|span| span.from < moment);
        self.spans.get(end.checked_sub(1)?).filter(|span| span.to >= moment)
    }

    /// Whether `lender` lent it its priority between two moments. It has its own
    /// back just before it wakes the thread that waited for it.
    pub fn inherited_from(&self, lender: ThreadId, begin: Timestamp, end: Timestamp) -> bool {
        let Some(loans) = self.loans.get(&lender) else { return false };
        let first = loans.partition_point(|(_, to)| *to < begin);
        loans.get(first).is_some_and(|(from, _)| *from <= end)
    }
}
