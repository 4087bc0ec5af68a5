//! Other runs of what is compared: they show how far a quantity moves from run
//! to run.

use std::collections::BTreeMap;

use super::question::Question;
use super::{FEWEST_REPEATS, differences, facts, series};
use crate::record::RunRecord;
use crate::stats::RunSpread;

/// Other runs that a comparison may learn from, each with its values.
#[derive(Debug, Default)]
pub struct OtherRuns<'a> {
    runs: Vec<(&'a RunRecord, BTreeMap<String, f64>)>,
}

impl<'a> OtherRuns<'a> {
    /// Reads the values of `runs`. Damaged series have none.
    pub fn new(runs: &'a [RunRecord]) -> Self {
        let values = |run: &'a RunRecord| {
            let of_series = run.findings.series.iter().flat_map(series::values);
            let of_facts = run.findings.facts.iter().map(facts::value);
            (run, of_series.chain(of_facts).collect())
        };
        Self { runs: runs.iter().map(values).collect() }
    }

    /// Those that measured the same as `a` or `b`, on the same machine with the
    /// same settings and version.
    pub(super) fn like(&self, a: &RunRecord, b: &RunRecord) -> Repeats<'_> {
        let sides: &[&RunRecord] =
            if differences::between(a, b).is_empty() { &[a] } else { &[a, b] };
        let group = |side: &&RunRecord| {
            let others = self.runs.iter().filter(|(run, _)| run.id != a.id && run.id != b.id);
            let repeats = others.filter(|(run, _)| differences::between(side, run).is_empty());
            repeats.map(|(_, values)| values).collect()
        };
        Repeats { groups: sides.iter().map(group).collect() }
    }
}

/// The values of runs that repeated one of the two sides, a group for each
/// side, or one group if both measured the same.
#[derive(Debug)]
pub(super) struct Repeats<'a> {
    groups: Vec<Vec<&'a BTreeMap<String, f64>>>,
}

impl Repeats<'_> {
    /// The number of these runs; 0 if they are too few to show a spread.
    pub(super) fn count(&self) -> usize {
        let sizes = || self.groups.iter().map(Vec::len);
        if sizes().any(|size| size >= FEWEST_REPEATS) { sizes().sum() } else { 0 }
    }

    /// The spread of the quantity between these runs; `None` if these are too
    /// few.
    pub(super) fn spread(&self, question: &Question) -> Option<RunSpread> {
        if self.count() == 0 {
            return None;
        }
        let key = question.key();
        let of_group = |group: &Vec<&BTreeMap<String, f64>>| {
            group.iter().filter_map(|values| values.get(&key).copied()).collect()
        };
        RunSpread::within(&self.groups.iter().map(of_group).collect::<Vec<_>>())
    }
}
