//! Selects the waiting lane that is served next.

/// A waiting lane that was passed over this often goes first, whatever priorities
/// the other clients claim.
pub(crate) const MOST_PASSED_OVER: u32 = 8;

/// A lane with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// Index of the lane.
    pub(crate) lane: usize,
    /// The priority that its client claims. A false claim delays each other lane
    /// by at most [`MOST_PASSED_OVER`] turns.
    pub(crate) priority: u32,
    /// How often it was passed over since its request.
    pub(crate) passed_over: u32,
}

impl Candidate {
    fn rank(&self) -> (bool, u32, u32) {
        let is_overdue = self.passed_over >= MOST_PASSED_OVER;
        let priority = if is_overdue { 0 } else { self.priority };
        (is_overdue, priority, self.passed_over)
    }
}

/// The candidate to serve: one that was passed over too often, else the highest
/// priority, and among equals the one that was passed over most.
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
    fn no_lane_is_passed_over_for_ever() {
        assert_eq!(pick(&[(u32::MAX, 3), (0, MOST_PASSED_OVER)]), Some(1));
        assert_eq!(pick(&[(99, MOST_PASSED_OVER), (0, MOST_PASSED_OVER + 1)]), Some(1));
    }

    proptest! {
        #[test]
        fn every_lane_is_served_within_a_bound(
            priorities in prop::collection::vec(any::<u32>(), 1..20)
        ) {
            let mut lanes: Vec<(u32, u32)> = priorities.iter().map(|&p| (p, 0)).collect();
            let bound = MOST_PASSED_OVER + lanes.len() as u32;
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
