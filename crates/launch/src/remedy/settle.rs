//! When a launch is over: the processes that belong to it have become idle.

use std::collections::VecDeque;

use unjank_host::{Nanos, Timestamp};

/// What the processes of a launch did between two looks at them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Step {
    /// CPU time, of all of them.
    pub ran: Nanos,
    /// Time ready to run and not running.
    pub waited: Nanos,
    /// Pages that had to come from storage.
    pub major_faults: u64,
    /// Whether one of them waits for storage or a CPU now.
    pub blocked: bool,
}

/// When processes count as idle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Idle {
    /// For how long they must be.
    pub window: Nanos,
    /// The largest share of that for which they may run, or be ready to.
    pub share: f64,
}

/// A watch for the moment when a launch is over.
#[derive(Debug, Clone)]
pub struct Settle {
    idle: Idle,
    begun: Timestamp,
    steps: VecDeque<(Timestamp, Step)>,
}

impl Settle {
    /// A launch that began at `begun`.
    pub fn new(idle: Idle, begun: Timestamp) -> Self {
        Self { idle, begun, steps: VecDeque::new() }
    }

    /// Takes what was done since the last look into account. Where the launch
    /// is over, the moment from which on it was.
    pub fn observe(&mut self, now: Timestamp, step: Step) -> Option<Timestamp> {
        self.steps.push_back((now, step));
        // The window reaches from the last look that lies a window back.
        while self.steps.get(1).is_some_and(|(at, _)| now.since(*at) >= self.idle.window) {
            self.steps.pop_front();
        }
        let from = match self.steps.front() {
            Some(&(at, _)) if now.since(at) >= self.idle.window => at,
            _ => return None,
        };
        let inside = || self.steps.iter().skip(1).map(|(_, step)| step);
        let sum = |part: fn(&Step) -> Nanos| inside().map(part).fold(Nanos::ZERO, |a, b| a + b);
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

    const IDLE: Idle = Idle { window: Nanos::from_millis(50), share: 0.1 };

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    fn ran(millis: u64) -> Step {
        Step { ran: Nanos::from_millis(millis), ..Step::default() }
    }

    /// The look at which it is over, looking every 10 ms, and since when.
    fn over(steps: &[Step]) -> Option<(u64, Timestamp)> {
        let mut settle = Settle::new(IDLE, at(0));
        let looks = (1..).map(|look| look * 10);
        looks.zip(steps).find_map(|(now, &step)| Some((now, settle.observe(at(now), step)?)))
    }

    #[test]
    fn it_is_over_when_a_whole_window_was_idle() {
        let busy = [ran(10); 20];
        let steps = [&busy[..], &[Step::default(); 10]].concat();
        // Busy until 200 ms; idle from there to 250 ms.
        assert_eq!(over(&steps), Some((250, at(200))));
        assert_eq!(over(&busy), None);
    }

    #[test]
    fn a_blink_is_no_end_and_a_flicker_of_work_is_none_either() {
        let blink = [ran(10), Step::default(), Step::default(), ran(10)].repeat(10);
        assert_eq!(over(&blink), None);
        let flicker = [ran(10), ran(1), ran(1), ran(1), ran(1), ran(1)];
        assert_eq!(over(&flicker), Some((60, at(10))));
    }

    #[test]
    fn who_waits_for_a_cpu_or_for_storage_is_not_idle() {
        let quiet = Step::default();
        let waits = Step { waited: Nanos::from_millis(9), ..quiet };
        let faults = Step { major_faults: 1, ..quiet };
        let blocked = Step { blocked: true, ..quiet };
        for busy in [waits, faults, blocked] {
            assert_eq!(over(&[busy; 20]), None, "{busy:?}");
            let steps = [&[busy; 3][..], &[quiet; 6]].concat();
            assert_eq!(over(&steps), Some((80, at(30))), "{busy:?}");
        }
    }
}
