//! Matches series and facts of two runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::record::{Fact, RunRecord, SeriesRecord, Unit};

/// An item of one or both runs that was not compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotCompared {
    /// The name of the series or fact, with its labels.
    pub what: String,
    /// Why not, in one clause: `it has no interval`.
    pub reason: String,
}

/// The matched items, those that the second run lacks, and the rest.
#[derive(Debug)]
pub(super) struct Matched<'a, T> {
    pub(super) both: Vec<[&'a T; 2]>,
    pub(super) missing: Vec<NotCompared>,
    pub(super) not_compared: Vec<NotCompared>,
}

/// The identity of an item: name, labels and unit.
type Key<'a> = (&'a str, &'a BTreeMap<String, String>, &'static str);

/// The series with samples in both runs.
pub(super) fn series<'a>(a: &'a RunRecord, b: &'a RunRecord) -> Matched<'a, SeriesRecord> {
    let mut matched = matched(
        &a.findings.series,
        &b.findings.series,
        |_| true,
        |series| (series.name.as_str(), &series.labels, series.unit.name()),
    );
    let Matched { both, missing, not_compared } = &mut matched;
    both.retain(|[a, b]| {
        let (list, reason) = match (a.n, b.n) {
            (0, 0) => (&mut *not_compared, "no samples in either run"),
            (_, 0) => (&mut *missing, "no samples in the second run"),
            (0, _) => (&mut *not_compared, "no samples in the first run"),
            _ => return true,
        };
        list.push(NotCompared { what: full_name(&a.name, &a.labels), reason: reason.to_owned() });
        false
    });
    matched
}

/// The facts with an interval in both runs. A fact without an interval decides nothing, so its
/// absence is no loss either.
pub(super) fn facts<'a>(a: &'a RunRecord, b: &'a RunRecord) -> Matched<'a, Fact> {
    let with_interval = |fact: &Fact| fact.interval.is_some();
    let mut matched = matched(&a.findings.facts, &b.findings.facts, with_interval, |fact| {
        (fact.name.as_str(), &fact.labels, fact.unit.name())
    });
    let Matched { both, not_compared, missing } = &mut matched;
    both.retain(|[a, b]| {
        let (list, reason) = match (a.interval, b.interval) {
            (Some(_), Some(_)) => return true,
            (Some(_), None) => (&mut *missing, "no interval in the second run"),
            (None, _) => (&mut *not_compared, "it has no interval"),
        };
        list.push(NotCompared { what: full_name(&a.name, &a.labels), reason: reason.to_owned() });
        false
    });
    matched
}

/// Matches items by their keys. Those of the first run that count are missing if the second run
/// lacks them; the others are not compared.
fn matched<'a, T>(
    a: &'a [T],
    b: &'a [T],
    counts: impl Fn(&T) -> bool,
    key: impl Fn(&'a T) -> Key<'a>,
) -> Matched<'a, T> {
    let mut others: BTreeMap<Key<'a>, Vec<&T>> = BTreeMap::new();
    for other in b {
        others.entry(key(other)).or_default().push(other);
    }
    let mut matched = Matched { both: Vec::new(), missing: Vec::new(), not_compared: Vec::new() };
    let mut seen: BTreeMap<Key<'a>, usize> = BTreeMap::new();
    for one in a {
        *seen.entry(key(one)).or_default() += 1;
    }
    for one in a {
        let key = key(one);
        let not_compared =
            |reason: &str| NotCompared { what: full_name(key.0, key.1), reason: reason.to_owned() };
        match others.remove(&key).as_deref() {
            Some([other]) if seen[&key] == 1 => matched.both.push([one, other]),
            Some(_) => matched.not_compared.push(not_compared("it occurs twice in one run")),
            None if seen[&key] > 1 => {}
            None if counts(one) => matched.missing.push(not_compared("only in the first run")),
            None => matched.not_compared.push(not_compared("only in the first run")),
        }
    }
    let rest = others.into_keys().map(|key| NotCompared {
        what: full_name(key.0, key.1),
        reason: "only in the second run".to_owned(),
    });
    matched.not_compared.extend(rest);
    matched
}

/// A name with its labels: `lock/handoff (policy=spin, cpus=2)`.
pub fn full_name(name: &str, labels: &BTreeMap<String, String>) -> String {
    if labels.is_empty() {
        return name.to_owned();
    }
    let labels: Vec<String> =
        labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!("{name} ({})", labels.join(", "))
}

impl Unit {
    /// The unit as a record spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Count => "count",
            Self::Bytes => "bytes",
            Self::Pages => "pages",
            Self::Ratio => "ratio",
            Self::Times => "times",
            Self::Change => "change",
            Self::PerSecond => "per_second",
            Self::BytesPerSecond => "bytes_per_second",
            Self::Hertz => "hertz",
            Self::WattHours => "watt_hours",
            Self::Joules => "joules",
            Self::Watts => "watts",
        }
    }
}
