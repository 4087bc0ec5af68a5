//! The Pareto front of two values.

/// The items that no other item dominates, if less is better in both values.
/// Sorted by the first value. Of equal items, the first is kept.
pub fn pareto_front<T>(
    all: impl IntoIterator<Item = T>,
    values: impl Fn(&T) -> [f64; 2],
) -> Vec<T> {
    let mut best: Vec<T> = all.into_iter().collect();
    best.sort_by(|one, other| {
        let ([x, y], [other_x, other_y]) = (values(one), values(other));
        x.total_cmp(&other_x).then(y.total_cmp(&other_y))
    });
    let mut least = f64::INFINITY;
    best.retain(|one| {
        let [_, y] = values(one);
        let better = y < least;
        least = least.min(y);
        better
    });
    best
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn of_equals_the_first_is_kept() {
        let all = [("a", 2.0, 1.0), ("b", 1.0, 3.0), ("c", 2.0, 1.0), ("d", 2.0, 4.0)];
        let names: Vec<&str> =
            pareto_front(all, |(_, x, y)| [*x, *y]).iter().map(|(name, ..)| *name).collect();
        assert_eq!(names, ["b", "a"]);
    }

    proptest! {
        #[test]
        fn nothing_beats_the_front_and_it_beats_the_rest(
            points in proptest::collection::vec((0_u8..20, 0_u8..20), 1..40)
        ) {
            let best = pareto_front(&points, |(x, y)| [f64::from(*x), f64::from(*y)]);
            for (x, y) in &points {
                prop_assert!(best.iter().any(|(by_x, by_y)| by_x <= x && by_y <= y));
            }
            for pair in best.windows(2) {
                prop_assert!(pair[0].0 < pair[1].0 && pair[0].1 > pair[1].1);
            }
        }
    }
}
