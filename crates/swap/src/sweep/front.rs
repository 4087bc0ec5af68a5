//! The Pareto front: cells that no other of the same trace and memory beats in
//! both storage I/O and writes of the tier.

use super::cell::Cell;

/// The front of cells that can be compared: the fewest writes of the tier first.
/// Of equals, the first.
pub fn front<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> Vec<&'a Cell> {
    let mut by_writes: Vec<&Cell> = cells.into_iter().collect();
    by_writes.sort_by_key(|cell| (cell.tier_writes, cell.storage_ios()));
    let mut least = u64::MAX;
    by_writes.retain(|cell| {
        let better = cell.storage_ios() < least;
        least = least.min(cell.storage_ios());
        better
    });
    by_writes
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::super::cell::Place;
    use super::*;

    pub(in crate::sweep) fn cell(policy: &str, tier: u64, ios: u64, writes: u64) -> Cell {
        let place = Place { trace: "t".into(), memory: 0, tier, policy: policy.into() };
        Cell {
            place,
            page_ins: 0,
            page_outs: 0,
            clean_drops: 0,
            storage_reads: ios,
            storage_writes: 0,
            tier_reads: 0,
            tier_writes: writes,
            without_tier: ios,
            over_budget: 0,
            metadata: 0,
            launch_again: None,
        }
    }

    proptest! {
        #[test]
        fn nothing_beats_the_front_and_it_beats_the_rest(
            points in proptest::collection::vec((0_u64..20, 0_u64..20), 1..40)
        ) {
            let cells: Vec<Cell> = points.iter().map(|(x, y)| cell("p", 1, *x, *y)).collect();
            let best = front(&cells);
            for one in &cells {
                let beats = |by: &&&Cell| {
                    by.storage_ios() <= one.storage_ios() && by.tier_writes <= one.tier_writes
                };
                prop_assert!(best.iter().find(beats).is_some());
            }
            for pair in best.windows(2) {
                prop_assert!(pair[0].tier_writes < pair[1].tier_writes);
                prop_assert!(pair[0].storage_ios() > pair[1].storage_ios());
            }
        }
    }
}
