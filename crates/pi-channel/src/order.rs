//! Which of the waiting lanes is served next.

/// How often a waiting lane is passed over before it goes first, whatever the
/// others say of themselves.
pub(crate) const PATIENCE: u32 = 8;

/// A lane with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// Which lane.
    pub(crate) lane: usize,
    /// What its client says of its priority. It may lie, and every lie is
    /// worth at most [`PATIENCE`] turns of each other lane.
    pub(crate) priority: u32,
    /// How often it was passed over since its request came.
    pub(crate) passed_over: u32,
}

impl Candidate {
    fn rank(&self) -> (bool, u32, u32) {
        let out_of_patience = self.passed_over >= PATIENCE;
        let priority = if out_of_patience { 0 } else { self.priority };
        (out_of_patience, priority, self.passed_over)
    }
}

/// The candidate to serve: one that was passed over too often; or else the
/// highest priority, and of equal ones whoever waits for longest.
pub(crate) fn next(candidates: impl Iterator<Item = Candidate>) -> Option<Candidate> {
    candidates.reduce(|best, other| if other.rank() > best.rank() { other } else { best })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pick(candidates: &[(u32, u32)]) -> Option<usize> {
        let candidates = candidates.iter().enumerate();
        let all = candidates.map(|(lane, &(priority, passed_over))| Candidate {
            lane,
            priority,
            passed_over,
        });
        next(all).map(|candidate| candidate.lane)
    }

    #[test]
    fn the_highest_priority_goes_first() {
        assert_eq!(pick(&[]), None);
        assert_eq!(pick(&[(0, 7), (80, 0), (50, 3)]), Some(1));
    }

    #[test]
    fn equals_take_turns() {
        assert_eq!(pick(&[(5, 0), (5, 2), (5, 1)]), Some(1));
    }

    #[test]
    fn nobody_is_passed_over_for_ever() {
        assert_eq!(pick(&[(u32::MAX, 3), (0, PATIENCE)]), Some(1));
        assert_eq!(pick(&[(99, PATIENCE), (0, PATIENCE + 1)]), Some(1));
    }

    proptest! {
        #[test]
        fn every_lane_is_served_within_its_patience_and_the_queue(
            priorities in prop::collection::vec(any::<u32>(), 1..20)
        ) {
            let mut lanes: Vec<(u32, u32)> = priorities.iter().map(|&p| (p, 0)).collect();
            let bound = PATIENCE + lanes.len() as u32;
            for _ in 0..500 {
                let served = pick(&lanes).unwrap();
                for (lane, (_, passed_over)) in lanes.iter_mut().enumerate() {
                    *passed_over = if lane == served { 0 } else { *passed_over + 1 };
                    prop_assert!(*passed_over <= bound);
                }
            }
        }
    }
}
