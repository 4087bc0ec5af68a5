//! One thread while its history is built.

use std::collections::BTreeMap;

use unjank_host::Timestamp;
use unjank_host::inode::FileId;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{Comm, LockFlags, PrevState};

use super::life::{Life, Place, Read};
use super::messages::Message;
use super::origin::Origin;
use super::span::State;
use super::wait::{Wait, Wake};

/// A thread at one event.
#[derive(Debug, Default)]
pub(super) struct Thread {
    pub(super) life: Life,
    /// Its present state, and since when; `None` before its first event.
    pub(super) state: Option<(State, Timestamp)>,
    /// The system call, page fault or kernel lock that it is in, if any.
    pub(super) wait: Wait,
    /// When it entered that call or fault, if the trace has it.
    entered: Option<Timestamp>,
    /// The call or fault in which it began to wait for a kernel lock.
    before_lock: Wait,
    /// Whether its call may wait for the end of a thread.
    pub(super) awaits_end: bool,
    /// Since when it has looked for pages to evict, if it does.
    reclaims_since: Option<Timestamp>,
    /// The file whose pages it last added to the page cache in its present call or fault.
    pub(super) reads: Option<FileId>,
    /// A wake-up that came while it was about to fall asleep.
    pub(super) early: Option<Wake>,
    /// The last wake-up by another CPU that found it running, and the CPU of its queue.
    pub(super) unneeded: Option<(Wake, usize)>,
    /// The wake-up that ended its last sleep, if it has received no transaction since then.
    pub(super) woken: Option<Wake>,
    pub(super) exiting: bool,
    /// When it was first seen to run under the id of a thread that had ended.
    pub(super) renamed: Option<Timestamp>,
    inherits: Option<Inherits>,
}

/// Priorities that a thread has inherited and not given back.
#[derive(Debug)]
struct Inherits {
    /// Its own priority.
    own: i32,
    /// The lenders, each with the beginning of its loan.
    from: BTreeMap<ThreadId, Timestamp>,
}

impl Thread {
    /// A thread that runs since a moment.
    pub(super) fn running(life: Life, wait: Wait, cpu: usize, since: Timestamp) -> Self {
        let state = Some((State::Running { cpu }, since));
        Self { life, state, wait, ..Self::default() }
    }

    /// It enters a call or fault at an unknown time, or leaves the kernel ([`Wait::Unknown`]).
    pub(super) fn does(&mut self, wait: Wait) {
        (self.wait, self.awaits_end, self.reads) = (wait, false, None);
        (self.entered, self.reclaims_since) = (None, None);
    }

    /// It enters the kernel at a moment.
    pub(super) fn enters(&mut self, wait: Wait, at: Timestamp) {
        self.does(wait);
        self.entered = Some(at);
    }

    /// Events of it may be missing from the trace: its call is unknown, and whether it still looks
    /// for pages to evict.
    pub(super) fn is_lost_sight_of(&mut self) {
        (self.wait, self.reclaims_since) = (Wait::Unknown, None);
    }

    /// It begins to look for pages to evict.
    pub(super) fn begins_reclaim(&mut self, at: Timestamp) {
        self.reclaims_since = Some(at);
    }

    /// It has evicted pages, or given up.
    pub(super) fn ends_reclaim(&mut self, at: Timestamp) {
        let since = self.reclaims_since.take().filter(|since| *since < at);
        self.life.reclaims.extend(since.map(|since| (since, at)));
    }

    /// It begins to wait for a lock of the kernel.
    pub(super) fn contends(&mut self, lock: u64, flags: LockFlags) {
        if !matches!(self.wait, Wait::KernelLock { .. }) {
            self.before_lock = self.wait;
        }
        self.wait = Wait::KernelLock { lock, flags, call: self.before_lock.call() };
    }

    /// It has the lock `of`, or has given up waiting for it, and continues its call or fault.
    pub(super) fn acquires(&mut self, of: u64) {
        if matches!(self.wait, Wait::KernelLock { lock, .. } if lock == of) {
            self.wait = self.before_lock;
        }
    }

    /// Calls of it may be missing from the trace, so its present one is unknown. A thread that
    /// waits for a kernel lock cannot have made any.
    pub(super) fn may_have_called(&mut self) {
        if !matches!(self.wait, Wait::KernelLock { .. }) {
            self.does(Wait::Unknown);
        }
    }

    /// Its page fault is for a page of a file; the first file that is seen in a fault counts.
    pub(super) fn touches(&mut self, of: FileId) {
        if let Wait::Fault { file: file @ None, .. } = &mut self.wait {
            *file = Some(of);
        }
    }

    /// It adds pages of a file to the page cache. On kernels before 6.11, no other event shows the
    /// file of a page fault.
    pub(super) fn reads(&mut self, of: FileId) {
        self.reads = Some(of);
        self.touches(of);
    }

    /// It reads from storage at a moment, with a request to a `place` or without one. The read
    /// began when it entered its call or fault.
    pub(super) fn is_reading(&mut self, at: Timestamp, place: Option<Place>) {
        let Some(from) = self.entered.filter(|_| !self.wait.is_write()) else { return };
        match self.life.reads.last_mut() {
            Some(read) if read.from == from => (read.to, read.place) = (at, read.place.or(place)),
            _ => self.life.reads.push(Read { from, to: at, place }),
        }
    }

    /// It falls asleep, or is stopped. If it has read from storage since it got its CPU, that read
    /// lasts until now.
    pub(super) fn falls_asleep(&mut self, state: PrevState, at: Timestamp) {
        let since = self.state.map(|(_, since)| since);
        if let Some(read) = self.life.reads.last_mut()
            && self.entered == Some(read.from)
            && since.is_some_and(|since| since <= read.to)
        {
            read.to = at;
        }
        let wait = if state == PrevState::Stopped { Wait::Stopped } else { self.wait };
        self.woken = None;
        self.change(at, State::Asleep { wait, wake: None });
    }

    /// It receives a transaction of binder. If the sender ended its last sleep after it had sent
    /// the transaction, it slept for that.
    pub(super) fn receives(&mut self, message: Message) {
        let is_for_it =
            |wake: &Wake| wake.by == Origin::Thread(message.by) && message.sent <= wake.at;
        self.life.received.extend(self.woken.take().filter(is_for_it).map(|wake| wake.at));
    }

    /// It has not run since a moment. Whether it sleeps or is ready is not known.
    pub(super) fn is_off_cpu(&mut self, since: Timestamp) {
        self.is_lost_sight_of();
        self.woken = None;
        self.change(since, State::Asleep { wait: Wait::Unknown, wake: None });
    }

    /// The CPU of its queue gets a reschedule interrupt for it, so it is in the queue.
    /// `sched_wakeup` comes after that interrupt, which takes microseconds to send in a virtual
    /// machine.
    pub(super) fn is_in_queue(&mut self, cpu: usize, at: Timestamp) {
        if matches!(self.state, Some((State::Woken { cpu: queue }, _)) if queue == cpu) {
            self.change(at, State::Ready { cpu });
        }
    }

    /// It is migrated to another CPU. This matters if it is awake and does not run.
    pub(super) fn moves(&mut self, cpu: usize, at: Timestamp) {
        match self.state {
            Some((State::Woken { .. }, _)) => self.change(at, State::Woken { cpu }),
            Some((State::Ready { .. }, _)) => self.change(at, State::Ready { cpu }),
            _ => {}
        }
    }

    /// It runs, and the trace has no `sched_wakeup`: it counts as ready since `sched_waking`.
    pub(super) fn was_ready(&mut self) {
        if let Some((State::Woken { cpu }, since)) = self.state {
            self.state = Some((State::Ready { cpu }, since));
        }
    }

    pub(super) fn name(&mut self, comm: Comm) {
        if !comm.as_bytes().is_empty() {
            self.life.name = comm;
        }
    }

    /// Ends the present state at `at`.
    pub(super) fn change(&mut self, at: Timestamp, state: State) {
        let since = match self.state.replace((state, at)) {
            Some((before, since)) if since < at => {
                let since = self.life.spans.end().map_or(since, |end| end.max(since));
                if since < at {
                    self.life.spans.push(since, at, &before);
                }
                at
            }
            Some((_, since)) => since.max(at),
            None => at,
        };
        self.state = Some((state, since));
    }

    /// Its priority changes by inheritance (`sched_pi_setprio`). The current thread counts as the
    /// lender, because a loan begins while the waiting thread runs.
    pub(super) fn inherits(&mut self, lender: ThreadId, at: Timestamp, from: i32, to: i32) {
        match &mut self.inherits {
            // The kernel has the event even if the lent priority is no higher.
            None if to <= from => {
                self.inherits = Some(Inherits { own: from, from: [(lender, at)].into() });
            }
            None => {}
            Some(inherits) if to < inherits.own => {
                inherits.from.entry(lender).or_insert(at);
            }
            Some(_) => self.gives_back(at),
        }
    }

    /// It has its own priority again.
    fn gives_back(&mut self, at: Timestamp) {
        for (lender, since) in self.inherits.take().into_iter().flat_map(|it| it.from) {
            self.life.loans.entry(lender).or_default().push((since, at));
        }
    }

    pub(super) fn finish(mut self, end: Timestamp) -> Life {
        // Neither `sched_wakeup` nor its run is in the trace.
        self.was_ready();
        if let Some((state, _)) = self.state {
            self.change(end, state);
        }
        self.gives_back(end);
        self.ends_reclaim(end);
        self.life.spans.shrink();
        self.life
    }
}
