//! Two threads that hand a turn to each other.
//!
//! One word holds whose turn it is: even is the first thread's, odd the
//! second's, and each hand-off adds one. It is stored with release order and
//! loaded with acquire order, so that what one thread stamped before a
//! hand-off is seen by the other after it.

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

/// What was seen.
pub(crate) struct Measured {
    pub(crate) round_trips: Series,
    /// From just before the wake-up call until the second thread runs.
    pub(crate) wake_ups: Series,
    /// CPU time that both threads used, per round trip.
    pub(crate) cpu_time: f64,
}

/// A turn that takes longer than this is looked at for the stop flag, so a
/// thread whose partner has died does not wait for ever.
const PATIENCE: Nanos = Nanos::from_millis(100);
/// Round trips before the first that counts, as far as a quarter of the time
/// has room for them: beside programs that compute, each yield takes
/// milliseconds.
const WARM_UP: u32 = 200;
/// Round trips between two looks at the stop request.
const BATCH: u32 = 64;

/// What the two threads share. `sent` and `turn` are on lines of their own by
/// alignment: spinning on one must not slow the stamp in the other.
struct Table {
    turn: Line<AtomicU32>,
    /// When the first thread handed over, in nanoseconds.
    sent: Line<AtomicU64>,
    /// Whether round trips count by now.
    counts: AtomicBool,
    over: AtomicBool,
}

#[repr(align(128))]
struct Line<T>(T);

impl Table {
    /// Waits until the turn is `turn`; false when the game is over.
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
                Wait::Park => wait(&self.turn.0, seen, Scope::Process, PATIENCE),
            }
        }
    }

    #[inline]
    fn hand_over(&self, turn: u32, how: Wait) {
        self.turn.0.store(turn, Ordering::Release);
        if how == Wait::Park {
            wake(&self.turn.0, 1, Scope::Process);
        }
    }
}

/// Ends the game when a thread leaves, however it leaves.
struct EndsGame<'a>(&'a Table);

impl Drop for EndsGame<'_> {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::Relaxed);
        wake(&self.0.turn.0, 1, Scope::Process);
    }
}

/// Hands turns over for `duration`.
pub(crate) fn measure(
    handoff: Handoff,
    duration: Nanos,
    monitor: &dyn Monitor,
) -> Result<Measured> {
    let table = Table {
        turn: Line(AtomicU32::new(0)),
        sent: Line(AtomicU64::new(0)),
        counts: AtomicBool::new(false),
        over: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        let second = thread::Builder::new()
            .name("lock/second".to_owned())
            .spawn_scoped(scope, || second_thread(&table, handoff))
            .map_err(|error| Error::syscall("clone", "the second thread", error))?;
        let (round_trips, cpu_time) = {
            let _ends = EndsGame(&table);
            first_thread(&table, handoff, duration, monitor)?
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
    table: &Table,
    handoff: Handoff,
    duration: Nanos,
    monitor: &dyn Monitor,
) -> Result<(Series, Nanos)> {
    let _pinned = AffinityGuard::pin_to(handoff.cpus.0)?;
    let mut turn = 0_u32;
    // None when the other thread has left.
    let mut round_trip = || {
        let before = Timestamp::now();
        table.sent.0.store(before.as_nanos(), Ordering::Relaxed);
        table.hand_over(turn.wrapping_add(1), handoff.wait);
        turn = turn.wrapping_add(2);
        table.await_turn(turn, handoff.wait).then(|| (before, Timestamp::now()))
    };
    let warm = Timestamp::now() + Nanos(duration.get() / 4);
    for _ in 0..WARM_UP {
        let is_warm = round_trip().is_none_or(|(_, after)| after >= warm);
        if is_warm {
            break;
        }
    }
    // Seen by the other thread with the next turn.
    table.counts.store(true, Ordering::Relaxed);
    let start = Timestamp::now();
    let end = start + duration;
    let cpu_before = thread_cpu_time();
    let name = format!("lock/{}/round_trip", handoff.wait.name());
    let mut series = Series::new(name).with_course(start, duration);
    // At least one, so that there is something to report.
    'game: loop {
        for _ in 0..BATCH {
            let Some((before, after)) = round_trip() else { break 'game };
            series.record_at(after, after.since(before));
            if after >= end {
                break 'game;
            }
        }
        if monitor.stop_requested() {
            break;
        }
    }
    Ok((series, thread_cpu_time() - cpu_before))
}

fn second_thread(table: &Table, handoff: Handoff) -> Result<(Series, Nanos)> {
    let _ends = EndsGame(table);
    let _pinned = AffinityGuard::pin_to(handoff.cpus.1)?;
    let mut wake_ups = Series::new("lock/park_wake");
    let mut turn = 1_u32;
    let mut cpu_before = thread_cpu_time();
    while table.await_turn(turn, handoff.wait) {
        let now = Timestamp::now();
        let sent = Timestamp::from_nanos(table.sent.0.load(Ordering::Relaxed));
        let counts = table.counts.load(Ordering::Relaxed);
        table.hand_over(turn.wrapping_add(1), handoff.wait);
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
