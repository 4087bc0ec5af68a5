//! For each point, the greatest key of the ranges that contain it (the stabbing-max problem).
//!
//! Another user may write a table in which millions of ranges contain every point. A range takes
//! time and memory in proportion to the logarithm of the number of points, however many of them it
//! contains.

use std::ops::Range;

/// The greatest keys of the ranges so far: a segment tree, whose leaves are the points. A range is
/// noted at the few nodes that make it up, and not at each point.
#[derive(Debug)]
pub(super) struct StabbingMax<'a, K> {
    points: &'a [u64],
    /// Node `n` has the children `2n` and `2n + 1`; the last `points.len()` nodes are the leaves.
    nodes: Vec<Option<K>>,
}

impl<'a, K: Copy + Ord> StabbingMax<'a, K> {
    /// No ranges. `points` are sorted.
    pub(super) fn of(points: &'a [u64]) -> Self {
        Self { points, nodes: vec![None; 2 * points.len()] }
    }

    /// Adds a range, and returns the number of nodes at which it was noted.
    pub(super) fn add(&mut self, range: &Range<u64>, key: K) -> usize {
        let leaf = |at: u64| self.points.partition_point(|point| *point < at) + self.points.len();
        let (mut from, mut to) = (leaf(range.start), leaf(range.end));
        let mut noted = 0;
        let mut note = |node: usize| {
            self.nodes[node] = self.nodes[node].max(Some(key));
            noted += 1;
        };
        while from < to {
            if from % 2 == 1 {
                note(from);
                from += 1;
            }
            if to % 2 == 1 {
                to -= 1;
                note(to);
            }
            from /= 2;
            to /= 2;
        }
        noted
    }

    /// The points that are in a range, and the greatest key of each.
    pub(super) fn greatest(&self) -> impl Iterator<Item = (u64, K)> {
        let leaves = self.points.iter().zip(self.points.len()..);
        leaves.filter_map(|(&point, leaf)| {
            let above = std::iter::successors(Some(leaf), |node| Some(node / 2));
            let nodes = above.take_while(|node| *node > 0);
            Some((point, nodes.filter_map(|node| self.nodes[node]).max()?))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_range_of_all_points_is_noted_at_few_nodes() {
        for count in [0, 1, 1_000, 100_000] {
            let points: Vec<u64> = (0..count).collect();
            let mut ranges = StabbingMax::of(&points);
            let noted = ranges.add(&(0..u64::MAX), 7);
            assert!(noted <= 2 * 17, "{noted}");
            assert_eq!(ranges.greatest().filter(|(_, key)| *key == 7).count() as u64, count);
        }
    }

    proptest::proptest! {
        #[test]
        fn the_greatest_key_counts(
            points in proptest::collection::btree_set(0_u64..60, 0..40),
            ranges in proptest::collection::vec((0_u64..60, 0_u64..60, 0_u8..9), 0..20),
        ) {
            let points: Vec<u64> = points.into_iter().collect();
            let mut added = StabbingMax::of(&points);
            let mut expected: BTreeMap<u64, u8> = BTreeMap::new();
            for (start, end, key) in ranges {
                added.add(&(start..end), key);
                for point in points.iter().filter(|point| (start..end).contains(point)) {
                    let best = expected.entry(*point).or_default();
                    *best = key.max(*best);
                }
            }
            proptest::prop_assert_eq!(added.greatest().collect::<BTreeMap<_, _>>(), expected);
        }
    }
}
