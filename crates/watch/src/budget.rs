//! How many incidents are explained: a program that marks all the time, or a machine that is always
//! under pressure, must not cost more than a limit.

use unjank_host::Timestamp;
use unjank_units::Nanos;

use crate::trigger::TriggerKind;

/// The shortest time between two incidents. Less would be about the same events.
const APART: Nanos = Nanos::from_millis(1_000);
/// The time in which a trigger of the same kind, other than a mark, is about the same incident.
const SAME: Nanos = Nanos::from_millis(30_000);
/// An hour.
const HOUR: Nanos = Nanos::from_millis(3_600_000);

/// Decides which triggers are explained.
#[derive(Debug)]
pub struct Budget {
    per_hour: u32,
    /// When incidents were explained, within the last hour.
    explained: Vec<(Timestamp, TriggerKind)>,
    /// Triggers that were left out.
    left_out: u64,
}

impl Budget {
    /// Explains at most `per_hour` incidents in an hour.
    pub fn new(per_hour: u32) -> Self {
        Self { per_hour, explained: Vec::new(), left_out: 0 }
    }

    /// Whether a trigger is explained; if so, it counts.
    pub fn admits(&mut self, kind: TriggerKind, now: Timestamp) -> bool {
        self.explained.retain(|(at, _)| now.since(*at) < HOUR);
        let too_soon = self.explained.last().is_some_and(|(at, _)| now.since(*at) < APART);
        let same = self
            .explained
            .iter()
            .rev()
            .any(|(at, of)| kind != TriggerKind::Mark && *of == kind && now.since(*at) < SAME);
        if too_soon || same || self.explained.len() >= self.per_hour as usize {
            self.left_out = self.left_out.saturating_add(1);
            return false;
        }
        self.explained.push((now, kind));
        true
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
        let mut budget = Budget::new(5);
        let admitted = (0..100_000).filter(|n| budget.admits(TriggerKind::Mark, at(n * 10)));
        assert_eq!(admitted.count(), 5);
        assert_eq!(budget.left_out(), 99_995);
        assert!(budget.admits(TriggerKind::Mark, at(3_600_001)), "the first is an hour old");
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
