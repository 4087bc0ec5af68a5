//! How many incidents are explained: a program that marks all the time, or a machine that is always
//! under pressure, must not cost more than a limit.

use unjank_host::Timestamp;
use unjank_units::Nanos;

use crate::trigger::TriggerKind;

/// The shortest time between two incidents. Less would be about the same events.
const APART: Nanos = Nanos::from_millis(1_000);
/// Within this time, a second trigger of a kind belongs to the same incident, except for marks and
/// launches.
const SAME: Nanos = Nanos::from_millis(30_000);
/// An hour.
const HOUR: Nanos = Nanos::from_millis(3_600_000);

/// A trigger that was looked into.
#[derive(Debug, Clone, Copy)]
struct Admitted {
    at: Timestamp,
    kind: TriggerKind,
    /// Whether it counts towards the limit.
    counts: bool,
}

/// Decides which triggers are explained.
#[derive(Debug)]
pub struct Budget {
    per_hour: u32,
    /// Triggers that were looked into within the last hour.
    explained: Vec<Admitted>,
    /// Triggers that were left out.
    left_out: u64,
}

impl Budget {
    /// Explains at most `per_hour` incidents in an hour: half of them for marks, which any user can
    /// make, and half for all other triggers; at least one of each.
    pub fn new(per_hour: u32) -> Self {
        Self { per_hour, explained: Vec::new(), left_out: 0 }
    }

    /// Whether a trigger is explained; if so, it counts.
    pub fn admits(&mut self, kind: TriggerKind, now: Timestamp) -> bool {
        self.explained.retain(|it| now.since(it.at) < HOUR);
        let is_mark = kind == TriggerKind::Mark;
        let too_soon = self.explained.last().is_some_and(|it| now.since(it.at) < APART);
        let mut latest = self.explained.iter().rev();
        let is_single = is_mark || kind == TriggerKind::Launch;
        let same = latest.any(|it| !is_single && it.kind == kind && now.since(it.at) < SAME);
        let counting = self.explained.iter().filter(|it| it.counts);
        let alike = counting.filter(|it| (it.kind == TriggerKind::Mark) == is_mark).count();
        let is_full = alike >= self.per_hour.div_ceil(2) as usize;
        if too_soon || same || is_full {
            self.left_out = self.left_out.saturating_add(1);
            return false;
        }
        self.explained.push(Admitted { at: now, kind, counts: true });
        true
    }

    /// Tells that nothing was found about the admitted trigger. It does not count then, unless it
    /// was a mark, of which anybody can make many.
    pub fn found_nothing(&mut self) {
        if let Some(last) = self.explained.last_mut() {
            last.counts = last.kind == TriggerKind::Mark;
        }
    }

    /// Triggers that were left out so far.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn a_program_that_marks_all_the_time_gets_an_hour_s_share() {
        let mut budget = Budget::new(10);
        let admitted = (0..100_000).filter(|n| budget.admits(TriggerKind::Mark, at(n * 10)));
        assert_eq!(admitted.count(), 5);
        assert_eq!(budget.left_out(), 99_995);
        assert!(budget.admits(TriggerKind::Mark, at(3_600_001)), "the first is an hour old");
    }

    #[test]
    fn half_of_the_budget_is_for_marks_and_half_for_others() {
        let mut budget = Budget::new(4);
        let admits =
            |budget: &mut Budget, kind, minute: u64| budget.admits(kind, at(minute * 60_000));
        for minute in 0..5 {
            assert!(admits(&mut budget, TriggerKind::Io, minute));
            budget.found_nothing();
        }
        let admitted = (5..15).filter(|minute| admits(&mut budget, TriggerKind::Io, *minute));
        assert_eq!(admitted.count(), 2);
        let admitted = (15..25).filter(|minute| admits(&mut budget, TriggerKind::Mark, *minute));
        assert_eq!(admitted.count(), 2);
    }

    #[test]
    fn lasting_pressure_is_one_incident_and_a_mark_is_another() {
        let mut budget = Budget::new(100);
        assert!(budget.admits(TriggerKind::Io, at(0)));
        assert!(!budget.admits(TriggerKind::Io, at(10_000)));
        assert!(budget.admits(TriggerKind::Mark, at(11_000)));
        assert!(!budget.admits(TriggerKind::Cpu, at(11_500)), "too soon");
        assert!(budget.admits(TriggerKind::Cpu, at(12_500)));
        assert!(budget.admits(TriggerKind::Io, at(31_000)));
    }
}
