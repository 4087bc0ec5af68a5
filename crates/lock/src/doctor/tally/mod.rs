//! Counts traced system calls and wake-ups for each thread and each futex: pure.

mod of_futex;

use std::collections::HashMap;

use unjank_host::address_space::FutexId;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{EventKind, SystemCall, Trace};
use unjank_host::waiting_call::{Ended, FutexWord, WaitingCall};
use unjank_host::{Nanos, Timestamp};
use unjank_measure::Series;

use super::observed::{Calls, Naps, Waits};
use of_futex::{OfFutex, Use};

/// How many futexes are tracked; further ones count for their threads only.
const MOST_FUTEXES: usize = 8_192;
/// A poll that finds nothing within this time did not wait.
const AT_ONCE: Nanos = Nanos::from_micros(20);
/// A call that may wake this many threads may wake a crowd.
const CROWD: u32 = 3;

/// The counts so far.
#[derive(Debug)]
pub(crate) struct Tally {
    /// The length of all windows.
    pub(crate) traced: Nanos,
    threads: HashMap<ThreadId, OfThread>,
    futexes: HashMap<FutexId, OfFutex>,
    /// Lengths of futex waits that ended with a wake-up.
    pub(crate) waits: Series,
    /// Lengths of naps.
    pub(crate) naps: Series,
}

/// Identifies the futex of a thread's word.
pub(crate) type Identify<'a> = &'a mut dyn FnMut(ThreadId, FutexWord) -> FutexId;

#[derive(Debug, Default)]
struct OfThread {
    calls: Calls,
    /// Its current system call.
    open: Option<Open>,
    /// The futex on which it was last woken in a crowd, and when.
    woken: Option<(FutexId, Timestamp)>,
    /// Its counts on each futex.
    uses: HashMap<FutexId, Use>,
    /// Number of wake-ups by each other thread.
    wakers: HashMap<ThreadId, u64>,
    /// Whether this window contains a call by it.
    acted: bool,
}

/// A call that has not ended.
#[derive(Debug, Clone, Copy)]
struct Open {
    call: WaitingCall,
    futex: Option<FutexId>,
    since: Timestamp,
    /// Whether the window contains its beginning.
    is_whole: bool,
}

impl Tally {
    pub(crate) fn new() -> Self {
        Self {
            traced: Nanos::ZERO,
            threads: HashMap::new(),
            futexes: HashMap::new(),
            waits: Series::new("lock/doctor/futex_wait"),
            naps: Series::new("lock/doctor/nap"),
        }
    }

    /// Counts one window. If the buffer of a CPU has overflowed, the window begins
    /// when the events of all CPUs are complete.
    pub(crate) fn window(
        &mut self,
        trace: &Trace,
        started: Timestamp,
        stopped: Timestamp,
        identify: Identify<'_>,
    ) {
        let gaps = trace.cpus.iter().flat_map(|cpu| &cpu.gaps);
        let known = gaps.filter(|gap| gap.to < stopped).map(|gap| gap.to).max();
        let from = known.map_or(started, |known| known.max(started));
        let mut events: Vec<_> =
            trace.cpus.iter().flat_map(|cpu| cpu.events_in(from, stopped)).collect();
        events.sort_by_key(|event| event.at);
        for event in events {
            let (at, thread) = (event.at, event.current);
            match event.kind {
                EventKind::SystemCall(SystemCall::Begins { number, arguments }) => {
                    if let Some(call) = WaitingCall::of(number, &arguments) {
                        self.begins(at, thread, call, identify);
                    }
                }
                EventKind::SystemCall(SystemCall::Ends { result, .. }) => {
                    self.ends(at, thread, result);
                }
                EventKind::Waking { task, .. } => self.wakes(from, thread, task.tid),
                _ => {}
            }
        }
        self.traced = self.traced + stopped.since(from);
        self.close(stopped);
    }

    /// The counts of a thread that was traced for `watched`.
    pub(crate) fn calls_of(&self, thread: ThreadId, watched: Nanos) -> Calls {
        let Some(of) = self.threads.get(&thread) else {
            return Calls { watched, ..Calls::default() };
        };
        let futex = |(id, used): (&FutexId, &Use)| Some(self.futexes.get(id)?.futex(*id, used));
        let busiest = of.uses.iter().max_by_key(|(id, used)| (used.all, **id)).and_then(futex);
        let locks = of.uses.iter().filter_map(futex).filter(|it| it.is_lock && it.waits > 0);
        let lock = locks.max_by_key(|it| (it.waited, it.id));
        let is_outside = |(id, _): &(&FutexId, &Use)| {
            let shared = matches!(id, FutexId::Shared { .. });
            shared && self.futexes.get(*id).is_some_and(|it| it.is_woken_from_outside(thread))
        };
        let outside = of.uses.iter().filter(is_outside).filter_map(futex);
        let outside = outside.max_by_key(|it| (it.waited, it.id));
        Calls { watched, busiest, lock, outside, ..of.calls.clone() }
    }

    /// The futexes that are locks, those with the most threads first.
    pub(crate) fn locks(&self) -> Vec<FutexId> {
        let is_lock = |(_, futex): &(&FutexId, &OfFutex)| futex.is_lock();
        let mut locks: Vec<_> = self.futexes.iter().filter(is_lock).collect();
        locks.sort_by_key(|(id, futex)| (std::cmp::Reverse(futex.users.len()), **id));
        locks.into_iter().map(|(id, _)| *id).collect()
    }

    /// How often each other thread woke this one.
    pub(crate) fn wakers(&self, thread: ThreadId) -> HashMap<ThreadId, u64> {
        self.threads.get(&thread).map(|of| of.wakers.clone()).unwrap_or_default()
    }

    fn begins(
        &mut self,
        at: Timestamp,
        thread: ThreadId,
        call: WaitingCall,
        identify: Identify<'_>,
    ) {
        let of = self.threads.entry(thread).or_default();
        of.acted = true;
        let futex = match call {
            WaitingCall::Yield => {
                of.calls.yields += 1;
                return;
            }
            WaitingCall::Sleep | WaitingCall::Poll => None,
            WaitingCall::Wait(word) => {
                let futex = identify(thread, word);
                if let Some((_, woken)) = of.woken.take_if(|(woken_on, _)| *woken_on == futex) {
                    of.calls.waits.for_nothing += u64::from(at.since(woken) <= Waits::AGAIN);
                }
                self.waits_on(thread, futex);
                Some(futex)
            }
            WaitingCall::Wake { word, most } => {
                let id = identify(thread, word);
                of.calls.wakes += 1;
                of.uses.entry(id).or_default().all += 1;
                if let Some(futex) = self.futex(id) {
                    futex.users.entry(thread).or_default().wakes += 1;
                    if most >= CROWD {
                        futex.called = Some(at);
                    }
                }
                Some(id)
            }
        };
        let open = Open { call, futex, since: at, is_whole: true };
        self.threads.entry(thread).or_default().open = Some(open);
    }

    fn ends(&mut self, at: Timestamp, thread: ThreadId, result: i64) {
        let Some(of) = self.threads.get_mut(&thread) else { return };
        // A call that began before the window has no known length.
        let Some(Open { call, futex, since, is_whole }) = of.open.take() else { return };
        let took = at.since(since);
        let mut known = futex.and_then(|id| Some((id, self.futexes.get_mut(&id)?)));
        let Calls { naps, waits, empty_polls, nobody, .. } = &mut of.calls;
        if matches!(call, WaitingCall::Wait(_))
            && let Some(id) = futex
        {
            of.uses.entry(id).or_default().add(took);
        }
        match (call, call.ended(result)) {
            (WaitingCall::Wake { .. }, Ended::Woken) if result == 0 => *nobody += 1,
            (WaitingCall::Wake { .. }, Ended::Woken) => {
                if let Some((_, futex)) = known {
                    futex.crowd = futex.crowd.max(result.unsigned_abs());
                }
            }
            (WaitingCall::Poll, Ended::TimeUp) if took <= AT_ONCE => *empty_polls += 1,
            (_, Ended::TimeUp) if is_whole && took <= Naps::LONGEST => {
                match call {
                    WaitingCall::Sleep => naps.sleeps += 1,
                    WaitingCall::Poll => naps.polls += 1,
                    _ => naps.waits += 1,
                }
                naps.time = naps.time + took;
                self.naps.record(took);
            }
            (WaitingCall::Wait(_), Ended::Woken) => {
                waits.woken += 1;
                waits.time = waits.time + took;
                if is_whole {
                    self.waits.record(took);
                }
                if let Some((id, futex)) = &mut known {
                    futex.waited(took);
                    // The waker's call may return long after the woken threads run.
                    if futex.called.is_some_and(|called| since < called) {
                        waits.in_crowds += 1;
                        of.woken = Some((*id, at));
                    }
                }
            }
            (WaitingCall::Wait(_), Ended::TimeUp) => waits.time = waits.time + took,
            (WaitingCall::Wait(_), Ended::AtOnce) => waits.changed += 1,
            _ => {}
        }
    }

    /// One thread wakes another. If it does so through a futex, the other one waits
    /// there; if the window has no beginning of that wait, it counts from the
    /// beginning of the window.
    fn wakes(&mut self, from: Timestamp, waker: ThreadId, woken: ThreadId) {
        let open = self.threads.get(&waker).and_then(|of| of.open);
        let of = self.threads.entry(woken).or_default();
        *of.wakers.entry(waker).or_default() += 1;
        if of.open.is_some() || of.acted {
            return;
        }
        if let Some(Open { call: WaitingCall::Wake { word, .. }, futex: Some(id), .. }) = open {
            let call = WaitingCall::Wait(word);
            of.open = Some(Open { call, futex: Some(id), since: from, is_whole: false });
            self.waits_on(woken, id);
        }
    }

    /// Ends the window: waits that are still open count up to here.
    fn close(&mut self, stopped: Timestamp) {
        for of in self.threads.values_mut() {
            if let Some(Open { call: WaitingCall::Wait(_), futex, since, .. }) = of.open.take() {
                let waited = stopped.since(since);
                of.calls.waits.time = of.calls.waits.time + waited;
                if let Some(id) = futex {
                    of.uses.entry(id).or_default().add(waited);
                }
            }
            (of.woken, of.acted) = (None, false);
        }
        for futex in self.futexes.values_mut() {
            futex.called = None;
        }
    }

    fn waits_on(&mut self, thread: ThreadId, id: FutexId) {
        let used = self.threads.entry(thread).or_default().uses.entry(id).or_default();
        used.all += 1;
        used.waits += 1;
        if let Some(futex) = self.futex(id) {
            futex.users.entry(thread).or_default().waits += 1;
        }
    }

    /// The entry of a futex; `None` beyond [`MOST_FUTEXES`].
    fn futex(&mut self, id: FutexId) -> Option<&mut OfFutex> {
        let room = self.futexes.len() < MOST_FUTEXES || self.futexes.contains_key(&id);
        room.then(|| self.futexes.entry(id).or_default())
    }
}

#[cfg(test)]
mod tests;
