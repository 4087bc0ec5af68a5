//! Checks that a governor evaluates the load at the times that its rule prescribes.
//!
//! The rule: at the scheduler's first call a period or more after the call that
//! requested the last evaluation. Which scheduler events are calls depends on its
//! load tracking, which no trace shows: it calls when it is updated and one of its
//! steps has passed since the last time. A tick on a busy CPU updates it. So a
//! tick more than a step after the end of a period is a call, if none came before.

use unjank_host::Nanos;

/// An evaluation that breaks the rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mistimed {
    /// When the kernel requested it; `None` if it never did.
    pub requested: Option<Nanos>,
    /// When the model would have requested it, at the earliest or at the latest.
    pub due: Nanos,
}

/// Checks the times of evaluations.
#[derive(Debug)]
pub(super) struct EvaluationTiming {
    /// The largest error of an observed time.
    slack: Nanos,
    /// Whether an evaluation was requested yet: the first may come at any time.
    begun: bool,
    requested: bool,
    /// A call that should have requested one.
    missed: Option<Nanos>,
    pub(super) mistimed: Vec<Mistimed>,
}

/// A step of the scheduler's load tracking, 1,024 × 1,024 ns
/// (`kernel/sched/pelt.c`).
const LOAD_STEP: Nanos = Nanos(1 << 20);

impl EvaluationTiming {
    /// For a kernel with ticks of this length. Times are exact to a tenth of a
    /// tick: the trace has the interrupt or the queued work, and the kernel reads
    /// its clock some time before or after it.
    pub(super) fn new(tick: Nanos) -> Self {
        let slack = Nanos(tick.0 / 10);
        Self { slack, begun: false, requested: false, missed: None, mistimed: Vec::new() }
    }

    /// A tick on a busy CPU; an evaluation is due from `due` on.
    pub(super) fn tick(&mut self, now: Nanos, due: Nanos) {
        let waits = self.begun && !self.requested && self.missed.is_none();
        if waits && now >= due + LOAD_STEP + self.slack {
            self.missed = Some(now);
        }
    }

    /// The kernel requests an evaluation.
    pub(super) fn request(&mut self, now: Nanos, due: Nanos) {
        let missed = self.missed.take().filter(|missed| now > *missed + self.slack);
        let early = now + self.slack < due;
        if let Some(due) = missed.or(early.then_some(due)).filter(|_| self.begun) {
            self.mistimed.push(Mistimed { requested: Some(now), due });
        }
        (self.begun, self.requested) = (true, true);
    }

    /// The evaluation is done.
    pub(super) fn done(&mut self) {
        self.requested = false;
    }

    /// The observation ends.
    pub(super) fn end(&mut self, now: Nanos) {
        if let Some(due) = self.missed.filter(|missed| now > *missed + self.slack) {
            self.mistimed.push(Mistimed { requested: None, due });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Nanos = Nanos(4_000_000);

    fn millis(millis: u64) -> Nanos {
        Nanos::from_millis(millis)
    }

    /// Mistimed evaluations, with ticks on a busy CPU until `end`, at a
    /// period of 98 ms.
    fn mistimed(evaluations: &[u64], end: u64) -> Vec<(Option<u64>, u64)> {
        let mut timing = EvaluationTiming::new(TICK);
        let mut due = Nanos(u64::MAX);
        let mut evaluations = evaluations.iter().peekable();
        for now in 0..end {
            if now % 4 == 0 {
                timing.tick(millis(now), due);
            }
            if evaluations.next_if_eq(&&now).is_some() {
                timing.request(millis(now), due);
                due = millis(now + 98);
                timing.done();
            }
        }
        timing.end(millis(end));
        let found = timing.mistimed.iter();
        found.map(|it| (it.requested.map(|at| at.0 / 1_000_000), it.due.0 / 1_000_000)).collect()
    }

    #[test]
    fn evaluations_come_at_the_first_call_after_a_period() {
        // 3 + 98 = 101 → the tick at 104, or a switch at 101 or later.
        assert_eq!(mistimed(&[3, 104, 204, 302, 400], 490), []);
        assert_eq!(mistimed(&[3, 101, 200, 298], 390), []);
    }

    #[test]
    fn a_tick_soon_after_a_period_need_not_be_a_call() {
        // 6 + 98 = 104.
        assert_eq!(mistimed(&[6, 108, 206], 300), []);
    }

    #[test]
    fn an_early_evaluation_is_reported() {
        assert_eq!(mistimed(&[3, 99, 200], 290), [(Some(99), 101)]);
    }

    #[test]
    fn a_late_or_missing_evaluation_is_reported() {
        assert_eq!(mistimed(&[3, 108, 206], 300), [(Some(108), 104)]);
        assert_eq!(mistimed(&[3, 104], 220), [(None, 204)]);
    }
}
