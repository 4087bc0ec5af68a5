//! What the service needs before it can begin: knobs that are held, and places
//! where launches are seen.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use unjank_host::journal::Session;
use unjank_host::process::Helper;
use unjank_host::process::connector::{EventKinds, ProcConnector};
use unjank_host::{Error, Machine, Root, Support, wait};
use unjank_launch::remedy::sources::Front;
use unjank_launch::remedy::{Config, Held, Plan, Sources};

use crate::output;

/// How often a knob is taken again after somebody else has changed it. Who
/// changes it more often is left in peace.
const PATIENCE: u32 = 3;

/// The knobs that the service holds.
pub(super) struct Clocks<'a> {
    session: &'a Session,
    root: Root,
    config: &'a Config,
    /// Those that are held, by where they really lie, with the name that the
    /// plan has for them.
    held: BTreeMap<String, PathBuf>,
    lost: BTreeMap<PathBuf, u32>,
    refused: Option<Error>,
}

impl<'a> Clocks<'a> {
    /// No knobs yet.
    pub(super) fn new(session: &'a Session, root: Root, config: &'a Config) -> Self {
        let (held, lost) = (BTreeMap::new(), BTreeMap::new());
        Self { session, root, config, held, lost, refused: None }
    }

    /// Takes what is in the plan for this machine and not held. What cannot be
    /// taken is said.
    pub(super) fn take(&mut self) -> Vec<Held> {
        let mut taken = Vec::new();
        for step in self.plan().moves {
            let known = self.held.values().any(|path| *path == step.path);
            if known || self.lost.get(&step.path).is_some_and(|&times| times > PATIENCE) {
                continue;
            }
            match Held::take(self.session, &step) {
                Ok(held) => {
                    let Step { normal, boosted, why, .. } = held.step();
                    output::remark(&format!("{}: {normal} → {boosted}: {why}", held.path()));
                    self.held.insert(held.path().to_owned(), step.path);
                    taken.push(held);
                }
                Err(error) => {
                    output::remark(&format!("{} is not changed: {error}", step.path.display()));
                    // Asked again as often as one that was lost.
                    *self.lost.entry(step.path).or_default() += 1;
                    self.refused.get_or_insert(error);
                }
            }
        }
        taken
    }

    /// A knob was given up.
    pub(super) fn lose(&mut self, knob: &str) {
        if let Some(path) = self.held.remove(knob) {
            let times = self.lost.entry(path).or_default();
            *times += 1;
            if *times > PATIENCE {
                output::remark(&format!("{knob} is left to whoever changes it, from now on"));
            }
        }
    }

    /// Why there is no knob to change: the first that was refused, or that
    /// there is none, and what can be done here instead.
    pub(super) fn nothing_to_change(&mut self) -> Error {
        self.refused.take().unwrap_or_else(|| nothing_to_change(&self.plan()))
    }

    /// What would be changed here now.
    pub(super) fn plan(&self) -> Plan {
        let clocks = Machine::clocks(&self.root);
        Plan::new(self.config.boost.method, &self.config.amounts(), &clocks, &self.root)
    }
}

type Step = unjank_launch::remedy::plan::Move;

/// Why nothing can be boosted, and what can be done here instead.
fn nothing_to_change(plan: &Plan) -> Error {
    let mut reasons: Vec<String> =
        plan.left.iter().map(|(what, why)| format!("{what}: {why}")).collect();
    reasons.dedup();
    let reasons = if reasons.is_empty() {
        "no knob can be changed here".to_owned()
    } else {
        reasons.join("; ")
    };
    Error::Unsupported(format!(
        "there is nothing to boost: {reasons}. What works here: unjank launch ramp measures how \
         fast the clock follows a load, unjank launch simulate what a boost would gain, and unjank \
         lab run --pstates exynos4210 has a clock"
    ))
}

/// Opens the places where launches are seen, and starts what they need.
pub(super) fn sources(config: &Config) -> Result<(Sources, Option<Helper>)> {
    let detect = &config.detect;
    let root = Root::system();
    let mut sources = Sources::default();
    if detect.exec {
        match ProcConnector::listen(EventKinds::EXEC)? {
            Support::Yes(events) => {
                // Where the kernel tells everything anyway, one is enough.
                if events.filters() {
                    sources.family = ProcConnector::listen(EventKinds::NONE)?.yes();
                }
                sources.exec = Some(events);
            }
            Support::No(reason) if detect.top_app.is_empty() && detect.logcat.is_empty() => {
                return Err(Error::Unsupported(format!("no launch can be seen: {reason}")).into());
            }
            Support::No(reason) => output::remark(&format!("starts are not seen: {reason}")),
        }
    }
    if !detect.top_app.is_empty() {
        let front = Front::watch(&root, &detect.top_app);
        sources.front = Some(front.context("while watching what comes to the front")?);
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
