//! Prepares the service: holds knobs, and opens the sources of launches.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use unjank_host::journal::Session;
use unjank_host::process::Helper;
use unjank_host::process::connector::{EventKinds, ProcConnector};
use unjank_host::{Error, Machine, Root, Support, wait};
use unjank_launch::remedy::plan::KnobChange;
use unjank_launch::remedy::rivals::Retakes;
use unjank_launch::remedy::sources::Foreground;
use unjank_launch::remedy::{Config, HeldKnob, Plan, Sources};

use crate::output;

/// The knobs that the service holds.
pub(super) struct HeldKnobs<'a> {
    session: &'a Session,
    root: Root,
    config: &'a Config,
    /// Held knobs: resolved path, and path in the plan.
    held: BTreeMap<String, PathBuf>,
    retakes: Retakes,
    refused: Option<Error>,
}

impl<'a> HeldKnobs<'a> {
    /// Holds no knob yet.
    pub(super) fn new(session: &'a Session, root: Root, config: &'a Config) -> Self {
        let (held, retakes) = (BTreeMap::new(), Retakes::default());
        Self { session, root, config, held, retakes, refused: None }
    }

    /// Takes the knobs of this machine's plan that are not held yet, and reports
    /// those that cannot be taken.
    pub(super) fn take(&mut self) -> Vec<HeldKnob> {
        let mut taken = Vec::new();
        for step in self.plan().moves {
            let known = self.held.values().any(|path| *path == step.path);
            if known || !self.retakes.allow(&step.path) {
                continue;
            }
            match HeldKnob::take(self.session, &step) {
                Ok(held) => {
                    let KnobChange { normal, boosted, why, .. } = held.step();
                    output::remark(&format!("{}: {normal} → {boosted}: {why}", held.path()));
                    self.held.insert(held.path().to_owned(), step.path);
                    taken.push(held);
                }
                Err(error) => {
                    output::remark(&format!("{} is not changed: {error}", step.path.display()));
                    // Tried again as often as a lost knob.
                    self.retakes.lose(&step.path);
                    self.refused.get_or_insert(error);
                }
            }
        }
        taken
    }

    /// Notes that the service gave up a knob.
    pub(super) fn lose(&mut self, knob: &str) {
        if let Some(path) = self.held.remove(knob)
            && !self.retakes.lose(&path)
        {
            output::remark(&format!("{knob} is not taken again: other programs keep changing it"));
        }
    }

    /// The error if no knob is held: the first refusal, or why there is none and
    /// what works here instead.
    pub(super) fn nothing_to_change(&mut self) -> Error {
        self.refused.take().unwrap_or_else(|| nothing_to_boost(&self.plan()))
    }

    /// The plan for this machine now.
    pub(super) fn plan(&self) -> Plan {
        let clocks = Machine::clocks(&self.root);
        Plan::new(self.config.boost.method, &self.config.amounts(), &clocks, &self.root)
    }
}

/// Why a plan changes nothing, and what works on such a machine instead.
pub(super) fn nothing_to_boost(plan: &Plan) -> Error {
    Error::Unsupported(format!(
        "nothing can be boosted: {}. What works here: unjank launch ramp measures how fast the \
         clock follows a load, unjank launch simulate models what a boost gains, and unjank lab \
         run --pstates exynos4210 runs a virtual phone with a clock",
        plan.reasons()
    ))
}

/// Opens the sources of launches, and starts logcat if it is one.
pub(super) fn sources(config: &Config) -> Result<(Sources, Option<Helper>)> {
    let detect = &config.detect;
    let root = Root::system();
    let mut sources = Sources::default();
    if detect.exec {
        match ProcConnector::listen(EventKinds::EXEC)? {
            Support::Yes(events) => {
                // A kernel that does not filter reports forks and exits to the first one.
                if events.filters() {
                    sources.family = ProcConnector::listen(EventKinds::NONE)?.yes();
                }
                sources.exec = Some(events);
            }
            Support::No(reason) if detect.top_app.is_empty() && detect.logcat.is_empty() => {
                let reason = format!("launches cannot be detected: {reason}");
                return Err(Error::Unsupported(reason).into());
            }
            Support::No(reason) => {
                output::remark(&format!("exec events are unavailable: {reason}"));
            }
        }
    }
    if !detect.top_app.is_empty() {
        let foreground = Foreground::watch(&root, &detect.top_app);
        sources.foreground = Some(foreground.context("while watching the foreground processes")?);
    }
    let logcat = match detect.logcat.as_slice() {
        [] => None,
        [program, arguments @ ..] => {
            let mut command = Command::new(program);
            command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
            let mut helper = Helper::start_tied(&mut command)?;
            let log = helper.take_output().0.map(OwnedFd::from);
            if let Some(log) = &log {
                wait::never_wait(log)?;
            }
            sources.log = log;
            Some(helper)
        }
    };
    Ok((sources, logcat))
}
