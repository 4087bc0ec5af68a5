//! The time of a lock hand-off on this machine, as `lock probe` measured it.

use unjank_measure::RunRecord;
use unjank_measure::record::SeriesRecord;
use unjank_units::Nanos;

/// A hand-off that a run of `lock probe` measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handoff {
    /// From the release of a lock until the thread that waited for it runs.
    pub time: Nanos,
    /// Whether that thread spun; else it was parked.
    pub is_spun: bool,
    /// The id of the run.
    pub run: String,
}

impl Handoff {
    /// The fastest hand-off between two CPUs, by medians: half of a round trip of spinning
    /// threads, or the wake-up of a parked one. `None` if the run has neither.
    pub fn of(record: &RunRecord) -> Option<Self> {
        let series =
            |name: &'static str| record.findings.series.iter().filter(move |it| it.name == name);
        let between = |it: &&SeriesRecord| it.labels.get("placement").is_some_and(|it| it == TWO);
        let median = |it: &SeriesRecord| it.summary.map(|summary| summary.p50);
        let spun = series("lock/spin/round_trip").filter(between).find_map(median);
        let parked = series("lock/park_wake").find_map(median);
        let spun = spun.map(|round_trip| (Nanos(round_trip / 2), true));
        let parked = parked.map(|time| (Nanos(time), false));
        let (time, is_spun) = spun.into_iter().chain(parked).min_by_key(|(time, _)| *time)?;
        Some(Self { time, is_spun, run: record.id.clone() })
    }

    /// `168 ns, spun, as lock probe measured in run 20261121T101530-5f3a9c`.
    pub(super) fn words(&self) -> String {
        let how = if self.is_spun { "spun" } else { "parked" };
        format!("{}, {how}, as lock probe measured in run {}", self.time, self.run)
    }
}

/// The placement of hand-offs from one CPU to another, as a label of `lock probe`.
const TWO: &str = "two-cpus";

#[cfg(test)]
mod tests {
    use unjank_host::Machine;
    use unjank_measure::record::{SCHEMA, Tool};
    use unjank_measure::{Findings, Series};

    use super::*;

    fn probe(series: &[(&str, Option<&str>, u64)]) -> RunRecord {
        let mut findings = Findings::default();
        for &(name, placement, time) in series {
            let mut one = Series::new(name);
            if let Some(placement) = placement {
                one = one.with_label("placement", placement);
            }
            one.record(Nanos(time));
            findings.series.push(one.finish());
        }
        RunRecord {
            schema: SCHEMA.to_owned(),
            id: "20261121T101530-5f3a9c".to_owned(),
            tool: Tool { version: String::new(), commit: None },
            command: "lock probe".to_owned(),
            started_at: String::new(),
            elapsed: 0,
            host: Machine::default(),
            settings: std::collections::BTreeMap::new(),
            findings,
            labels: Vec::new(),
        }
    }

    #[test]
    fn the_cheapest_way_between_two_cpus_counts() {
        let spin = ("lock/spin/round_trip", Some("two-cpus"), 336);
        let park = ("lock/park_wake", None, 900);
        let found = Handoff::of(&probe(&[park, spin])).unwrap();
        assert_eq!((found.time, found.is_spun), (Nanos(168), true));
        assert!(found.words().starts_with("168 ns, spun, "), "{}", found.words());
        assert!(found.words().ends_with("20261121T101530-5f3a9c"));
        let slow = ("lock/spin/round_trip", Some("two-cpus"), 9_000);
        let found = Handoff::of(&probe(&[slow, park])).unwrap();
        assert_eq!((found.time, found.is_spun), (Nanos(900), false));
        let one_cpu = ("lock/spin/round_trip", Some("one-cpu"), 1);
        assert_eq!(Handoff::of(&probe(&[one_cpu])), None);
    }
}
