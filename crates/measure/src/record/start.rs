//! The start of a run, from which its record is made.

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use jiff::{SignedDuration, Timestamp as Date, Unit as DateUnit};
use unjank_host::{Machine, Timestamp};

use crate::findings::Findings;
use crate::record::run::{RunRecord, SCHEMA, Tool};

/// The start of a run, with the random tail of its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    date: Date,
    clock: Timestamp,
    tail: u32,
}

/// The content of a run's record, except its times.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The program that made it.
    pub tool: Tool,
    /// The command without its options: `jitter native`.
    pub command: String,
    /// The machine it ran on.
    pub host: Machine,
    /// Every option with its value, including defaults and the seed.
    pub settings: BTreeMap<String, serde_json::Value>,
    /// The results of the measurement.
    pub findings: Findings,
    /// How to read the numbers: `interrupted`, `modelled`, `emulated` …
    pub labels: Vec<String>,
}

impl Start {
    /// This moment, and a random tail for the id.
    pub fn now() -> Self {
        Self::since(Timestamp::now())
    }

    /// A moment on the monotonic clock that is not long ago, and a random tail for
    /// the id.
    pub fn since(clock: Timestamp) -> Self {
        // The keys of a fresh hasher are the only randomness in the standard
        // library; they differ between processes and between calls.
        let tail = RandomState::new().build_hasher().finish() as u32;
        let ago = i64::try_from(Timestamp::now().since(clock).get()).unwrap_or(0);
        let now = Date::now();
        Self::at(now.checked_sub(SignedDuration::from_nanos(ago)).unwrap_or(now), clock, tail)
    }

    /// A given moment on both clocks, and the tail of the id.
    pub fn at(date: Date, clock: Timestamp, tail: u32) -> Self {
        Self { date, clock, tail: tail & 0xff_ffff }
    }

    /// The id of the run: start in UTC and the tail, `20261121T101530-5f3a9c`.
    pub fn id(&self) -> String {
        format!("{}-{:06x}", self.date.strftime("%Y%m%dT%H%M%S"), self.tail)
    }

    /// The record of the run that ended at `end`. Findings that are not finite
    /// are removed, as JSON cannot represent them, with a warning.
    pub fn finish(self, end: Timestamp, run: Run) -> RunRecord {
        let mut findings = run.findings;
        findings.drop_non_finite();
        RunRecord {
            schema: SCHEMA.to_owned(),
            id: self.id(),
            tool: run.tool,
            command: run.command,
            started_at: self.date.round(DateUnit::Millisecond).unwrap_or(self.date).to_string(),
            elapsed: end.since(self.clock).get(),
            host: run.host,
            settings: run.settings,
            findings,
            labels: run.labels,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Fact, Unit};

    fn start(tail: u32) -> Start {
        let date = "2026-11-21T10:15:30.123456789Z".parse().unwrap();
        Start::at(date, Timestamp::from_nanos(1_000), tail)
    }

    fn run(findings: Findings) -> Run {
        Run {
            tool: Tool { version: "0.1.0".to_owned(), commit: None },
            command: "jitter native".to_owned(),
            host: Machine::default(),
            settings: BTreeMap::new(),
            findings,
            labels: Vec::new(),
        }
    }

    #[test]
    fn a_record_knows_when_it_began_and_how_long_it_took() {
        let record =
            start(0xff5f_3a9c).finish(Timestamp::from_nanos(3_000), run(Findings::default()));
        assert_eq!(record.id, "20261121T101530-5f3a9c");
        assert_eq!(record.started_at, "2026-11-21T10:15:30.123Z");
        assert_eq!(record.elapsed, 2_000);
        let text = record.to_json();
        assert_eq!(RunRecord::import(&text, "a test").unwrap(), record);
    }

    #[test]
    fn a_run_that_began_before_has_the_date_of_its_beginning() {
        let before = Timestamp::from_nanos(Timestamp::now().as_nanos().saturating_sub(5_000_000));
        let start = Start::since(before);
        assert_eq!(start.clock, before);
        assert!(start.date < Date::now());
    }

    #[test]
    fn runs_of_the_same_second_have_different_ids() {
        assert_ne!(Start::now().id(), Start::now().id());
        assert_ne!(start(1).id(), start(2).id());
    }

    #[test]
    fn values_that_are_not_finite_do_not_spoil_the_record() {
        let mut findings = Findings::default();
        findings.facts.push(Fact::new("test/broken", f64::NAN, Unit::Ratio));
        findings.facts.push(Fact::new("test/whole", 1.0, Unit::Ratio));
        let record = start(1).finish(Timestamp::from_nanos(3_000), run(findings));
        assert_eq!(record.findings.facts.len(), 1);
        assert_eq!(record.findings.warnings, ["fact test/broken is not a number and is left out"]);
        assert!(RunRecord::import(&record.to_json(), "a test").is_ok());
    }
}
