//! Whether a governor looks at its CPUs when its rule says.
//!
//! The rule: at the first call of the scheduler that comes a period or more
//! after the one that asked for the last look. Which of a scheduler's events
//! is a call depends on its own load tracking, which nothing shows: it calls
//! when it is brought up to date and a step of its own is over since the last
//! time. A tick on a busy CPU brings it up to date, so one that comes more than
//! a step after the end of a period calls, if nothing has in between.

use unjank_host::Nanos;

/// A look that does not go by the rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Misfit {
    /// When the kernel asked for it; `None` if it never did.
    pub asked: Option<Nanos>,
    /// When the model would have, at the earliest or at the latest.
    pub due: Nanos,
}

/// What is known of the looks so far.
#[derive(Debug)]
pub(super) struct Rhythm {
    /// By how much a moment may be wrong.
    slack: Nanos,
    /// Whether a look has been seen: the first comes when it comes.
    begun: bool,
    asked: bool,
    /// A call that should have asked.
    missed: Option<Nanos>,
    pub(super) misfits: Vec<Misfit>,
}

/// A step of the scheduler's load tracking, 1 024 × 1 024 ns
/// (`kernel/sched/pelt.c`).
const LOAD_STEP: Nanos = Nanos(1 << 20);

impl Rhythm {
    /// In a kernel with ticks of this length. Moments are known to a tenth of
    /// a tick: the trace names the interrupt or the queued work, and the
    /// kernel reads its clock some way before or behind that.
    pub(super) fn new(tick: Nanos) -> Self {
        let slack = Nanos(tick.0 / 10);
        Self { slack, begun: false, asked: false, missed: None, misfits: Vec::new() }
    }

    /// A tick on a busy CPU, at a moment when a look is due from `due` on.
    pub(super) fn tick(&mut self, now: Nanos, due: Nanos) {
        let waits = self.begun && !self.asked && self.missed.is_none();
        if waits && now >= due + LOAD_STEP + self.slack {
            self.missed = Some(now);
        }
    }

    /// The kernel asks for a look.
    pub(super) fn ask(&mut self, now: Nanos, due: Nanos) {
        let missed = self.missed.take().filter(|missed| now > *missed + self.slack);
        let early = now + self.slack < due;
        if let Some(due) = missed.or(early.then_some(due)).filter(|_| self.begun) {
            self.misfits.push(Misfit { asked: Some(now), due });
        }
        (self.begun, self.asked) = (true, true);
    }

    /// The look has been taken.
    pub(super) fn look(&mut self) {
        self.asked = false;
    }

    /// Nothing more happens.
    pub(super) fn end(&mut self, now: Nanos) {
        if let Some(due) = self.missed.filter(|missed| now > *missed + self.slack) {
            self.misfits.push(Misfit { asked: None, due });
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

    /// Misfits of looks at moments, with ticks on a busy CPU until `end`, at a
    /// period of 98 ms.
    fn misfits(looks: &[u64], end: u64) -> Vec<(Option<u64>, u64)> {
        let mut rhythm = Rhythm::new(TICK);
        let mut due = Nanos(u64::MAX);
        let mut looks = looks.iter().peekable();
        for now in 0..end {
            if now % 4 == 0 {
                rhythm.tick(millis(now), due);
            }
            if looks.next_if_eq(&&now).is_some() {
                rhythm.ask(millis(now), due);
                due = millis(now + 98);
                rhythm.look();
            }
        }
        rhythm.end(millis(end));
        let told = rhythm.misfits.iter();
        told.map(|it| (it.asked.map(|at| at.0 / 1_000_000), it.due.0 / 1_000_000)).collect()
    }

    #[test]
    fn looks_come_at_the_first_call_after_a_period() {
        // 3 + 98 = 101 → the tick at 104, or a switch at 101 or later.
        assert_eq!(misfits(&[3, 104, 204, 302, 400], 490), []);
        assert_eq!(misfits(&[3, 101, 200, 298], 390), []);
    }

    #[test]
    fn a_tick_soon_after_a_period_may_be_none() {
        // 6 + 98 = 104.
        assert_eq!(misfits(&[6, 108, 206], 300), []);
    }

    #[test]
    fn one_that_comes_early_is_told() {
        assert_eq!(misfits(&[3, 99, 200], 290), [(Some(99), 101)]);
    }

    #[test]
    fn one_that_comes_late_or_never_is_told() {
        assert_eq!(misfits(&[3, 108, 206], 300), [(Some(108), 104)]);
        assert_eq!(misfits(&[3, 104], 220), [(None, 204)]);
    }
}
