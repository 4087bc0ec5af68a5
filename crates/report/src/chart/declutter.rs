//! Places labels without overlap.

/// Moves labels apart: as near as possible to the `wanted` positions, with at least
/// `gap` between neighbours, inside `low`..`high` if they fit. Labels keep their
/// order.
///
/// Labels that would overlap form a block, placed where its members' displacements
/// cancel. Blocks that then touch merge (pool adjacent violators).
pub(crate) fn spread(wanted: &[f64], gap: f64, low: f64, high: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));

    let mut blocks: Vec<Block> = Vec::new();
    for index in &order {
        let mut block = Block { count: 1, sum: wanted[*index] };
        while let Some(above) = blocks.last() {
            if above.last(gap, low, high) + gap <= block.first(gap, low, high) {
                break;
            }
            block = above.join(&block, gap);
            blocks.pop();
        }
        blocks.push(block);
    }

    let mut places = vec![0.0; wanted.len()];
    let mut labels = order.into_iter();
    for block in &blocks {
        for step in 0..block.count {
            if let Some(index) = labels.next() {
                places[index] = block.first(gap, low, high) + step as f64 * gap;
            }
        }
    }
    places
}

/// Labels in a row, `gap` apart.
struct Block {
    count: usize,
    /// The sum of the positions that each member wants for the first member.
    sum: f64,
}

impl Block {
    fn first(&self, gap: f64, low: f64, high: f64) -> f64 {
        let length = (self.count - 1) as f64 * gap;
        (self.sum / self.count as f64).min(high - length).max(low)
    }

    fn last(&self, gap: f64, low: f64, high: f64) -> f64 {
        self.first(gap, low, high) + (self.count - 1) as f64 * gap
    }

    /// This block and the next one as one.
    fn join(&self, next: &Self, gap: f64) -> Self {
        let shift = self.count as f64 * gap * next.count as f64;
        Self { count: self.count + next.count, sum: self.sum + next.sum - shift }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn labels_with_room_stay_where_they_are() {
        assert_eq!(spread(&[50.0, 10.0, 30.0], 12.0, 0.0, 100.0), [50.0, 10.0, 30.0]);
    }

    #[test]
    fn labels_on_one_spot_spread_evenly_around_it() {
        assert_eq!(spread(&[50.0, 50.0, 50.0], 10.0, 0.0, 100.0), [40.0, 50.0, 60.0]);
    }

    #[test]
    fn the_edge_pushes_back() {
        assert_eq!(spread(&[99.0, 100.0], 10.0, 0.0, 100.0), [90.0, 100.0]);
        assert_eq!(spread(&[1.0, 0.0], 10.0, 0.0, 100.0), [10.0, 0.0]);
    }

    proptest! {
        #[test]
        fn no_two_labels_overlap(wanted in prop::collection::vec(0.0..300.0_f64, 0..12)) {
            let places = spread(&wanted, 14.0, 0.0, 300.0);
            let mut sorted = places.clone();
            sorted.sort_by(f64::total_cmp);
            prop_assert!(sorted.windows(2).all(|pair| pair[1] - pair[0] > 13.999), "{sorted:?}");
            prop_assert!(places.iter().all(|place| (-1e-9..=300.0 + 1e-9).contains(place)));
        }
    }
}
