//! Measures the costs of waiting on this machine: a pause, a yield, and being
//! parked and woken.
//!
//! A fixed number of pauses is right on one machine only: a pause takes 10 to
//! 140 cycles by processor, and a wake-up 2 to 100 µs by kernel, sleep state
//! and hypervisor. [`calibrate`] measures both in about two milliseconds, once
//! for each process; a [`Pool`](crate::Pool) calls it when it is created. The
//! other types never call it, because a lock must not start a thread. They use
//! [`known`], which assumes that parking takes 10 µs, and learns from each thread
//! that a [`Mutex`](crate::Mutex) parks and wakes.

use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::sync::{Arc, Once, mpsc};
use std::{thread, vec::Vec};

use rustix::thread::futex;

use crate::hint::pause;
use crate::mutex::allow_plain_sections;
use crate::rate::learn_rate;
use crate::spin_policy::Expected;
use crate::ticks::Ticks;

/// Costs of waiting, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Costs {
    /// One [`pause`].
    pub pause: Ticks,
    /// One `sched_yield(2)` with nobody to yield to.
    pub yield_now: Ticks,
    /// From a wake-up call until the parked thread runs on another CPU: half of a
    /// round trip.
    pub park: Ticks,
}

impl Costs {
    /// The costs that waits use once these are [set]: `park` is limited to 1 to
    /// 50 µs, so that threads on a loaded machine do not learn to spin for a time
    /// slice. A thread spins for at most `park` before it parks. Only a thread that
    /// has asked the holder of a [`Mutex`](crate::Mutex) how long it is held waits
    /// for the answer, for up to three times `park`.
    #[must_use]
    pub fn believed(self) -> Self {
        let (least, most) = (Ticks::from_nanos(*PARK.start()), Ticks::from_nanos(*PARK.end()));
        Self { park: self.park.clamp(least, most), ..self }
    }
}

/// Assumed until measured, in nanoseconds.
const ASSUMED_PARK: u64 = 10_000;
const ASSUMED_PAUSE: u64 = 20;
const ASSUMED_YIELD: u64 = 500;

/// Limits of the [believed](Costs::believed) cost of parking, in nanoseconds.
const PARK: core::ops::RangeInclusive<u64> = 1_000..=50_000;

/// The time for hand-offs, and the most of them.
const TIME_FOR_PARKS: Duration = Duration::from_micros(1_500);
const PARKS: usize = 100;
/// The longest wait for the two threads that measure parking.
const PATIENCE: Duration = Duration::from_millis(100);
/// Batches of pauses and yields, and operations in each. There are fewer yields,
/// because one takes milliseconds beside programs that compute.
const BATCHES: usize = 9;
const PAUSES: u32 = if cfg!(miri) { 2 } else { 100 };
const YIELDS: u32 = if cfg!(miri) { 2 } else { 10 };
/// No batch begins after this time.
const TIME_FOR_BATCHES: Duration = Duration::from_millis(1);

static CALIBRATED: Once = Once::new();
static PARKING: AtomicU32 = AtomicU32::new(0);
static PAUSING: AtomicU32 = AtomicU32::new(0);
static YIELDING: AtomicU32 = AtomicU32::new(0);

/// The costs known so far; measures nothing.
#[inline]
#[must_use]
pub fn known() -> Costs {
    let or = |ticks: &AtomicU32, nanos| match ticks.load(Ordering::Relaxed) {
        0 => Ticks::from_nanos(nanos),
        known => Ticks(u64::from(known)),
    };
    Costs {
        pause: or(&PAUSING, ASSUMED_PAUSE),
        yield_now: or(&YIELDING, ASSUMED_YIELD),
        park: or(&PARKING, ASSUMED_PARK),
    }
}

/// Measures the costs of waiting when it is first called in a process, in two
/// milliseconds and with two threads. All waits in the process use them from then
/// on.
///
/// It also registers the process with the kernel so that a
/// [`Mutex`](crate::Mutex) can be released with a store
/// (`MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED` of `membarrier(2)`). That takes up
/// to 20 ms more if the process has other threads, so call it before there are any.
pub fn calibrate() -> Costs {
    CALIBRATED.call_once(|| {
        set(measure());
        allow_plain_sections();
    });
    known()
}

/// Makes all waits in this process use these costs, for example those measured
/// earlier on the same machine.
pub fn set(costs: Costs) {
    let costs = costs.believed();
    let store = |to: &AtomicU32, ticks: Ticks| {
        to.store(u32::try_from(ticks.0).unwrap_or(u32::MAX).max(1), Ordering::Relaxed);
    };
    store(&PARKING, costs.park);
    store(&PAUSING, costs.pause);
    store(&YIELDING, costs.yield_now);
}

/// Learns from the wake-up latency of a thread. Latencies above the limit are
/// ignored: the thread had to wait for a CPU.
pub(crate) fn observe(wake_up: Ticks) {
    if wake_up > Ticks::from_nanos(*PARK.end()) {
        return;
    }
    let at_least = Ticks::from_nanos(*PARK.start());
    let mean = Expected(PARKING.load(Ordering::Relaxed)).with(wake_up.max(at_least));
    PARKING.store(mean.0, Ordering::Relaxed);
}

/// Measures now, and changes nothing. If no thread can be started, `park` is what
/// is known so far.
#[must_use]
pub fn measure() -> Costs {
    learn_rate(true);
    Costs {
        pause: batches(PAUSES, pause),
        yield_now: batches(YIELDS, thread::yield_now),
        park: parks().unwrap_or_else(|| known().park),
    }
}

/// Ticks of one operation: the median over batches.
fn batches(operations: u32, operation: impl Fn()) -> Ticks {
    let start = Ticks::now();
    let in_time = |done: &usize| *done == 0 || start.elapsed() < TIME_FOR_BATCHES.into();
    let mut taken: Vec<Ticks> = (0..BATCHES)
        .take_while(in_time)
        .map(|_| {
            let begin = Ticks::now();
            for _ in 0..operations {
                operation();
            }
            begin.elapsed() / u64::from(operations)
        })
        .collect();
    median(&mut taken)
}

fn median(values: &mut [Ticks]) -> Ticks {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// The turn: even is the first thread's, odd the second's.
struct Turn(AtomicU32);

impl Turn {
    const OVER: u32 = u32::MAX;

    fn hand_off(&self, turn: u32) {
        self.0.store(turn, Ordering::Release);
        let _ = futex::wake(&self.0, futex::Flags::PRIVATE, 1);
    }

    /// Parks until it is the turn of `mine`; `None` if the measurement has ended.
    fn await_mine(&self, mine: u32) -> Option<u32> {
        loop {
            let turn = self.0.load(Ordering::Acquire);
            if turn == Self::OVER {
                return None;
            }
            if turn % 2 == mine {
                return Some(turn);
            }
            let _ = futex::wait(&self.0, futex::Flags::PRIVATE, turn, None);
        }
    }
}

/// Half of the median round trip between two threads on a CPU each. `None` if they
/// do not finish in time: real-time threads may keep their CPUs busy for ever.
fn parks() -> Option<Ticks> {
    let turn = Arc::new(Turn(AtomicU32::new(0)));
    let mut cpus = allowed_cpus().into_iter().rev();
    let (theirs, cpu) = (Arc::clone(&turn), cpus.next());
    let partner = start(move || {
        stay_on(cpu);
        while let Some(turn) = theirs.await_mine(1) {
            theirs.hand_off(turn + 1);
        }
    })?;
    let (ours, cpu) = (Arc::clone(&turn), cpus.next());
    let (tell, hear) = mpsc::channel();
    let first = start(move || {
        stay_on(cpu);
        // The receiver is gone if this took too long.
        let _ = tell.send(round_trips(&ours));
    });
    // A thread that could not be started has dropped `tell`.
    let measured = hear.recv_timeout(PATIENCE).ok();
    turn.hand_off(Turn::OVER);
    if measured.is_some() {
        // Both threads end now, and return nothing.
        let _ = (partner.join(), first.map(thread::JoinHandle::join));
    }
    measured
}

fn start(work: impl FnOnce() + Send + 'static) -> Option<thread::JoinHandle<()>> {
    thread::Builder::new().name("calibrate".into()).spawn(work).ok()
}

fn round_trips(turn: &Turn) -> Ticks {
    let begin = Ticks::now();
    let mut trips = Vec::with_capacity(PARKS);
    let mut next = 1;
    while trips.len() < PARKS && begin.elapsed() < TIME_FOR_PARKS.into() {
        let sent = Ticks::now();
        turn.hand_off(next);
        let Some(back) = turn.await_mine(0) else { break };
        trips.push(sent.elapsed() / 2);
        next = back + 1;
    }
    median(&mut trips)
}

fn allowed_cpus() -> Vec<usize> {
    let allowed = rustix::thread::sched_getaffinity(None);
    allowed.map_or_else(
        |_| Vec::new(),
        |set| (0..rustix::thread::CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect(),
    )
}

/// Two threads on one CPU would measure a switch instead of a wake-up.
fn stay_on(cpu: Option<usize>) {
    if let Some(cpu) = cpu {
        let mut set = rustix::thread::CpuSet::new();
        set.set(cpu);
        // If that is not allowed, the thread is measured wherever it runs.
        let _ = rustix::thread::sched_setaffinity(None, &set);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::ticks;

    #[test]
    fn something_is_known_before_and_after() {
        assert!(known().park > Ticks::ZERO);
        let measured = calibrate();
        assert!(measured.pause > Ticks::ZERO);
        assert!(measured.yield_now > Ticks::ZERO);
        assert!(measured.park >= Ticks::from_nanos(*PARK.start()));
        assert!(measured.park <= Ticks::from_nanos(*PARK.end()));
        assert!(ticks::is_rate_known() || cfg!(miri));
        assert_eq!(calibrate(), known());
    }

    #[test]
    fn a_park_is_believed_within_bounds() {
        // From now on the rate of ticks does not change.
        let _costs = calibrate();
        let believed = |nanos| {
            let park = Ticks::from_nanos(nanos);
            Costs { pause: Ticks(1), yield_now: Ticks(2), park }.believed()
        };
        assert_eq!(believed(1_470_000).park, Ticks::from_nanos(50_000));
        assert_eq!(believed(10).park, Ticks::from_nanos(1_000));
        assert_eq!(believed(20_000).park, Ticks::from_nanos(20_000));
        assert_eq!((believed(10).pause, believed(10).yield_now), (Ticks(1), Ticks(2)));
    }

    #[test]
    fn medians() {
        assert_eq!(median(&mut []), Ticks::ZERO);
        assert_eq!(median(&mut [Ticks(3), Ticks(1), Ticks(9)]), Ticks(3));
    }
}
