//! Quantiles of a measurement that was started several times.
//!
//! Samples of one start share a placement, an address space and a state of the
//! scheduler, so they are alike, while starts differ. The bootstrap therefore
//! draws whole starts with replacement (Davison and Hinkley, *Bootstrap Methods
//! and their Application*, section 3.8: for nested data, resampling the
//! outermost level alone comes closest to the true variance; Kalibera and
//! Jones, *Rigorous Benchmarking in Reasonable Time*, ISMM 2013, section 4: the
//! outermost level that varies decides the width).
//!
//! Two corrections keep the coverage at 95 %:
//!
//! - Resamples of few starts vary too little. The draws are moved away from the
//!   observed value, on a logarithmic scale, by the factor of [`bootstrap`]:
//!   1.9 for four starts, 1.2 for twelve.
//! - No draw exceeds the largest sample, but a tail's upper end often does. So
//!   the interval also covers that of the ranks of as many independent samples
//!   as the starts are worth (design effect: the variance of the share of
//!   samples above the quantile, from start to start, over that of independent
//!   samples). If these are too few to bound a tail, it has no interval, but
//!   often a lower end; the median needs the starts alone.

use super::empirical::Empirical;
use super::random::{Random, seeded};
use super::{bootstrap, contrast, order};

/// The fewest starts from which their spread is estimated.
pub const FEWEST: usize = 4;

/// The number of draws for a printed interval.
const DRAWS: usize = 2_000;

/// The samples of several starts of one measurement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repetitions {
    /// The distinct values of all starts, ascending.
    values: Vec<u64>,
    /// For each start, how many of its samples are at most each value.
    up_to: Vec<Vec<u64>>,
}

impl Repetitions {
    /// Ignores starts without samples; `None` if fewer than [`FEWEST`] are
    /// left.
    pub fn new(starts: &[Empirical]) -> Option<Self> {
        let starts: Vec<&Empirical> = starts.iter().filter(|start| start.n() > 0).collect();
        if starts.len() < FEWEST {
            return None;
        }
        let mut values: Vec<u64> =
            starts.iter().flat_map(|start| start.counts().map(|(value, _)| value)).collect();
        values.sort_unstable();
        values.dedup();
        let cumulated = |start: &&Empirical| {
            let n = start.n();
            values.iter().map(|&value| n - start.above(value)).collect()
        };
        let up_to = starts.iter().map(cumulated).collect();
        Some(Self { values, up_to })
    }

    /// The number of starts with samples.
    pub fn len(&self) -> usize {
        self.up_to.len()
    }

    /// Always false: there are at least [`FEWEST`].
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The 95 % interval of the q-quantile; `None` if so few independent
    /// samples do not bound it.
    pub fn interval(&self, q: f64) -> Option<[u64; 2]> {
        let mut random = seeded(0, "repetitions");
        let drawn = contrast::interval(self.draws(q, DRAWS, &mut random)?);
        let ends = drawn.map(|end| end.round() as u64);
        let ranks = self.interval_of_ranks(q).unwrap_or(ends);
        Some([ends[0].min(ranks[0]), ends[1].max(ranks[1])])
    }

    /// The lower end of the 95 % interval of the q-quantile where nothing bounds it from
    /// above: the quantile is larger with 97.5 % confidence. From the ranks alone: a
    /// resample of few starts says nothing about a tail that one of them decides.
    pub fn lower_end(&self, q: f64) -> Option<u64> {
        let n = self.effective_n(q) as u64;
        let rank = order::lower_end(n, q)?;
        Some(self.of_rank(rank, n))
    }

    /// The number of independent samples that would bound the q-quantile as
    /// well as these do; at least one for each start.
    pub fn effective_n(&self, q: f64) -> f64 {
        let all: f64 = self.totals().iter().sum();
        (all / self.design_effect(q)).max(self.len() as f64)
    }

    /// Whether the starts bound the q-quantile.
    pub fn bound(&self, q: f64) -> bool {
        let is_tail = !(0.25..=0.75).contains(&q);
        !is_tail || order::quantile_interval(self.effective_n(q) as u64, q).is_some()
    }

    /// The bootstrap draws of the q-quantile over starts; `None` if it is not
    /// [bounded](Self::bound).
    pub fn draws(&self, q: f64, times: usize, random: &mut Random) -> Option<Vec<f64>> {
        if !self.bound(q) {
            return None;
        }
        let count = self.len();
        let seen = self.quantile(&vec![1; count], q) as f64;
        let factor = bootstrap::expansion(count);
        let mut weights = vec![0_u32; count];
        let draw = || {
            weights.fill(0);
            for _ in 0..count {
                weights[bootstrap::index(count, random)] += 1;
            }
            expand(seen, self.quantile(&weights, q) as f64, factor)
        };
        Some(std::iter::repeat_with(draw).take(times).collect())
    }

    /// The q-quantile of all samples, with each start repeated as often as its
    /// weight.
    fn quantile(&self, weights: &[u32], q: f64) -> u64 {
        let below = |place: usize| -> f64 {
            let weighed = self.up_to.iter().zip(weights);
            weighed.map(|(up_to, &weight)| up_to[place] as f64 * f64::from(weight)).sum()
        };
        let last = self.values.len() - 1;
        let rank = order::rank(below(last), q);
        let (mut low, mut high) = (0, last);
        while low < high {
            let middle = low.midpoint(high);
            if below(middle) < rank {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        self.values[low]
    }

    /// The number of samples of each start.
    fn totals(&self) -> Vec<f64> {
        self.up_to.iter().map(|up_to| up_to.last().copied().unwrap_or(0) as f64).collect()
    }

    /// The variance of the share of samples above the q-quantile, from start to
    /// start, over that of independent samples; at least 1.
    fn design_effect(&self, q: f64) -> f64 {
        let threshold = self.quantile(&vec![1; self.len()], q);
        let place = self.values.partition_point(|&value| value < threshold);
        let totals = self.totals();
        let all: f64 = totals.iter().sum();
        let above = |place: Option<usize>| -> Vec<f64> {
            let up_to = |start: &Vec<u64>| place.map_or(0.0, |place| start[place] as f64);
            self.up_to.iter().zip(&totals).map(|(start, n)| n - up_to(start)).collect()
        };
        // Many samples may equal the quantile: they count as above or below it,
        // whichever comes closer to the expected share.
        let sides = [above(Some(place)), above(place.checked_sub(1))];
        let share_of = |above: &[f64]| above.iter().sum::<f64>() / all;
        let distance = |above: &[f64]| {
            let share = share_of(above);
            ((share / (1.0 - share)).ln() - ((1.0 - q) / q).ln()).abs()
        };
        let nearer = usize::from(distance(&sides[1]) < distance(&sides[0]));
        let above = &sides[nearer];
        let share = share_of(above);
        let independent = share * (1.0 - share) * all;
        // All samples are equal.
        if independent <= 0.0 {
            return 1.0;
        }
        // The variance of a ratio of sums over clusters: Cochran, *Sampling
        // Techniques*, section 9A.2.
        let count = self.len() as f64;
        let squares: f64 =
            above.iter().zip(&totals).map(|(above, n)| (above - share * n).powi(2)).sum();
        (squares * count / (count - 1.0) / independent).max(1.0)
    }

    /// The interval of the ranks of [`effective_n`](Self::effective_n) samples.
    fn interval_of_ranks(&self, q: f64) -> Option<[u64; 2]> {
        let n = self.effective_n(q) as u64;
        let ranks = order::quantile_interval(n, q)?;
        Some(ranks.map(|rank| self.of_rank(rank, n)))
    }

    /// The sample with this rank, if there were only `n`.
    fn of_rank(&self, rank: u64, n: u64) -> u64 {
        self.quantile(&vec![1; self.len()], (rank as f64 - 0.5) / n.max(1) as f64)
    }
}

/// The 95 % interval of the median of one number from each start, by a
/// bootstrap; `None` for fewer than [`FEWEST`].
pub fn interval_of_median(values: &[f64]) -> Option<[f64; 2]> {
    if values.len() < FEWEST {
        return None;
    }
    let mut random = seeded(0, "repetitions");
    let factor = bootstrap::expansion(values.len());
    let seen = bootstrap::quantile(&mut values.to_vec(), 0.5)?;
    let mut buffer = values.to_vec();
    let draw = || {
        for place in &mut buffer {
            *place = values[bootstrap::index(values.len(), &mut random)];
        }
        let drawn = bootstrap::quantile(&mut buffer, 0.5).expect("there are values");
        expand(seen, drawn, factor)
    };
    Some(contrast::interval(std::iter::repeat_with(draw).take(DRAWS).collect()))
}

/// Moves a draw away from the observed value: by its ratio if both are
/// positive, so that no time becomes negative, else by its difference.
fn expand(seen: f64, drawn: f64, factor: f64) -> f64 {
    if seen > 0.0 && drawn > 0.0 {
        seen * ((drawn / seen).ln() * factor).exp()
    } else {
        seen + (drawn - seen) * factor
    }
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution as _, StandardNormal};

    use super::*;
    use crate::Series;
    use unjank_host::Nanos;

    /// Starts of `n` samples. Their medians differ by `between`, samples within
    /// a start by `within`, both as standard deviations of logarithms.
    fn starts(seed: u64, count: usize, n: u64, between: f64, within: f64) -> Vec<Empirical> {
        let mut random = seeded(seed, "starts");
        let mut normal = || -> f64 { StandardNormal.sample(&mut random) };
        (0..count)
            .map(|_| {
                let middle = 20_000.0 * (between * normal()).exp();
                let mut series = Series::new("test");
                for _ in 0..n {
                    series.record(Nanos((middle * (within * normal()).exp()) as u64));
                }
                series.empirical()
            })
            .collect()
    }

    /// The number of simulated runs whose interval covers 20 µs.
    fn held(runs: u64, count: usize, between: f64) -> u64 {
        let holds = |seed: &u64| {
            let starts = starts(*seed, count, 200, between, 0.05);
            let [low, high] = Repetitions::new(&starts).unwrap().interval(0.5).unwrap();
            (low..=high).contains(&20_000)
        };
        (0..runs).filter(holds).count() as u64
    }

    #[test]
    fn intervals_cover_the_true_median_in_95_of_100_runs() {
        // 95 % of 400 is 380, give or take nine.
        for (count, between) in [(4, 0.3), (8, 0.3), (12, 0.02), (12, 0.3)] {
            let held = held(400, count, between);
            assert!((365..=400).contains(&held), "{count} starts, {between}: {held} of 400");
        }
    }

    #[test]
    fn starts_that_differ_widen_the_interval_and_count_for_less() {
        let alike = Repetitions::new(&starts(1, 8, 500, 0.0, 0.05)).unwrap();
        let different = Repetitions::new(&starts(1, 8, 500, 0.3, 0.05)).unwrap();
        let width = |it: &Repetitions| it.interval(0.5).map(|[low, high]| high - low).unwrap();
        assert!(width(&different) > 10 * width(&alike));
        assert!(alike.effective_n(0.5) > 1_000.0);
        assert!(different.effective_n(0.5) < 20.0, "{}", different.effective_n(0.5));
    }

    #[test]
    fn a_tail_that_is_one_stall_bounds_nothing() {
        // One start of eight has all the late samples.
        let late = |late: bool| {
            let mut series = Series::new("test");
            for i in 0..1_000 {
                series.record(Nanos(if late && i < 20 { 9_000_000 } else { 1_000 + i }));
            }
            series.empirical()
        };
        let starts: Vec<_> = (0..8).map(|start| late(start == 3)).collect();
        let starts = Repetitions::new(&starts).unwrap();
        assert!(starts.interval(0.5).is_some());
        assert_eq!(starts.interval(0.999), None);
    }

    #[test]
    fn a_tail_without_an_upper_end_has_a_lower_one() {
        // 200 samples in each of eight starts: all are late, one start far more.
        let late = |start: u64| {
            let mut series = Series::new("test");
            for i in 0..200 {
                let far = if start == 3 && i < 20 { 70_000_000 } else { 0 };
                series.record(Nanos(5_000_000 + 1_000 * i + far));
            }
            series.empirical()
        };
        let starts: Vec<_> = (0..8).map(late).collect();
        let starts = Repetitions::new(&starts).unwrap();
        assert_eq!(starts.interval(0.99), None);
        let low = starts.lower_end(0.99).unwrap();
        assert!((5_000_000..=5_200_000).contains(&low), "{low}");
        // An interval is at least as wide.
        assert!(starts.interval(0.5).unwrap()[0] <= starts.lower_end(0.5).unwrap());
    }

    #[test]
    fn the_lower_end_is_exceeded_by_the_true_tail_in_97_of_100_runs() {
        // The true 99th percentile of the simulated starts, over starts.
        let truth = starts(u64::MAX, 4_000, 50, 0.2, 0.1);
        let truth = Repetitions::new(&truth).unwrap();
        let tail = truth.quantile(&vec![1; truth.len()], 0.99);
        let holds = |seed: &u64| {
            let starts = Repetitions::new(&starts(*seed, 12, 50, 0.2, 0.1)).unwrap();
            starts.lower_end(0.99).is_none_or(|low| low <= tail)
        };
        let held = (0..200).filter(holds).count();
        assert!(held >= 188, "{held} of 200");
    }

    #[test]
    fn too_few_starts_have_no_interval() {
        assert!(Repetitions::new(&starts(1, 3, 10, 0.1, 0.1)).is_none());
        let mut three_and_nothing = starts(1, 3, 10, 0.1, 0.1);
        three_and_nothing.push(Series::new("test").empirical());
        assert!(Repetitions::new(&three_and_nothing).is_none());
        assert_eq!(interval_of_median(&[1.0, 2.0, 3.0]), None);
    }

    #[test]
    fn equal_starts_have_an_interval_without_width() {
        assert_eq!(interval_of_median(&[5.0; 6]), Some([5.0, 5.0]));
        let [low, high] = interval_of_median(&[90.0, 100.0, 110.0, 95.0, 105.0]).unwrap();
        assert!((70.0..=95.0).contains(&low) && (105.0..=130.0).contains(&high), "{low} {high}");
    }
}
