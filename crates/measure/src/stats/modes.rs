//! Bimodal measurements: starts whose medians cluster at two values.
//!
//! The placement of threads is often fixed for the length of a start. The same
//! measurement then has one of two values: 20 µs or 41 µs to wake a parked
//! thread, for instance. An interval over both is wide, and its middle
//! describes neither.

/// The starts that cluster at one value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mode {
    /// Median of these starts.
    pub value: f64,
    /// The number of starts.
    pub starts: usize,
}

/// The fewest starts that are split into modes.
const FEWEST: usize = 6;

/// The least ratio between the two values.
const APART: f64 = 1.25;

/// The gap between the modes must exceed the whole range of either mode by this
/// factor, on a logarithmic scale.
const WIDER: f64 = 2.0;

/// The two values at which the `medians` of starts cluster, lower one first;
/// `None` if they do not. Each has at least two starts.
pub fn of(medians: &[f64]) -> Option<[Mode; 2]> {
    let mut logarithms: Vec<f64> =
        medians.iter().filter(|&&it| it > 0.0).map(|it| it.ln()).collect();
    logarithms.sort_by(f64::total_cmp);
    let count = logarithms.len();
    if count < FEWEST {
        return None;
    }
    let gap = |at: usize| logarithms[at] - logarithms[at - 1];
    let at = (2..=count - 2).max_by(|&a, &b| gap(a).total_cmp(&gap(b)))?;
    let (low, high) = logarithms.split_at(at);
    let range = |side: &[f64]| side[side.len() - 1] - side[0];
    let stands_out = gap(at) >= APART.ln() && gap(at) >= WIDER * range(low).max(range(high));
    let mode = |side: &[f64]| Mode {
        value: f64::midpoint(side[(side.len() - 1) / 2], side[side.len() / 2]).exp(),
        starts: side.len(),
    };
    stands_out.then(|| [mode(low), mode(high)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_placements_are_two_modes() {
        let [low, high] = of(&[20.4, 41.2, 20.1, 19.8, 41.5, 41.0, 20.3, 20.2]).unwrap();
        assert_eq!((low.starts, high.starts), (5, 3));
        assert!((low.value - 20.2).abs() < 1e-9 && (high.value - 41.2).abs() < 1e-9);
    }

    #[test]
    fn a_spread_a_drift_and_one_odd_start_are_not() {
        assert_eq!(of(&[20.0, 22.0, 24.0, 27.0, 30.0, 33.0, 36.0, 40.0]), None);
        assert_eq!(of(&[20.0, 20.1, 20.2, 20.3, 20.1, 20.0, 20.2, 90.0]), None);
        assert_eq!(of(&[20.0, 20.0, 20.0, 41.0, 41.0]), None, "too few");
        assert_eq!(of(&[0.0; 12]), None);
        assert_eq!(of(&[100.0, 100.1, 100.2, 101.0, 101.1, 101.2]), None, "hardly apart");
    }
}
