//! All runs of an experiment.

use unjank_measure::Findings;

use super::arm::Arm;
use super::modelled::Modelled;
use super::options::Options;
use super::plan::Plan;
use super::report;
use super::runs::{Runs, io, middle};

/// What an experiment has measured.
#[derive(Debug)]
pub struct Experiment<'a> {
    pub(super) plan: Plan<'a>,
    pub(super) options: &'a Options,
    pub(super) measured: Vec<Runs>,
    pub(super) modelled: Vec<(Arm, Modelled)>,
    /// Arms and runs that are missing, with the reasons.
    pub(super) missing: Findings,
}

impl Experiment<'_> {
    /// Everything for the record.
    pub fn findings(&self) -> Findings {
        let mut findings = self.missing.clone();
        findings.merge(report::findings(&self.plan, self.options, &self.measured, &self.modelled));
        findings
    }

    /// Pages that went to and from storage, in each run of an arm.
    pub fn storage(&self, arm: Arm) -> Vec<f64> {
        self.runs(arm).map_or_else(Vec::new, |(_, runs)| runs.iter().map(io).collect())
    }

    /// The median time in nanoseconds that a launch after the first one of its app waits for its
    /// pages, in each run of an arm.
    pub fn waits(&self, arm: Arm) -> Vec<f64> {
        let Some((_, runs)) = self.runs(arm) else { return Vec::new() };
        let median = |run: &super::run::Measured| {
            let again = run.launches.iter().filter(|launch| launch.round > 0);
            middle(again.map(|launch| launch.time.get() as f64).collect())
        };
        runs.iter().filter_map(median).collect()
    }

    /// Why an arm is not possible here.
    pub fn missing(&self, arm: Arm) -> Option<&str> {
        let name = report::missing(arm);
        let mut missing = self.missing.unsupported.iter();
        missing.find(|missing| missing.what == name).map(|missing| missing.reason.as_str())
    }

    fn runs(&self, arm: Arm) -> Option<&Runs> {
        self.measured.iter().find(|(known, _)| *known == arm)
    }
}
