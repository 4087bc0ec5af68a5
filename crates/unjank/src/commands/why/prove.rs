//! Tries the change that is predicted to save most: launches with and without it,
//! in alternating pairs.

use std::str::FromStr;

use anyhow::{Context as _, Result};
use unjank_host::tracefs::Tracefs;
use unjank_host::{Error, Nanos, Root};
use unjank_launch::bench::{self, Condition, Options, Program, Workload};
use unjank_measure::{Findings, Monitor};
use unjank_why::report::{self, About, BestChange, Launches, ProofOutcome, Remedy, Shift, Spread};

use super::about::with_server;
use super::arms::arms;
use super::launch::Plan;
use super::launches;
use crate::commands::launch::bench::ready_means;
use crate::commands::session;

/// Launches that are recorded for a prediction, unless the user says how many.
pub(super) const RECORDED: u32 = 6;

/// Which change is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TriedChange {
    /// The one that is predicted to save most.
    Best,
    /// This one.
    Of(Remedy),
}

impl FromStr for TriedChange {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let of_name = Remedy::PROVABLE.into_iter().find(|remedy| remedy.option() == Some(text));
        match of_name {
            Some(remedy) => Ok(Self::Of(remedy)),
            None if text == "best" => Ok(Self::Best),
            None => Err("expected cpu, servers, cache, swap, clock, sections or best".to_owned()),
        }
    }
}

impl TriedChange {
    /// Whether launches must find their files on storage to show what it saves.
    pub(super) fn needs_cold_launches(self) -> bool {
        self == Self::Of(Remedy::Cached)
    }

    /// Checks that the condition `by` can stand for it.
    ///
    /// # Errors
    /// `Invalid` if the change is not named, because only afterwards it is known which one it is;
    /// or if unjank has no condition of its own for it.
    pub(super) fn check(self, by: Option<&str>) -> Result<(), Error> {
        let wrong = |what| Err(Error::Invalid(what));
        match (self, by) {
            (Self::Best, Some(by)) => wrong(format!(
                "--by {by}: name the change for which it stands, such as --prove=cpu"
            )),
            (Self::Of(remedy), None) => match remedy.by() {
                Some(by) => wrong(format!(
                    "--prove={} needs a condition that makes the change, such as --by {by}",
                    self.name()
                )),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Its name in settings.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Best => "best",
            Self::Of(remedy) => remedy.option().unwrap_or_default(),
        }
    }
}

/// What is tried, and how often.
#[derive(Debug)]
pub(super) struct Experiment {
    pub(super) wanted: TriedChange,
    /// The condition that stands for the change; `None` for that of unjank.
    pub(super) by: Option<String>,
    pub(super) pairs: usize,
    pub(super) plan: Plan,
    pub(super) about: About,
}

impl Experiment {
    /// Records launches, predicts, and measures.
    pub(super) fn run(
        &self,
        root: &Root,
        tracefs: &Tracefs,
        seed: u64,
        monitor: &dyn Monitor,
    ) -> Result<(Launches, Findings)> {
        // Before minutes of launches: whether this machine has the change at all. Servers are
        // known afterwards.
        let by = self.by.as_deref();
        if let TriedChange::Of(remedy) = self.wanted
            && (remedy != Remedy::ServersFirst || by.is_some())
        {
            arms(remedy, by, None, root)?;
        }
        let launches = launches::record(&self.plan, &self.about, root, tracefs, None, monitor)?;
        let about = with_server(&self.about, &launches, root);
        let mut findings = report::findings(&launches, &about);
        let chosen = self.choose(&launches, about.server, root);
        let BestChange { prediction, applied: arms, better } = match (chosen, launches.missing()) {
            (Ok(chosen), _) => chosen,
            (Err(_), Some(missing)) => {
                findings.not_supported("why/prove", missing);
                return Ok((launches, findings));
            }
            (Err(error), None) => {
                findings.not_supported("why/prove", error.to_string());
                return Ok((launches, findings));
            }
        };
        if let Some(better) = better {
            findings.warn(better);
        }
        let measured = self.measure(arms, root, seed, monitor)?;
        let row = bench::rows(&measured).into_iter().next();
        let all_failed = bench::any_condition_failed(&measured);
        findings.series.extend(measured.series);
        findings.changes.extend(measured.changes);
        for warning in measured.warnings {
            findings.warn(warning);
        }
        if all_failed {
            findings.not_supported("why/prove", "all launches with or without the change failed");
            return Ok((launches, findings));
        }
        let compared = row.and_then(|row| Some((row.difference?, row.baseline.1, row.other.1)));
        let Some((difference, without, with)) = compared else {
            findings.warn("no pair of launches was measured");
            return Ok((launches, findings));
        };
        let outcome = ProofOutcome {
            by: self.by.clone(),
            medians: [without.value, with.value],
            shift: Shift {
                value: difference.value,
                spread: difference.interval.map(Spread::Interval),
                n: difference.n.unwrap_or_default(),
            },
        };
        let proof = report::proof(&prediction, &outcome, &self.about);
        // The answer of the experiment is read first.
        findings.verdicts.splice(0..0, proof.verdicts);
        findings.tables.splice(0..0, proof.tables);
        findings.facts.extend(proof.facts);
        Ok((launches, findings))
    }

    /// The wanted change, or the best one that this machine has.
    ///
    /// # Errors
    /// No such change.
    fn choose(
        &self,
        launches: &Launches,
        server: Option<u32>,
        root: &Root,
    ) -> Result<BestChange<[Condition; 2]>> {
        let mut predictions = report::predictions(launches).into_iter();
        let arms = |remedy| arms(remedy, self.by.as_deref(), server, root);
        if let TriedChange::Of(wanted) = self.wanted {
            let prediction = predictions.find(|it| it.remedy == wanted);
            let prediction =
                prediction.context("the launches give no prediction for this change")?;
            let applied = arms(prediction.remedy)?;
            return Ok(BestChange { prediction, applied, better: None });
        }
        let best = report::best(predictions, |remedy| arms(remedy).ok());
        best.map_err(anyhow::Error::msg)
    }

    fn measure(
        &self,
        [baseline, other]: [Condition; 2],
        root: &Root,
        seed: u64,
        monitor: &dyn Monitor,
    ) -> Result<Findings> {
        let needs_session = baseline.needs_session() || other.needs_session();
        let session = if needs_session { Some(session::open(root, None)?) } else { None };
        let Program { command, ready, .. } = self.plan.program.clone();
        let workload = Workload {
            name: String::new(),
            program: Program::new(command, ready),
            times_itself: false,
        };
        let options = Options {
            workloads: vec![workload],
            baseline,
            others: vec![other],
            is_alone: false,
            pairs: self.pairs,
            warm_up: 1,
            pause: self.plan.gap,
            wake_every: Nanos::ZERO,
            timeout: self.plan.timeout,
            energy_window: Nanos::ZERO,
            drop_caches: false,
            means: ready_means(),
        };
        let measured = bench::run(&options, session.as_ref(), root, None, seed, monitor);
        let (mut findings, changes) = session::end(session, measured)?;
        session::note(changes, &mut findings);
        Ok(findings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_names() {
        assert_eq!("best".parse(), Ok(TriedChange::Best));
        for name in ["cpu", "servers", "cache", "swap", "clock", "sections"] {
            assert_eq!(name.parse::<TriedChange>().unwrap().name(), name);
        }
        assert!("locks".parse::<TriedChange>().is_err());
    }

    #[test]
    fn a_condition_stands_for_a_named_change() {
        let cpu = TriedChange::Of(Remedy::ProgramFirst);
        assert!(cpu.check(None).is_ok() && cpu.check(Some("boost")).is_ok());
        assert!(TriedChange::Best.check(None).is_ok());
        let swap = TriedChange::Of(Remedy::EnoughMemory);
        assert!(swap.check(None).is_ok() && swap.check(Some("vm.swappiness=0")).is_ok());
        let sections = TriedChange::Of(Remedy::HalfSections);
        assert!(sections.check(Some("env:A=1")).is_ok());
        let error = sections.check(None).unwrap_err().to_string();
        assert!(error.contains("such as --by env:NAME=VALUE"), "{error}");
        let error = TriedChange::Best.check(Some("boost")).unwrap_err().to_string();
        assert!(error.starts_with("--by boost: name the change"), "{error}");
    }
}
