//! Dividing a number of samples.

/// Divides `wanted` in proportion to `weights`; the sum of all parts so far is never further than
/// one from its due.
pub(super) fn divide(wanted: u64, weights: impl Iterator<Item = u64> + Clone) -> Vec<u64> {
    let all: u128 = weights.clone().map(u128::from).sum();
    let mut sum = 0_u128;
    let mut given = 0_u128;
    weights
        .map(|weight| {
            sum += u128::from(weight);
            let due = (u128::from(wanted) * sum).checked_div(all).unwrap_or(0);
            let part = due - given;
            given = due;
            u64::try_from(part).unwrap_or(u64::MAX)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn all_of_it_is_divided(wanted in 0_u64..10_000, weights in proptest::collection::vec(0_u64..1000, 1..50)) {
            let parts = divide(wanted, weights.iter().copied());
            let sum: u64 = weights.iter().sum();
            proptest::prop_assert_eq!(parts.iter().sum::<u64>(), if sum == 0 { 0 } else { wanted });
            for (part, weight) in parts.iter().zip(&weights) {
                let exact = wanted as f64 * *weight as f64 / sum.max(1) as f64;
                proptest::prop_assert!((*part as f64 - exact).abs() < 1.0 + 1e-9);
            }
        }
    }
}
