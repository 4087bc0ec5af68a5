//! Measures two threads that hand a turn to each other.
//!
//! One word holds the turn: even is the first thread's, odd the second's, and each
//! hand-off adds one. It is stored with release order and loaded with acquire
//! order, so a thread sees the stamps that the other wrote before the hand-off.

use std::hint;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;

use unjank_host::clock::thread_cpu_time;
use unjank_host::futex::{Scope, wait, wake};
use unjank_host::sched::AffinityGuard;
use unjank_host::{Error, Nanos, Result, Timestamp};
use unjank_measure::{Monitor, Series};

/// How a thread waits for its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Reads the word, with a pause between two reads.
    Spin,
    /// Reads the word, with `sched_yield(2)` between two reads.
    Yield,
    /// Sleeps on the word until it is woken: `futex(2)`.
    Park,
}

/// Where the two threads run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placement {
    OneCpu,
    TwoCpus,
}

/// What to measure.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Handoff {
    pub(crate) wait: Wait,
    pub(crate) placement: Placement,
    pub(crate) cpus: (usize, usize),
}

impl Handoff {
    pub(crate) fn name(self) -> String {
        format!("{}, {}", self.wait.name(), self.placement.name())
    }
}

impl Wait {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Spin => "spin",
            Self::Yield => "yield",
            Self::Park => "park",
        }
    }
}

impl Placement {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OneCpu => "one-cpu",
            Self::TwoCpus => "two-cpus",
        }
    }
}

/// The result of one hand-off measurement.
pub(crate) struct Measured {
    pub(crate) round_trips: Series,
    /// Times from just before the wake-up call until the second thread runs.
    pub(crate) wake_ups: Series,
    /// CPU time that both threads used, per round trip.
    pub(crate) cpu_time: f64,
}

/// A parked thread wakes after this time to check the end flag, so that it does
/// not wait for ever for a dead partner.
const CHECK_END: Nanos = Nanos::from_millis(100);
/// Round trips that do not count, for at most a quarter of the time: beside
/// programs that compute, each yield takes milliseconds.
const WARM_UP: u32 = 200;
/// Round trips between two checks for a stop request.
const BATCH: u32 = 64;

/// What the two threads share. `sent` and `turn` have their own cache lines:
/// spinning on one must not slow down the stamp in the other.
struct Shared {
    turn: Line<AtomicU32>,
    /// Time of the first thread's hand-off, in nanoseconds.
    sent: Line<AtomicU64>,
    /// Whether round trips count: the warm-up is over.
    counts: AtomicBool,
    over: AtomicBool,
}

#[repr(align(128))]
struct Line<T>(T);

impl Shared {
    /// Waits until the turn is `turn`; false if the measurement has ended.
    #[inline]
    fn await_turn(&self, turn: u32, how: Wait) -> bool {
        let mut polls = 0_u32;
        loop {
            let seen = self.turn.0.load(Ordering::Acquire);
            if seen == turn {
                return true;
            }
            polls = polls.wrapping_add(1);
            // Beside programs that compute, a yield takes milliseconds.
            if (how != Wait::Spin || polls.is_multiple_of(1 << 14))
                && self.over.load(Ordering::Relaxed)
            {
                return false;
            }
            match how {
                Wait::Spin => hint::spin_loop(),
                Wait::Yield => thread::yield_now(),
                Wait::Park => wait(&self.turn.0, seen, Scope::Process, CHECK_END),
            }
        }
    }

    #[inline]
    fn hand_off(&self, turn: u32, how: Wait) {
        self.turn.0.store(turn, Ordering::Release);
        if how == Wait::Park {
            wake(&self.turn.0, 1, Scope::Process);
        }
    }
}

/// Ends the measurement when dropped, however the thread ends.
struct EndsMeasurement<'a>(&'a Shared);

impl Drop for EndsMeasurement<'_> {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::Relaxed);
        wake(&self.0.turn.0, 1, Scope::Process);
    }
}

/// Measures hand-offs for `duration`.
pub(crate) fn measure(
    handoff: Handoff,
    duration: Nanos,
    monitor: &dyn Monitor,
) -> Result<Measured> {
    let shared = Shared {
        turn: Line(AtomicU32::new(0)),
        sent: Line(AtomicU64::new(0)),
        counts: AtomicBool::new(false),
        over: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        let second = thread::Builder::new()
            .name("lock/second".to_owned())
            .spawn_scoped(scope, || second_thread(&shared, handoff))
            .map_err(|error| Error::syscall("clone", "the second thread", error))?;
        let (round_trips, cpu_time) = {
            let _ends = EndsMeasurement(&shared);
            first_thread(&shared, handoff, duration, monitor)?
        };
        let (wake_ups, their_cpu_time) = second
            .join()
            .map_err(|_| Error::Unsupported("the second thread panicked".to_owned()))??;
        let n = round_trips.n().max(1) as f64;
        let cpu_time = (cpu_time + their_cpu_time).get() as f64 / n;
        Ok(Measured { round_trips, wake_ups, cpu_time })
    })
}

fn first_thread(
    shared: &Shared,
    handoff: Handoff,
    duration: Nanos,
    monitor: &dyn Monitor,
) -> Result<(Series, Nanos)> {
    let _pinned = AffinityGuard::pin_to(handoff.cpus.0)?;
    let mut turn = 0_u32;
    // None if the other thread has ended.
    let mut round_trip = || {
        let before = Timestamp::now();
        shared.sent.0.store(before.as_nanos(), Ordering::Relaxed);
        shared.hand_off(turn.wrapping_add(1), handoff.wait);
        turn = turn.wrapping_add(2);
        shared.await_turn(turn, handoff.wait).then(|| (before, Timestamp::now()))
    };
    let warm = Timestamp::now() + Nanos(duration.get() / 4);
    for _ in 0..WARM_UP {
        let is_warm = round_trip().is_none_or(|(_, after)| after >= warm);
        if is_warm {
            break;
        }
    }
    // The other thread sees this with the next turn.
    shared.counts.store(true, Ordering::Relaxed);
    let start = Timestamp::now();
    let end = start + duration;
    let cpu_before = thread_cpu_time();
    let name = format!("lock/{}/round_trip", handoff.wait.name());
    let mut series = Series::new(name).with_course(start, duration);
    // At least one, so that there is something to report.
    'measuring: loop {
        for _ in 0..BATCH {
            let Some((before, after)) = round_trip() else { break 'measuring };
            series.record_at(after, after.since(before));
            if after >= end {
                break 'measuring;
            }
        }
        if monitor.stop_requested() {
            break;
        }
    }
    Ok((series, thread_cpu_time() - cpu_before))
}

fn second_thread(shared: &Shared, handoff: Handoff) -> Result<(Series, Nanos)> {
    let _ends = EndsMeasurement(shared);
    let _pinned = AffinityGuard::pin_to(handoff.cpus.1)?;
    let mut wake_ups = Series::new("lock/park_wake");
    let mut turn = 1_u32;
    let mut cpu_before = thread_cpu_time();
    while shared.await_turn(turn, handoff.wait) {
        let now = Timestamp::now();
        let sent = Timestamp::from_nanos(shared.sent.0.load(Ordering::Relaxed));
        let counts = shared.counts.load(Ordering::Relaxed);
        shared.hand_off(turn.wrapping_add(1), handoff.wait);
        turn = turn.wrapping_add(2);
        if counts {
            wake_ups.record(now.since(sent));
        } else {
            cpu_before = thread_cpu_time();
        }
    }
    Ok((wake_ups, thread_cpu_time() - cpu_before))
}

#[cfg(test)]
mod tests {
    use unjank_host::sched::CpuSet;
    use unjank_measure::Silent;

    use super::*;

    #[test]
    fn turns_go_back_and_forth() {
        let cpu = CpuSet::allowed().unwrap().iter().next().unwrap();
        for wait in [Wait::Yield, Wait::Park] {
            let handoff = Handoff { wait, placement: Placement::OneCpu, cpus: (cpu, cpu) };
            let measured = measure(handoff, Nanos::from_millis(20), &Silent).unwrap();
            assert!(measured.round_trips.n() > 0);
            assert_eq!(measured.round_trips.n(), measured.wake_ups.n());
        }
    }

    #[test]
    fn a_cpu_that_is_not_there_ends_both_threads() {
        let cpu = CpuSet::allowed().unwrap().iter().next().unwrap();
        for cpus in [(1023, cpu), (cpu, 1023)] {
            for wait in [Wait::Spin, Wait::Park] {
                let handoff = Handoff { wait, placement: Placement::TwoCpus, cpus };
                assert!(measure(handoff, Nanos::from_millis(20), &Silent).is_err());
            }
        }
    }

    #[test]
    fn the_shortest_run_has_samples() {
        let cpu = CpuSet::allowed().unwrap().iter().next().unwrap();
        let placement = Placement::OneCpu;
        let handoff = Handoff { wait: Wait::Park, placement, cpus: (cpu, cpu) };
        assert!(measure(handoff, Nanos(1), &Silent).unwrap().round_trips.n() > 0);
    }
}
