//! The conclusion of an experiment whose trials yield a distribution each.

use super::conclusion::{TAILS, median_asked};
use super::{Arm, Conclusion, Question, Trials};
use crate::record::SeriesRecord;
use crate::series::Series;
use crate::stats::random::seeded;
use crate::stats::{Contrast, Empirical, bootstrap, order};

/// The number of resamples for a tail of pooled samples.
const DRAWS: usize = 4_000;

/// With fewer pairs, resampling understates the variation of pooled tails.
const FEWEST_FOR_TAILS: usize = 10;

impl Trials<Series> {
    /// The effects: the median over pairs of the difference between the trials'
    /// medians, and the differences between tail quantiles of each arm's pooled
    /// samples. Both from resampled pairs.
    pub fn conclude(&self, question: &Question) -> Conclusion {
        let arms = [Arm::A, Arm::B].map(|arm| self.distributions(arm));
        let medians = [&arms[0], &arms[1]].map(|trials| {
            trials.iter().map(|trial| trial.quantile(0.5) as f64).collect::<Vec<f64>>()
        });
        let mut asked = vec![median_asked(&medians, question, self.plan.seed)];
        let empty = arms.iter().flatten().filter(|trial| trial.n() == 0).count();
        if empty > 0 {
            asked[0].weighed = Err(format!("{empty} trials have no samples"));
            return Conclusion::new(self, question, asked);
        }
        let samples = [&arms[0], &arms[1]].map(|trials| trials.iter().map(Empirical::n).sum());
        for q in TAILS {
            let bounded = samples.iter().all(|&n| order::quantile_interval(n, q).is_some());
            if !bounded || self.pairs.len() < FEWEST_FOR_TAILS {
                continue;
            }
            let mut random = seeded(self.plan.seed, &format!("{} {q}", question.subject));
            let [a, b] = [&arms[0], &arms[1]].map(|trials| Tail::new(trials, q));
            let contrast: Contrast =
                bootstrap::pairs(self.pairs.len(), DRAWS, &mut random, |drawn| {
                    [a.quantile(drawn), b.quantile(drawn)]
                });
            let mut tail = question.ask(format!("p{}", q * 100.0), [contrast.a, contrast.b], 0);
            for (side, n) in tail.sides.iter_mut().zip(samples) {
                side.n = Some(n);
            }
            asked.push(tail.weigh(&contrast, question.min_effect));
        }
        Conclusion::new(self, question, asked)
    }

    /// All samples of each arm as a series of its own, labelled `arm`.
    pub fn pooled(&self, question: &Question) -> [SeriesRecord; 2] {
        [Arm::A, Arm::B].map(|arm| {
            let name = if arm == Arm::A { "a" } else { "b" };
            let mut sum = Series::of(&question.subject, question.unit).with_label("arm", name);
            for trial in self.trials(arm) {
                sum.absorb(trial);
            }
            sum.finish()
        })
    }

    fn trials(&self, arm: Arm) -> impl Iterator<Item = &Series> {
        self.pairs.iter().map(move |pair| if arm == Arm::A { &pair.a } else { &pair.b })
    }

    fn distributions(&self, arm: Arm) -> Vec<Empirical> {
        self.trials(arm).map(Series::empirical).collect()
    }
}

/// One tail quantile of the pooled samples of any selection of trials. It
/// always lies between the smallest and the largest quantile of the single
/// trials, so only that stretch is kept.
struct Tail {
    q: f64,
    /// The values of the stretch, ascending.
    values: Vec<u64>,
    trials: Vec<Stretch>,
}

/// One trial's samples around the quantile.
struct Stretch {
    n: u64,
    below: u64,
    /// Indices into the values of the [`Tail`], and the number of samples
    /// there.
    counts: Vec<(usize, u64)>,
}

impl Tail {
    fn new(trials: &[Empirical], q: f64) -> Self {
        let own: Vec<u64> = trials.iter().map(|trial| trial.quantile(q)).collect();
        let low = own.iter().copied().min().unwrap_or(0);
        let high = own.iter().copied().max().unwrap_or(0);
        let within = |trial: &Empirical| {
            trial.counts().filter(|(value, _)| (low..=high).contains(value)).collect::<Vec<_>>()
        };
        let mut values: Vec<u64> = trials.iter().flat_map(within).map(|(value, _)| value).collect();
        values.sort_unstable();
        values.dedup();
        let stretch = |trial: &Empirical| Stretch {
            n: trial.n(),
            below: trial.counts().take_while(|&(value, _)| value < low).map(|(_, n)| n).sum(),
            counts: within(trial)
                .into_iter()
                .map(|(value, n)| (values.partition_point(|&other| other < value), n))
                .collect(),
        };
        let trials = trials.iter().map(stretch).collect();
        Self { q, values, trials }
    }

    /// The quantile of the drawn trials, pooled.
    fn quantile(&self, drawn: &[usize]) -> f64 {
        let mut counts = vec![0; self.values.len()];
        let (mut n, mut up_to) = (0, 0);
        for trial in drawn.iter().map(|&trial| &self.trials[trial]) {
            n += trial.n;
            up_to += trial.below;
            for &(place, count) in &trial.counts {
                counts[place] += count;
            }
        }
        let rank = order::rank(n as f64, self.q) as u64;
        for (value, count) in self.values.iter().zip(counts) {
            up_to += count;
            if up_to >= rank {
                return *value as f64;
            }
        }
        self.values.last().copied().unwrap_or(0) as f64
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use rand::RngExt as _;
    use unjank_host::Nanos;

    use super::*;
    use crate::experiment::{Pair, Plan};
    use crate::monitor::Silent;
    use crate::record::{Answer, Direction, Unit};

    fn question() -> Question {
        Question {
            text: "Is B faster?".to_owned(),
            subject: "test/trials".to_owned(),
            unit: Unit::Nanoseconds,
            better: Direction::Smaller,
            min_effect: 0.0,
        }
    }

    /// Trials of 300 samples around 10 µs; one in fifty takes `late` longer.
    fn run(pairs: usize, late: impl Fn(Arm) -> u64) -> Trials<Series> {
        let mut random = seeded(1, "samples");
        Plan { pairs, warm_up: 0, seed: 3 }
            .run(&Silent, |arm| {
                let mut series = Series::new("test/trial");
                for _ in 0..300 {
                    let late = if random.random_bool(0.02) { late(arm) } else { 0 };
                    series.record(Nanos(10_000 + random.random_range(0..2_000) + late));
                }
                Ok::<_, Infallible>(series)
            })
            .unwrap()
    }

    #[test]
    fn a_tail_that_only_one_arm_has_is_found() {
        let trials = run(20, |arm| if arm == Arm::A { 500_000 } else { 50_000 });
        let conclusion = trials.conclude(&question());
        let answers: Vec<_> =
            conclusion.effects.iter().map(|e| (e.quantity.as_str(), e.answer)).collect();
        // 6,000 samples an arm bound p99.9.
        assert_eq!(
            answers,
            [
                ("p50", Answer::CannotTell),
                ("p90", Answer::CannotTell),
                ("p99", Answer::Better),
                ("p99.9", Answer::Better)
            ]
        );
    }

    #[test]
    fn pooled_quantiles_are_those_of_all_samples() {
        let trials = run(20, |_| 100_000);
        let [a, _] = trials.pooled(&question());
        let all: Vec<usize> = (0..20).collect();
        for (q, expected) in [(0.9, a.summary.unwrap().p90), (0.99, a.summary.unwrap().p99)] {
            let tail = Tail::new(&trials.distributions(Arm::A), q);
            assert!((tail.quantile(&all) - expected as f64).abs() < 0.5, "q = {q}");
        }
        assert_eq!(a.n, 20 * 300);
        assert_eq!(a.labels["arm"], "a");
    }

    #[test]
    fn few_pairs_bound_no_tail_and_no_pairs_bound_nothing() {
        assert_eq!(run(8, |_| 100_000).conclude(&question()).effects.len(), 1);
        let nothing = run(0, |_| 0).conclude(&question());
        assert_eq!(nothing.effects[0].answer, Answer::CannotTell);
    }

    #[test]
    fn a_trial_without_samples_is_reported() {
        let mut trials = run(20, |_| 0);
        let order = trials.pairs[0].order;
        trials.pairs[0] = Pair { order, a: Series::new("empty"), b: Series::new("empty") };
        let conclusion = trials.conclude(&question());
        assert_eq!(conclusion.effects[0].reason, "2 trials have no samples");
    }
}
