//! Results over traces: the mean storage I/O by policy and size of the tier.

use std::collections::BTreeMap;

use unjank_host::Bytes;
use unjank_measure::stats::{bootstrap, random};
use unjank_measure::{Cell as Shown, Column, Fact, Mark, Number, Table, Unit};

use super::cell::{Cell, Combination};

/// With fewer traces there is no interval.
const FEWEST: usize = 5;

const DRAWS: usize = 2_000;

/// The mean of one policy at one size of the tier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Mean {
    /// Storage I/O relative to no tier.
    value: f64,
    /// The 95 % interval over traces; `None` for fewer than [`FEWEST`].
    interval: Option<[f64; 2]>,
    /// Traces.
    n: usize,
}

/// Means by policy and size of the tier.
pub(super) struct Means<'a> {
    means: BTreeMap<&'a str, BTreeMap<u64, Mean>>,
}

impl<'a> Means<'a> {
    /// The means over all traces; that of each trace is over its sizes of memory.
    pub(super) fn new(cells: &'a [Cell], seed: u64) -> Self {
        type OfTraces<'a> = BTreeMap<&'a str, Vec<f64>>;
        let mut ratios: BTreeMap<&str, BTreeMap<u64, OfTraces<'_>>> = BTreeMap::new();
        for cell in cells {
            if let Some(ratio) = cell.relative_ios() {
                let Combination { trace, tier, policy, .. } = &cell.combination;
                let of_tier = ratios.entry(policy).or_default().entry(*tier).or_default();
                of_tier.entry(trace).or_default().push(ratio);
            }
        }
        let means = ratios.into_iter().map(|(policy, tiers)| {
            let of = |(tier, traces): (u64, OfTraces<'_>)| {
                let traces: Vec<f64> = traces.values().map(|ratios| average(ratios)).collect();
                (tier, mean(&traces, seed, &format!("{policy}/{tier}")))
            };
            (policy, tiers.into_iter().map(of).collect())
        });
        Self { means: means.collect() }
    }

    /// Sizes of the tier, the smallest first.
    fn tiers(&self) -> Vec<u64> {
        let mut tiers: Vec<u64> = self.means.values().flat_map(BTreeMap::keys).copied().collect();
        tiers.sort_unstable();
        tiers.dedup();
        tiers
    }

    /// The policies, the one with the lowest mean at the largest tier first.
    fn policies(&self) -> Vec<&'a str> {
        let largest = self.tiers().last().copied().unwrap_or_default();
        let value = |policy: &str| {
            self.means[policy].get(&largest).map_or(f64::INFINITY, |mean| mean.value)
        };
        let mut policies: Vec<&str> = self.means.keys().copied().collect();
        policies.sort_by(|one, other| value(one).total_cmp(&value(other)));
        policies
    }

    /// Policies down, sizes of the tier across.
    pub(super) fn table(&self) -> Table {
        let tiers = self.tiers();
        let lowest = |tier: &u64| {
            let values = self.means.values().filter_map(|of_policy| of_policy.get(tier));
            values.map(|mean| mean.value).fold(f64::INFINITY, f64::min)
        };
        let rows = self.policies().into_iter().map(|policy| {
            let cell = |tier: &u64| {
                let mean = self.means[policy].get(tier)?;
                let best = (mean.value <= lowest(tier)).then_some(Mark::Best);
                Some(Number::new(mean.value).within(mean.interval).marked(best))
            };
            let cells = tiers.iter().map(|tier| Shown::maybe(cell(tier)));
            std::iter::once(policy.into()).chain(cells).collect::<Vec<_>>()
        });
        let columns = tiers.iter().map(|tier| Column::of(Bytes(*tier).to_string(), Unit::Ratio));
        let columns = std::iter::once(Column::text("policy")).chain(columns);
        let counts = self.means.values().flat_map(BTreeMap::values).map(|mean| mean.n);
        let most = counts.max().unwrap_or_default();
        Table::new("swap/sweep/mean", "Storage I/O relative to no tier, mean over traces", columns)
            .with_rows(rows)
            .with_note(format!(
                "means over up to {most} traces, each with the same weight and first over its \
                 sizes of memory; ± is a 95 % interval over traces, from {FEWEST} on"
            ))
    }

    /// The means as facts.
    pub(super) fn facts(&self) -> impl Iterator<Item = Fact> {
        self.means.iter().flat_map(|(policy, of_policy)| {
            of_policy.iter().map(move |(tier, mean)| {
                let mut fact = Fact::new("swap/sweep/mean/storage_ios", mean.value, Unit::Ratio)
                    .with_label("policy", *policy)
                    .with_label("tier", Bytes(*tier).to_string());
                (fact.interval, fact.n) = (mean.interval, Some(mean.n as u64));
                fact
            })
        })
    }
}

fn average(ratios: &[f64]) -> f64 {
    ratios.iter().sum::<f64>() / ratios.len().max(1) as f64
}

fn mean(ratios: &[f64], seed: u64, stream: &str) -> Mean {
    let value = average(ratios);
    let interval = (ratios.len() >= FEWEST).then(|| {
        let mut random = random::seeded(seed, &format!("swap/sweep/{stream}"));
        let drawn = |places: &[usize]| {
            let mean = places.iter().map(|at| ratios[*at]).sum::<f64>() / places.len() as f64;
            [mean, mean]
        };
        bootstrap::pairs(ratios.len(), DRAWS, &mut random, drawn).interval_of_a()
    });
    Mean { value, interval, n: ratios.len() }
}

#[cfg(test)]
mod tests {
    use super::super::cell::tests::cell;
    use super::*;

    #[test]
    fn means_are_over_traces_and_the_best_comes_first() {
        let of = |trace: u64, memory, policy, ios| {
            let mut cell = Cell { without_tier: 100, ..cell(policy, 4096, ios, 0) };
            cell.combination.trace = trace.to_string();
            cell.combination.memory = memory;
            cell
        };
        let of_trace = |trace: u64| {
            [
                of(trace, 1, "a", 80),
                of(trace, 1, "b", 40 + trace * 10),
                of(trace, 2, "b", 60 + trace * 10),
            ]
        };
        let cells: Vec<Cell> = (0..6).flat_map(of_trace).collect();
        let means = Means::new(&cells, 1);
        assert_eq!(means.policies(), ["b", "a"]);
        let mean = means.means["b"][&4096];
        let [low, high] = mean.interval.unwrap();
        assert!((mean.value - 0.75).abs() < 1e-12 && mean.n == 6, "{mean:?}");
        assert!(low < 0.75 && 0.75 < high && high - low < 0.5, "{mean:?}");
        // Sizes of memory are no independent samples.
        assert_eq!(Means::new(&cells[..12], 1).means["b"][&4096].interval, None);
        assert_eq!(means.facts().count(), 2);
        assert_eq!(means.table().rows.len(), 2);
    }
}
