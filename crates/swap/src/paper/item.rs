//! One value of the paper, and the modelled values of several seeds.

use unjank_measure::Unit;
use unjank_measure::stats::order::quantile_interval;

/// The number of seeds that an interval needs: the interval from the least to the largest of six
/// holds the median with a probability of 1 − 2 · 0.5⁶ = 97 %.
pub const ENOUGH: usize = 6;

/// One value of the paper, and the modelled values.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// The place in the paper: `Fig. 1`, `Section II` …
    pub figure: &'static str,
    /// The name in the record: `fig1/1gib`.
    pub name: &'static str,
    /// A description in a few words, for tables.
    pub what: &'static str,
    /// The unit of the paper's and the modelled values.
    pub unit: Unit,
    /// The range for the paper's value, which is approximate.
    pub paper: [f64; 2],
    /// The paper's own words.
    pub words: &'static str,
    /// The modelled values, ascending.
    pub ours: Vec<f64>,
    /// The number of seeds.
    pub seeds: usize,
    /// Seeds without a value, because it was never reached; they count as larger than all of
    /// `ours`.
    pub never: usize,
}

impl Item {
    /// The median over seeds; `None` if half of them or more have no value.
    pub fn median(&self) -> Option<f64> {
        let n = self.ours.len() + self.never;
        let middle = self.ours.get(n / 2)?;
        Some(if n.is_multiple_of(2) {
            f64::midpoint(self.ours[n / 2 - 1], *middle)
        } else {
            *middle
        })
    }

    /// The 95 % interval of the median, between two of the values: of six the least and the
    /// largest. `None` with too few seeds or with seeds without a value.
    pub fn interval(&self) -> Option<[f64; 2]> {
        if self.seeds < ENOUGH || self.never > 0 {
            return None;
        }
        let ranks = quantile_interval(self.ours.len() as u64, 0.5)?;
        let value = |rank: u64| self.ours.get(usize::try_from(rank).ok()?.checked_sub(1)?);
        Some([*value(ranks[0])?, *value(ranks[1])?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(ours: &[f64]) -> Item {
        Item {
            figure: "Fig. 1",
            name: "x",
            what: "x",
            unit: Unit::Ratio,
            paper: [6.0, 7.0],
            words: "6-7",
            ours: ours.to_vec(),
            seeds: ours.len(),
            never: 0,
        }
    }

    #[test]
    fn an_interval_needs_enough_seeds_that_all_have_a_value() {
        assert_eq!(item(&[6.5; 5]).interval(), None);
        assert_eq!(item(&[5.0, 5.0, 5.0, 6.0, 6.5, 7.0]).interval(), Some([5.0, 7.0]));
        assert_eq!(item(&[1.0, 2.0, 4.0, 9.0]).median(), Some(3.0));
        assert_eq!(item(&[]).median(), None);
        let sometimes = Item { never: 1, ..item(&[6.5; 7]) };
        assert_eq!((sometimes.median(), sometimes.interval()), (Some(6.5), None));
        assert_eq!(Item { never: 8, ..item(&[6.5; 7]) }.median(), None);
    }
}
