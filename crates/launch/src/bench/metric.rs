//! The values in which launches are compared, and their names.

use unjank_measure::Unit;

use super::launcher::Launch;

/// The last segment of a fact: the smallest difference, as a share of the
/// median, that would have been found four times out of five.
pub(super) const NOISE_FLOOR: &str = "noise_floor";

/// A value in which launches are compared.
pub(super) struct Metric {
    pub(super) name: String,
    /// The beginning of the question; the arms follow.
    pub(super) text: String,
    pub(super) unit: Unit,
    pub(super) value: fn(&Launch) -> Option<f64>,
}

/// `launch/bench/load-200ms/total` as `load 200ms, total`.
pub(super) fn in_words(name: &str) -> String {
    let rest = name.strip_prefix("launch/bench/").unwrap_or(name);
    rest.replacen("load-", "load ", 1).replace('/', ", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_in_words() {
        assert_eq!(in_words("launch/bench/load-200ms/total"), "load 200ms, total");
        assert_eq!(in_words("launch/bench/basic"), "basic");
        assert_eq!(in_words("launch/bench/energy"), "energy");
    }
}
