//! Detects the end of a launch: its processes are idle.

use std::collections::VecDeque;

use unjank_host::{Nanos, Timestamp};

/// Activity of a launch's processes between two checks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Activity {
    /// CPU time of the processes.
    pub ran: Nanos,
    /// Time for which they were runnable without running.
    pub waited: Nanos,
    /// Page faults that read from storage.
    pub major_faults: u64,
    /// Whether one of them waits for storage or a CPU now.
    pub blocked: bool,
}

/// The rule by which processes count as idle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IdleRule {
    /// How long they must be idle.
    pub window: Nanos,
    /// The largest share of that time for which they may run, or be runnable.
    pub share: f64,
}

/// Detects when a launch is over.
#[derive(Debug, Clone)]
pub struct SettleDetector {
    idle: IdleRule,
    begun: Timestamp,
    steps: VecDeque<(Timestamp, Activity)>,
}

impl SettleDetector {
    /// A launch that began at `begun`.
    pub fn new(idle: IdleRule, begun: Timestamp) -> Self {
        Self { idle, begun, steps: VecDeque::new() }
    }

    /// Adds the activity since the last check. If the launch is over, returns
    /// since when.
    pub fn observe(&mut self, now: Timestamp, step: Activity) -> Option<Timestamp> {
        self.steps.push_back((now, step));
        // The window begins at the last check that is a window back.
        while self.steps.get(1).is_some_and(|(at, _)| now.since(*at) >= self.idle.window) {
            self.steps.pop_front();
        }
        let from = match self.steps.front() {
            Some(&(at, _)) if now.since(at) >= self.idle.window => at,
            _ => return None,
        };
        let inside = || self.steps.iter().skip(1).map(|(_, step)| step);
        let sum = |part: fn(&Activity) -> Nanos| inside().map(part).fold(Nanos::ZERO, |a, b| a + b);
        let most = now.since(from).get() as f64 * self.idle.share;
        let idle = sum(|step| step.ran).get() as f64 <= most
            && sum(|step| step.waited).get() as f64 <= most
            && inside().all(|step| step.major_faults == 0 && !step.blocked);
        idle.then_some(from.max(self.begun))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: IdleRule = IdleRule { window: Nanos::from_millis(50), share: 0.1 };

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    fn ran(millis: u64) -> Activity {
        Activity { ran: Nanos::from_millis(millis), ..Activity::default() }
    }

    /// The check, one every 10 ms, at which it is over, and since when.
    fn over(steps: &[Activity]) -> Option<(u64, Timestamp)> {
        let mut settle = SettleDetector::new(IDLE, at(0));
        let looks = (1..).map(|look| look * 10);
        looks.zip(steps).find_map(|(now, &step)| Some((now, settle.observe(at(now), step)?)))
    }

    #[test]
    fn it_is_over_when_a_whole_window_was_idle() {
        let busy = [ran(10); 20];
        let steps = [&busy[..], &[Activity::default(); 10]].concat();
        // Busy until 200 ms; idle from there to 250 ms.
        assert_eq!(over(&steps), Some((250, at(200))));
        assert_eq!(over(&busy), None);
    }

    #[test]
    fn short_idle_is_no_end_and_little_work_is_idle() {
        let blink = [ran(10), Activity::default(), Activity::default(), ran(10)].repeat(10);
        assert_eq!(over(&blink), None);
        let flicker = [ran(10), ran(1), ran(1), ran(1), ran(1), ran(1)];
        assert_eq!(over(&flicker), Some((60, at(10))));
    }

    #[test]
    fn waiting_for_a_cpu_or_for_storage_is_not_idle() {
        let quiet = Activity::default();
        let waits = Activity { waited: Nanos::from_millis(9), ..quiet };
        let faults = Activity { major_faults: 1, ..quiet };
        let blocked = Activity { blocked: true, ..quiet };
        for busy in [waits, faults, blocked] {
            assert_eq!(over(&[busy; 20]), None, "{busy:?}");
            let steps = [&[busy; 3][..], &[quiet; 6]].concat();
            assert_eq!(over(&steps), Some((80, at(30))), "{busy:?}");
        }
    }
}
