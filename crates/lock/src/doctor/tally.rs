//! From traced system calls to what each thread and each futex did: pure.

use std::collections::{BTreeMap, HashMap};

use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{EventKind, SystemCall, Trace};
use unjank_host::waiting_call::{Ended, WaitingCall};
use unjank_host::{Nanos, Timestamp};
use unjank_measure::Series;

use super::seen::{Calls, Futex, Naps, Waits};

/// Futexes beyond these are counted for their threads only.
const MOST_FUTEXES: usize = 8_192;
/// A poll that finds nothing within this did not wait.
const AT_ONCE: Nanos = Nanos::from_micros(20);
/// A call that may wake so many may wake a crowd.
const CROWD: u32 = 3;

/// What was counted so far.
#[derive(Debug)]
pub(crate) struct Tally {
    /// The length of all windows.
    pub(crate) traced: Nanos,
    threads: HashMap<ThreadId, OfThread>,
    futexes: HashMap<u64, OfFutex>,
    /// How long waits on futexes took that ended with a wake-up.
    pub(crate) waits: Series,
    /// How long naps took.
    pub(crate) naps: Series,
}

#[derive(Debug, Default)]
struct OfThread {
    calls: Calls,
    /// Its system call, as long as that has not ended.
    open: Option<(WaitingCall, Timestamp)>,
    /// The futex on which it was woken last, and when.
    woken: Option<(u64, Timestamp)>,
    /// How often it waited on each futex or woke it.
    uses: HashMap<u64, u64>,
}

#[derive(Debug, Default)]
struct OfFutex {
    /// How often each thread waited on it, and woke it.
    users: BTreeMap<ThreadId, [u64; 2]>,
    waits: Vec<Nanos>,
    crowd: u64,
    /// When a call last set out to wake a crowd.
    called: Option<Timestamp>,
}

/// Waits that are kept of each futex, for their median.
const KEPT: usize = 1_024;

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

    /// Counts what happened in one window. Where the buffer of a CPU has
    /// overflowed, the window begins when all CPUs' events are known.
    pub(crate) fn window(&mut self, trace: &Trace, started: Timestamp, stopped: Timestamp) {
        let gaps = trace.cpus.iter().flat_map(|cpu| &cpu.gaps);
        let known = gaps.filter(|gap| gap.to < stopped).map(|gap| gap.to).max();
        let from = known.map_or(started, |known| known.max(started));
        let events = trace.cpus.iter().flat_map(|cpu| cpu.events_in(from, stopped));
        let call = |kind: &EventKind| match kind {
            EventKind::SystemCall(call) => Some(*call),
            _ => None,
        };
        let mut calls: Vec<_> = events
            .filter_map(|event| Some((event.at, event.current, call(&event.kind)?)))
            .collect();
        calls.sort_by_key(|(at, ..)| *at);
        for (at, thread, call) in calls {
            match call {
                SystemCall::Begins { number, arguments } => {
                    if let Some(call) = WaitingCall::of(number, &arguments) {
                        self.begins(at, thread, call);
                    }
                }
                SystemCall::Ends { result, .. } => self.ends(at, thread, result),
            }
        }
        self.traced = self.traced + stopped.since(from);
        self.close(stopped);
    }

    /// What a thread did, of which so much was traced.
    pub(crate) fn calls_of(&self, thread: ThreadId, watched: Nanos) -> Calls {
        let Some(of) = self.threads.get(&thread) else {
            return Calls { watched, ..Calls::default() };
        };
        let busiest = of.uses.iter().max_by_key(|(address, uses)| (**uses, **address));
        let busiest =
            busiest.and_then(|(address, _)| Some(self.futexes.get(address)?.futex(*address)));
        Calls { watched, busiest, ..of.calls.clone() }
    }

    fn begins(&mut self, at: Timestamp, thread: ThreadId, call: WaitingCall) {
        let of = self.threads.entry(thread).or_default();
        match call {
            WaitingCall::Yield => {
                of.calls.yields += 1;
                return;
            }
            WaitingCall::Sleep | WaitingCall::Poll => {}
            WaitingCall::Wait(address) => {
                if let Some((_, woken)) = of.woken.take_if(|(woken_on, _)| *woken_on == address) {
                    of.calls.waits.for_nothing += u64::from(at.since(woken) <= Waits::AGAIN);
                }
                *of.uses.entry(address).or_default() += 1;
                self.use_futex(address, thread, 0);
            }
            WaitingCall::Wake { address, most } => {
                of.calls.wakes += 1;
                *of.uses.entry(address).or_default() += 1;
                self.use_futex(address, thread, 1);
                if let Some(futex) = self.futexes.get_mut(&address).filter(|_| most >= CROWD) {
                    futex.called = Some(at);
                }
            }
        }
        self.threads.entry(thread).or_default().open = Some((call, at));
    }

    fn ends(&mut self, at: Timestamp, thread: ThreadId, result: i64) {
        let Some(of) = self.threads.get_mut(&thread) else { return };
        // A call that began before the window says nothing of its length.
        let Some((call, begun)) = of.open.take() else { return };
        let took = at.since(begun);
        let Calls { naps, waits, empty_polls, nobody, .. } = &mut of.calls;
        match (call, call.ended(result)) {
            (WaitingCall::Wake { .. }, Ended::Woken) if result == 0 => *nobody += 1,
            (WaitingCall::Wake { address, .. }, Ended::Woken) => {
                if let Some(futex) = self.futexes.get_mut(&address) {
                    futex.crowd = futex.crowd.max(result.unsigned_abs());
                }
            }
            (WaitingCall::Poll, Ended::TimeUp) if took <= AT_ONCE => *empty_polls += 1,
            (_, Ended::TimeUp) if took <= Naps::LONGEST => {
                match call {
                    WaitingCall::Sleep => naps.sleeps += 1,
                    WaitingCall::Poll => naps.polls += 1,
                    _ => naps.waits += 1,
                }
                naps.time = naps.time + took;
                self.naps.record(took);
            }
            (WaitingCall::Wait(address), Ended::Woken) => {
                waits.woken += 1;
                waits.time = waits.time + took;
                self.waits.record(took);
                if let Some(futex) = self.futexes.get_mut(&address) {
                    if futex.waits.len() < KEPT {
                        futex.waits.push(took);
                    }
                    // The waker's own call may end long after the woken run.
                    if futex.called.is_some_and(|called| begun < called) {
                        waits.in_crowds += 1;
                        of.woken = Some((address, at));
                    }
                }
            }
            (WaitingCall::Wait(_), Ended::AtOnce) => waits.changed += 1,
            _ => {}
        }
    }

    /// What has not ended with the window is not seen to end.
    fn close(&mut self, stopped: Timestamp) {
        for of in self.threads.values_mut() {
            if let Some((WaitingCall::Wait(_), begun)) = of.open.take() {
                of.calls.waits.time = of.calls.waits.time + stopped.since(begun);
            }
            of.woken = None;
        }
        for futex in self.futexes.values_mut() {
            futex.called = None;
        }
    }

    fn use_futex(&mut self, address: u64, thread: ThreadId, which: usize) {
        if self.futexes.len() >= MOST_FUTEXES && !self.futexes.contains_key(&address) {
            return;
        }
        self.futexes.entry(address).or_default().users.entry(thread).or_default()[which] += 1;
    }
}

impl OfFutex {
    fn futex(&self, address: u64) -> Futex {
        let both = self.users.values().filter(|[waits, wakes]| *waits > 0 && *wakes > 0);
        let mut waits = self.waits.clone();
        waits.sort_unstable();
        Futex {
            address,
            threads: self.users.len(),
            is_lock: both.count() >= 2,
            wait: waits.get(waits.len() / 2).copied(),
            crowd: self.crowd,
        }
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::tracefs::{CpuTrace, Event, Gap, Lost};

    use super::*;

    /// A trace of one CPU, from lines of a moment in microseconds, a thread and
    /// a call.
    fn trace(lines: &[(u64, u32, SystemCall)]) -> Trace {
        let event = |&(micros, thread, call): &(u64, u32, SystemCall)| Event {
            at: at(micros),
            current: ThreadId(thread),
            kind: EventKind::SystemCall(call),
        };
        let cpu = CpuTrace { events: lines.iter().map(event).collect(), ..CpuTrace::new(0) };
        Trace { cpus: vec![cpu], lost: Lost::default() }
    }

    fn at(micros: u64) -> Timestamp {
        Timestamp::from_nanos(micros * 1_000)
    }

    const FUTEX: i64 = if cfg!(target_arch = "x86_64") { 202 } else { 98 };
    const YIELD: i64 = if cfg!(target_arch = "x86_64") { 24 } else { 124 };
    const SLEEP: i64 = if cfg!(target_arch = "x86_64") { 230 } else { 115 };
    const POLL: i64 = if cfg!(target_arch = "x86_64") { 271 } else { 73 };

    fn begins(number: i64, operation: u64) -> SystemCall {
        SystemCall::Begins { number, arguments: [0x1000, operation, 0, 0, 0, 0] }
    }

    fn wait() -> SystemCall {
        begins(FUTEX, 128)
    }

    fn wake(most: u64) -> SystemCall {
        SystemCall::Begins { number: FUTEX, arguments: [0x1000, 129, most, 0, 0, 0] }
    }

    fn ends(result: i64) -> SystemCall {
        SystemCall::Ends { number: 0, result }
    }

    fn told(lines: &[(u64, u32, SystemCall)]) -> Tally {
        let mut tally = Tally::new();
        tally.window(&trace(lines), at(0), at(25_000));
        tally
    }

    fn calls(tally: &Tally, thread: u32) -> Calls {
        tally.calls_of(ThreadId(thread), tally.traced)
    }

    #[test]
    fn yields_and_naps_are_counted() {
        let tally = told(&[
            (1, 7, begins(YIELD, 0)),
            (2, 7, begins(YIELD, 0)),
            (3, 7, begins(SLEEP, 0)),
            (603, 7, ends(0)),
            (700, 7, begins(POLL, 0)),
            (705, 7, ends(0)),
            (710, 7, begins(POLL, 0)),
            (1_710, 7, ends(0)),
            (1_720, 7, wait()),
            (2_720, 7, ends(-110)),
            (3_000, 7, begins(SLEEP, 0)),
            (9_000, 7, ends(0)),
            (9_001, 7, begins(POLL, 0)),
            (9_009, 7, ends(1)),
            (9_010, 7, begins(SLEEP, 0)),
        ]);
        let calls = calls(&tally, 7);
        assert_eq!((calls.yields, calls.empty_polls), (2, 1));
        let time = Nanos::from_micros(2_600);
        assert_eq!(calls.naps, Naps { sleeps: 1, polls: 1, waits: 1, time });
        assert_eq!(calls.watched, Nanos::from_millis(25));
        assert_eq!(tally.naps.n(), 3);
    }

    #[test]
    fn a_lock_is_waited_on_and_woken_by_the_same_threads() {
        let tally = told(&[
            (1, 7, wait()),
            (2, 8, wake(1)),
            (3, 8, ends(1)),
            (41, 7, ends(0)),
            (50, 7, wake(1)),
            (51, 7, ends(0)),
            (60, 8, wait()),
            (61, 8, ends(-11)),
            (24_000, 9, wait()),
        ]);
        let seven = calls(&tally, 7);
        assert_eq!((seven.wakes, seven.nobody), (1, 1));
        assert_eq!((seven.waits.woken, seven.waits.time), (1, Nanos::from_micros(40)));
        let futex = seven.busiest.unwrap();
        assert_eq!((futex.address, futex.threads, futex.is_lock), (0x1000, 3, true));
        assert_eq!((futex.wait, futex.crowd), (Some(Nanos::from_micros(40)), 1));
        assert_eq!(calls(&tally, 8).waits.changed, 1);
        assert_eq!(calls(&tally, 9).waits.time, Nanos::from_millis(1), "up to the window's end");
        assert_eq!(calls(&tally, 10).busiest, None);
    }

    #[test]
    fn who_is_woken_in_a_crowd_and_sleeps_again_was_woken_for_nothing() {
        let tally = told(&[
            (1, 7, wait()),
            (10, 1, wake(u64::from(u32::MAX >> 1))),
            (20, 7, ends(0)),
            (30, 7, wait()),
            (35, 1, ends(3)),
            (900, 7, ends(0)),
            (910, 7, wait()),
        ]);
        let waits = calls(&tally, 7).waits;
        assert_eq!((waits.woken, waits.in_crowds, waits.for_nothing), (2, 1, 1));
        assert_eq!(calls(&tally, 7).busiest.unwrap().crowd, 3);
        assert!(!calls(&tally, 7).busiest.unwrap().is_lock);
    }

    #[test]
    fn what_was_overwritten_shortens_the_window() {
        let mut trace = trace(&[(1, 7, begins(YIELD, 0)), (20_001, 7, begins(YIELD, 0))]);
        trace.cpus[0].gaps = vec![
            Gap { from: at(0), to: at(20_000) },
            Gap { from: at(25_000), to: Timestamp::from_nanos(u64::MAX) },
        ];
        let mut tally = Tally::new();
        tally.window(&trace, at(0), at(25_000));
        assert_eq!(tally.traced, Nanos::from_millis(5));
        assert_eq!(calls(&tally, 7).yields, 1);
    }

    #[test]
    fn an_end_without_a_begin_says_nothing() {
        let tally = told(&[(1, 7, ends(0)), (2, 7, begins(YIELD, 0)), (3, 7, ends(0))]);
        assert_eq!(calls(&tally, 7).waits, Waits::default());
    }
}
