//! Compares the cells of one trace and size of memory.

use std::collections::BTreeMap;

use super::cell::Cell;

/// The Pareto front of comparable cells: those that no other beats in both settled storage I/O and
/// writes of the tier, the fewest writes first.
pub fn pareto_front<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> Vec<&'a Cell> {
    unjank_measure::pareto_front(cells, |cell| [cell.tier_writes as f64, cell.settled_ios() as f64])
}

/// The cheapest of comparable cells for each size of the tier, if a write of the tier costs
/// `write_cost` accesses to storage.
pub fn cheapest<'a>(cells: impl IntoIterator<Item = &'a Cell>, write_cost: f64) -> Vec<&'a Cell> {
    let mut of_tiers: BTreeMap<u64, &Cell> = BTreeMap::new();
    for cell in cells {
        let least = of_tiers.entry(cell.combination.tier).or_insert(cell);
        if cell.cost(write_cost) < least.cost(write_cost) {
            *least = cell;
        }
    }
    of_tiers.into_values().collect()
}

/// The policies of comparable cells, the one with the least storage I/O at the largest tier first.
pub fn policies<'a>(cells: &[&'a Cell]) -> Vec<&'a str> {
    let largest = cells.iter().map(|cell| cell.combination.tier).max();
    let mut policies: Vec<&str> = cells.iter().map(|cell| &*cell.combination.policy).collect();
    policies.sort_unstable();
    policies.dedup();
    let ios = |policy: &str| {
        let is = |cell: &&&Cell| {
            cell.combination.policy == policy && Some(cell.combination.tier) == largest
        };
        // An interrupted sweep may lack the cell.
        cells.iter().find(is).map_or(u64::MAX, |cell| cell.settled_ios())
    };
    policies.sort_by_cached_key(|policy| ios(policy));
    policies
}

#[cfg(test)]
mod tests {
    use super::super::cell::tests::cell;
    use super::*;

    #[test]
    fn comparisons_include_what_is_left_dirty() {
        let left = Cell { left_dirty: 30, without_tier: 100, ..cell("b", 1, 60, 5) };
        let cells = [Cell { without_tier: 100, ..cell("a", 1, 80, 5) }, left];
        assert_eq!(policies(&cells.iter().collect::<Vec<_>>()), ["a", "b"]);
        assert_eq!(pareto_front(&cells), [&cells[0]]);
        assert_eq!(cells[1].relative_ios(), Some(0.9));
        assert_eq!(cheapest(&cells, 0.1), [&cells[0]]);
    }
}
