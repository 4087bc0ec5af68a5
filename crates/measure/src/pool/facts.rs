//! Facts of several starts.

use std::collections::BTreeMap;

use crate::record::{Fact, Pooling, Unit};
use crate::stats::bootstrap;
use crate::stats::repetitions::interval_of_median;

/// The identity of a fact: name, labels and unit.
type Key<'a> = (&'a str, BTreeMap<&'a str, &'a str>, Unit);

/// A label that describes a fact of one start but does not identify it: the
/// numbers of threads.
const DETAIL: &str = "threads";

/// Pools facts of the same identity, in the order of their first occurrence.
pub(super) fn pool<'a>(facts: impl Iterator<Item = &'a Fact>) -> Vec<Fact> {
    let mut groups: Vec<(Key<'a>, Vec<&Fact>)> = Vec::new();
    for fact in facts {
        let labels = fact.labels.iter().filter(|(label, _)| *label != DETAIL);
        let labels = labels.map(|(label, value)| (label.as_str(), value.as_str())).collect();
        let key = (fact.name.as_str(), labels, fact.unit);
        match groups.iter_mut().find(|(other, _)| *other == key) {
            Some((_, group)) => group.push(fact),
            None => groups.push((key, vec![fact])),
        }
    }
    groups.into_iter().map(|(_, group)| one(&group)).collect()
}

/// Resets the pooling rules, which a record does not hold.
pub(super) fn reset_pooling(facts: &mut [Fact]) {
    for fact in facts {
        fact.pooling = Pooling::default();
    }
}

fn one(group: &[&Fact]) -> Fact {
    let first = group[0];
    let values: Vec<f64> = group.iter().map(|fact| fact.value).collect();
    let weights: Vec<f64> = group.iter().map(|fact| fact.n.unwrap_or(1) as f64).collect();
    let n = group.iter().try_fold(0_u64, |sum, fact| Some(sum.saturating_add(fact.n?)));
    let steady = group.iter().all(|fact| fact.value.to_bits() == first.value.to_bits());
    let (value, interval) = match first.pooling {
        Pooling::Sum => (values.iter().sum(), None),
        Pooling::Mean => (mean(&values, &weights), interval_of_mean(first, &values, &weights)),
        Pooling::Median if steady => (first.value, first.interval),
        Pooling::Median => (
            bootstrap::quantile(&mut values.clone(), 0.5).unwrap_or(first.value),
            interval_of_median(&values),
        ),
    };
    // The labels of the largest value describe most of the sum.
    let largest = group.iter().max_by(|a, b| a.value.total_cmp(&b.value)).unwrap_or(&group[0]);
    let labels = largest.labels.clone();
    Fact { value, interval, n, labels, pooling: Pooling::default(), ..first.clone() }
}

fn mean(values: &[f64], weights: &[f64]) -> f64 {
    let sum: f64 = weights.iter().sum();
    if sum == 0.0 {
        return 0.0;
    }
    values.iter().zip(weights).map(|(value, weight)| value * weight).sum::<f64>() / sum
}

/// The interval of a mean over starts, if each start has one: from the variance
/// between starts, but never narrower than the narrowest interval that a single
/// start's count allows.
fn interval_of_mean(first: &Fact, values: &[f64], weights: &[f64]) -> Option<[f64; 2]> {
    first.interval?;
    let count = values.len();
    let n: f64 = weights.iter().sum();
    let share = mean(values, weights);
    if count < crate::stats::repetitions::FEWEST || n == 0.0 {
        return None;
    }
    let squares: f64 =
        values.iter().zip(weights).map(|(value, n)| (n * (value - share)).powi(2)).sum();
    let starts = count as f64;
    let effect = squares * starts / (starts - 1.0) / (share * (1.0 - share) * n).max(1e-300);
    let worth = (n / effect.max(1.0)).max(1.0);
    Some(crate::stats::proportion::interval_of_share(share, worth))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pooled(facts: &[Fact]) -> Fact {
        let pooled = pool(facts.iter());
        assert_eq!(pooled.len(), 1);
        pooled[0].clone()
    }

    #[test]
    fn counts_add_up_shares_are_weighted_and_costs_have_a_median() {
        let count = |value, n| Fact { n: Some(n), ..Fact::new("n", value, Unit::Count).summed() };
        let sum = pooled(&[count(1.0, 10), count(2.0, 20)]);
        assert_eq!((sum.value, sum.n, sum.interval), (3.0, Some(30), None));
        assert_eq!(sum.pooling, Pooling::Median, "a record does not hold it");

        let share = |value, n| {
            Fact::new("share", value, Unit::Ratio).with_interval([0.0, 1.0], n).averaged()
        };
        let mean = pooled(&[share(0.1, 100), share(0.3, 300), share(0.2, 200), share(0.2, 200)]);
        assert!((mean.value - 0.225).abs() < 1e-12);
        let [low, high] = mean.interval.unwrap();
        assert!(low < 0.21 && high > 0.24 && low > 0.1 && high < 0.4, "{low} {high}");

        let costs: Vec<Fact> = [50.0, 52.0, 48.0, 51.0, 70.0]
            .map(|cost| Fact::new("cost", cost, Unit::Nanoseconds).with_interval([1.0, 2.0], 9))
            .into();
        let cost = pooled(&costs);
        assert_eq!((cost.value, cost.n), (51.0, Some(45)));
        let [low, high] = cost.interval.unwrap();
        assert!(low <= 50.0 && high >= 52.0, "{low} {high}");
    }

    #[test]
    fn a_constant_fact_is_kept() {
        let period = Fact::new("period", 1e6, Unit::Nanoseconds);
        assert_eq!(pooled(&vec![period.clone(); 5]), period);
    }

    #[test]
    fn the_same_culprit_in_other_threads_is_one() {
        let held = |value, threads: &str| {
            let fact = Fact::new("culprit", value, Unit::Nanoseconds).summed();
            fact.with_label("who", "sh").with_label("threads", threads)
        };
        let sum = pooled(&[held(1.0, "7"), held(3.0, "9"), held(2.0, "8")]);
        assert_eq!((sum.value, sum.labels["threads"].as_str()), (6.0, "9"));
    }

    #[test]
    fn other_labels_are_other_facts() {
        let fact = |cpu: &str| Fact::new("x", 1.0, Unit::Count).with_label("cpu", cpu);
        assert_eq!(pool([fact("0"), fact("1"), fact("0")].iter()).len(), 2);
    }
}
