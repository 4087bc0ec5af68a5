//! The timed loop of one measuring thread.

use std::sync::atomic::{AtomicBool, Ordering};

use unjank_host::sched::{Policy, ThreadId};
use unjank_host::{Nanos, Timestamp};
use unjank_measure::Series;

use super::worst::{WakeUp, Worst};

/// Warm-up wake-ups before the first recorded one, for code, stack and timer.
const WARM_UP: u64 = 20;

/// The longest period of the warm-up, whatever the period of the run.
const LONGEST_WARM_UP_PERIOD: Nanos = Nanos::from_millis(10);

/// The longest sleep without a check of the stop flag.
const LONGEST_SLEEP: Nanos = Nanos::from_millis(100);

/// The moments at which a thread is to wake.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schedule {
    /// The first recorded wake-up.
    pub(crate) first: Timestamp,
    /// Time between two wake-ups.
    pub(crate) period: Nanos,
    /// No wake-up is due at or after this moment.
    pub(crate) end: Timestamp,
    /// A wake-up later than this ends the run of all threads.
    pub(crate) break_above: Nanos,
}

/// The measurements of one thread.
#[derive(Debug)]
pub(crate) struct Observed {
    pub(crate) thread: ThreadId,
    pub(crate) series: Series,
    pub(crate) worst: Worst,
    /// The wake-up that was later than `break_above`.
    pub(crate) broke: Option<WakeUp>,
    /// The thread's policy after the guard put the old one back.
    pub(crate) policy_after: Option<Policy>,
}

impl Observed {
    /// No measurement yet, for the calling thread.
    pub(crate) fn new(series: Series) -> Self {
        let thread = ThreadId::current();
        Self { thread, series, worst: Worst::new(), broke: None, policy_after: None }
    }
}

/// Sleeps and records until the schedule ends, a wake-up is too late, or
/// `stop` is set. Allocates nothing. `at_break` runs immediately after a wake-up
/// that is too late.
///
/// `stop` carries no data, so its loads and stores are relaxed.
pub(crate) fn observe(
    schedule: Schedule,
    seen: &mut Observed,
    stop: &AtomicBool,
    at_break: impl FnOnce(WakeUp),
) {
    let mut due = schedule.first;
    while due < schedule.end {
        let asked = || stop.load(Ordering::Relaxed);
        let Some(ran) = due.sleep_until_unless(LONGEST_SLEEP, asked) else { return };
        let wakeup = WakeUp { due, ran };
        let latency = wakeup.latency();
        let missed = schedule.periods_missed(wakeup);
        seen.series.record_at(ran, latency);
        seen.series.miss(missed);
        if latency > schedule.break_above {
            at_break(wakeup);
            seen.broke = Some(wakeup);
            seen.worst.consider(wakeup);
            stop.store(true, Ordering::Relaxed);
            return;
        }
        seen.worst.consider(wakeup);
        due = due + schedule.period.times(missed + 1);
    }
}

/// Length of the warm-up.
pub(crate) fn warm_up_time(period: Nanos) -> Nanos {
    period.min(LONGEST_WARM_UP_PERIOD).times(WARM_UP + 1)
}

/// Wakes a few times before `start` without recording.
pub(crate) fn warm_up(start: Timestamp, period: Nanos) {
    let period = period.min(LONGEST_WARM_UP_PERIOD);
    let before = |periods| {
        let lead = period.times(periods);
        Timestamp::from_nanos(start.as_nanos().saturating_sub(lead.get()))
    };
    for periods in (1..=WARM_UP).rev() {
        before(periods).sleep_until();
    }
}

impl Schedule {
    /// Further periods of the schedule that had passed when the thread ran.
    fn periods_missed(&self, wakeup: WakeUp) -> u64 {
        let period = self.period.get().max(1);
        let left = self.end.since(wakeup.due).get().saturating_sub(1) / period;
        (wakeup.latency().get() / period).min(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen() -> Observed {
        Observed::new(Series::new("test/wakeup"))
    }

    #[test]
    fn each_period_is_either_recorded_or_missed() {
        let first = Timestamp::now() + Nanos::from_millis(2);
        let schedule = Schedule {
            first,
            period: Nanos::from_micros(200),
            end: first + Nanos::from_millis(20),
            break_above: Nanos(u64::MAX),
        };
        let mut seen = seen();
        warm_up(first, schedule.period);
        observe(schedule, &mut seen, &AtomicBool::new(false), |_| {});
        let record = seen.series.finish();
        assert_eq!(record.n + record.missed, 100);
    }

    #[test]
    fn a_schedule_in_the_past_counts_what_it_missed() {
        // All 50 wake-ups were due before the thread could run: one sample, 49 missed.
        let now = Timestamp::now().as_nanos();
        let schedule = Schedule {
            first: Timestamp::from_nanos(now.saturating_sub(50_000_000)),
            period: Nanos::from_millis(1),
            end: Timestamp::from_nanos(now),
            break_above: Nanos(u64::MAX),
        };
        let mut seen = seen();
        observe(schedule, &mut seen, &AtomicBool::new(false), |_| {});
        let record = seen.series.finish();
        assert_eq!((record.n, record.missed), (1, 49));
    }

    #[test]
    fn a_late_wakeup_breaks_the_run_of_all_threads() {
        let first = Timestamp::from_nanos(Timestamp::now().as_nanos() - 10_000_000);
        let schedule = Schedule {
            first,
            period: Nanos::from_millis(1),
            end: first + Nanos::from_millis(1_000),
            break_above: Nanos::from_millis(5),
        };
        let (mut seen, stop) = (seen(), AtomicBool::new(false));
        let mut reported = None;
        observe(schedule, &mut seen, &stop, |wakeup| reported = Some(wakeup));
        assert!(stop.load(Ordering::Relaxed));
        assert_eq!(reported, seen.broke);
        assert_eq!(seen.broke.unwrap().due, first);
        let record = seen.series.finish();
        assert_eq!(record.n, 1);
        assert!(record.missed >= 10, "{}", record.missed);
    }

    #[test]
    fn missed_periods_are_those_that_had_passed() {
        let due = Timestamp::from_nanos(5_000_000);
        let schedule = Schedule {
            first: due,
            period: Nanos::from_millis(1),
            end: due + Nanos::from_millis(70),
            break_above: Nanos(u64::MAX),
        };
        for (latency, missed) in
            [(0, 0), (999_999, 0), (1_000_000, 1), (60_500_000, 60), (500_000_000, 69)]
        {
            let ran = due + Nanos(latency);
            assert_eq!(schedule.periods_missed(WakeUp { due, ran }), missed);
        }
    }

    #[test]
    fn a_request_to_stop_ends_a_long_sleep() {
        let first = Timestamp::now() + Nanos::from_millis(3_600_000);
        let schedule = Schedule {
            first,
            period: Nanos::from_millis(3_600_000),
            end: first + Nanos::from_millis(36_000_000),
            break_above: Nanos(u64::MAX),
        };
        let mut seen = seen();
        observe(schedule, &mut seen, &AtomicBool::new(true), |_| {});
        assert_eq!(seen.series.n(), 0);
        assert!(warm_up_time(schedule.period) < Nanos::from_millis(1_000));
    }
}
