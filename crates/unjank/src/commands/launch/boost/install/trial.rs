//! The trial before an installation: launches with and without each method, in alternating pairs.

use std::ffi::OsString;
use std::path::Path;

use anyhow::Result;
use serde_json::Value;
use unjank_host::{Machine, Nanos, Root};
use unjank_launch::bench::{self, Condition, Options, ReadyMeans, Row, Service};
use unjank_launch::remedy::Plan;
use unjank_launch::remedy::config::Config;
use unjank_launch::remedy::plan::Method;
use unjank_measure::record::Answer;
use unjank_measure::{Findings, Monitor};

use super::super::setup::nothing_to_boost;
use crate::commands::launch::load::{BASIC, Threads};
use crate::commands::launch::load_app::{self, LoadAppArgs};
use crate::values;

/// All methods, in the order in which they are tried.
const METHODS: [Method; 5] =
    [Method::MinFreq, Method::DoubleTap, Method::SamplingRate, Method::Preference, Method::Uclamp];
/// The generated load of the launched app: that of a middling one (Jo & Suh, fig. 4).
const LOAD: Nanos = Nanos::from_millis(200);
/// Idle time before each launch, so that clocks fall.
const PAUSE: Nanos = Nanos::from_millis(500);
/// Period of wake-ups meanwhile, like those of an idle device's timers.
const WAKE_EVERY: Nanos = Nanos::from_millis(20);
const TIMEOUT: Nanos = Nanos::from_millis(30_000);

/// A trial.
pub(super) struct Trial<'a> {
    pub(super) root: &'a Root,
    /// The directory of the service's journal.
    pub(super) state_dir: &'a Path,
    pub(super) config: &'a Config,
    /// The only method to try; `None` for all that change something here.
    pub(super) method: Option<Method>,
    pub(super) pairs: usize,
    pub(super) emulated_clock: bool,
    /// A directory for the control socket, which no other user can enter.
    pub(super) directory: &'a Path,
}

impl Trial<'_> {
    /// Measures each method.
    ///
    /// # Errors
    /// `Unsupported` if none changes anything on this machine.
    pub(super) fn run(&self, seed: u64, monitor: &dyn Monitor) -> Result<Findings> {
        let methods = self.methods()?;
        let mut findings = Findings::default();
        let app = LoadAppArgs {
            load: None,
            threads: Threads(None),
            basic: values::duration_or_zero(BASIC).map_err(anyhow::Error::msg)?,
            emulated_clock: self.emulated_clock,
        };
        let options = Options {
            workloads: load_app::workloads(&[LOAD], &app, self.root, &mut findings)?,
            baseline: Condition { name: "as is".to_owned(), ..Condition::default() },
            is_alone: false,
            others: methods.into_iter().map(|method| self.condition(method)).collect(),
            pairs: self.pairs,
            warm_up: 1,
            pause: PAUSE,
            wake_every: WAKE_EVERY,
            timeout: TIMEOUT,
            energy_window: TIMEOUT,
            drop_caches: false,
            means: ReadyMeans::default(),
        };
        findings.merge(bench::run(&options, None, self.root, None, seed, monitor)?);
        Ok(findings)
    }

    fn methods(&self) -> Result<Vec<Method>> {
        let clocks = Machine::clocks(self.root);
        let plan = |method| Plan::new(method, &self.config.amounts(), &clocks, self.root);
        let wanted = self.method.map_or_else(|| METHODS.to_vec(), |method| vec![method]);
        let (useful, idle): (Vec<_>, Vec<_>) =
            wanted.into_iter().partition(|&method| !plan(method).moves.is_empty());
        match idle.first() {
            Some(&first) if useful.is_empty() => Err(nothing_to_boost(&plan(first)).into()),
            _ => Ok(useful),
        }
    }

    fn condition(&self, method: Method) -> Condition {
        let name = name(method);
        let socket = self.directory.join("boost.sock");
        // A trial measures what a boost does, whatever the power profile.
        let words = [
            "/proc/self/exe",
            "launch",
            "boost",
            "--no-store",
            "--in-power-saver",
            "--method",
            &name,
        ];
        let mut command: Vec<OsString> = words.map(OsString::from).into();
        command.extend(["--socket".into(), socket.into()]);
        command.extend(["--state-dir".into(), self.state_dir.into()]);
        if !self.root.is_system() {
            command.extend(["--root".into(), self.root.dir().into()]);
        }
        let service = Service { command, notifies: true, own: true };
        Condition { name, service: Some(service), ..Condition::default() }
    }
}

/// The method's name in options and in the configuration.
pub(super) fn name(method: Method) -> String {
    match serde_json::to_value(method) {
        Ok(Value::String(name)) => name,
        other => unreachable!("a method is a name: {other:?}"),
    }
}

/// The row of the method that shortens launches most, if one does.
pub(super) fn best(findings: &Findings) -> Option<Row> {
    let gain = |row: &Row| row.difference.as_ref().map_or(0.0, |difference| difference.value);
    bench::rows(findings)
        .into_iter()
        .filter(|row| row.name.ends_with("/total") && row.answer == Answer::Better)
        .min_by(|one, other| gain(one).total_cmp(&gain(other)))
}

#[cfg(test)]
mod tests {
    use unjank_measure::{Fact, Unit, Verdict};

    use super::*;

    fn compared(findings: &mut Findings, method: &str, change: f64, answer: Answer) {
        let name = "launch/bench/load-200ms/total";
        for (what, arm, value) in [("median", "as is", 100.0), ("median", method, 90.0)] {
            let fact = Fact::new(format!("{name}/{what}"), value, Unit::Nanoseconds);
            findings.facts.push(fact.with_label("arm", arm).with_label("against", method));
        }
        let difference = Fact::new(format!("{name}/difference"), change, Unit::Ratio);
        findings.facts.push(difference.with_label("against", method));
        findings.verdicts.push(Verdict {
            labels: [("against".to_owned(), method.to_owned())].into(),
            ..Verdict::new(name, "Is a launch shorter?", answer, "")
        });
    }

    #[test]
    fn the_method_that_gains_most_is_the_best() {
        let mut findings = Findings::default();
        compared(&mut findings, "sampling-rate", -0.05, Answer::Better);
        compared(&mut findings, "min-freq", -0.2, Answer::Better);
        compared(&mut findings, "double-tap", -0.3, Answer::CannotTell);
        assert_eq!(best(&findings).unwrap().other.0, "min-freq");
    }

    #[test]
    fn nothing_is_best_where_nothing_gains() {
        let mut findings = Findings::default();
        compared(&mut findings, "min-freq", 0.1, Answer::Worse);
        assert_eq!(best(&findings), None);
    }

    #[test]
    fn methods_are_called_as_in_the_configuration() {
        let names = METHODS.map(name);
        assert_eq!(names, ["min-freq", "double-tap", "sampling-rate", "preference", "uclamp"]);
    }
}
