//! Exact quantiles of times that are all kept.

use unjank_host::Nanos;

use super::order;
use crate::record::{Cell, Number};

/// Times in ascending order. Unlike a histogram, a few of them take little memory, so there can be
/// thousands of such distributions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExactTimes(Vec<Nanos>);

impl ExactTimes {
    /// The number of times.
    pub fn n(&self) -> u64 {
        self.0.len() as u64
    }

    /// The longest time; zero if there is none.
    pub fn longest(&self) -> Nanos {
        self.0.last().copied().unwrap_or(Nanos::ZERO)
    }

    /// The sum.
    pub fn total(&self) -> Nanos {
        self.0.iter().fold(Nanos::ZERO, |sum, time| sum + *time)
    }

    /// The number of times that are longer than `limit`.
    pub fn longer_than(&self, limit: Nanos) -> u64 {
        (self.0.len() - self.0.partition_point(|time| *time <= limit)) as u64
    }

    /// The smallest time that at least the share `q` of all times does not exceed, with its 95 %
    /// interval if there are enough of them; `None` if there are too few to distinguish it from the
    /// longest.
    pub fn quantile(&self, q: f64) -> Option<(Nanos, Option<[Nanos; 2]>)> {
        let n = self.0.len();
        // A hair less than 1: 1 − 0.9 is not exact.
        if n as f64 * (1.0 - q) <= 0.999 {
            return None;
        }
        let at = |rank: u64| self.0[(rank as usize).clamp(1, n) - 1];
        let rank = order::rank(n as f64, q) as u64;
        let interval = order::quantile_interval(n as u64, q).map(|ends| ends.map(at));
        Some((at(rank), interval))
    }

    /// A quantile in nanoseconds as the cell of a table, with its interval; empty if there are too
    /// few times.
    pub fn quantile_cell(&self, q: f64) -> Cell {
        Cell::maybe(self.quantile(q).map(|(value, interval)| {
            let interval = interval.map(|ends| ends.map(|end| end.get() as f64));
            Number::new(value.get() as f64).within(interval)
        }))
    }
}

impl FromIterator<Nanos> for ExactTimes {
    fn from_iter<T: IntoIterator<Item = Nanos>>(times: T) -> Self {
        let mut times: Vec<Nanos> = times.into_iter().collect();
        times.sort_unstable();
        Self(times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_samples_by_rank() {
        let times: ExactTimes = (1..=1_000).rev().map(Nanos).collect();
        assert_eq!(
            (times.n(), times.longest(), times.total()),
            (1_000, Nanos(1_000), Nanos(500_500))
        );
        let interval = |q| times.quantile(q).unwrap().1.map(|ends| ends.map(Nanos::get));
        assert_eq!(times.quantile(0.5).unwrap().0, Nanos(500));
        assert_eq!(times.quantile(0.99).unwrap().0, Nanos(990));
        assert!(interval(0.5).is_some_and(|[low, high]| low < 500 && 500 < high));
        assert_eq!(times.quantile(0.999).map(|(value, _)| value), Some(Nanos(999)));
        assert_eq!(times.quantile(0.9999), None, "the longest");
        assert_eq!((times.longer_than(Nanos(990)), times.longer_than(Nanos::ZERO)), (10, 1_000));
    }

    #[test]
    fn few_times_have_no_tail() {
        let times: ExactTimes = [30, 10, 20].map(Nanos).into_iter().collect();
        assert_eq!(times.quantile(0.5), Some((Nanos(20), None)));
        assert_eq!((times.quantile(0.99), times.quantile_cell(0.99)), (None, Cell::Empty));
        assert_eq!(ExactTimes::default().quantile(0.5), None);
    }
}
