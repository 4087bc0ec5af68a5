//! `unjank repetition` (hidden): one start of a probe, in its own process.

use std::io;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};
use unjank_host::Root;
use unjank_host::process::HelperCommand;
use unjank_host::process::peer::{receive, send};
use unjank_launch::Launched;
use unjank_measure::{Findings, Monitor};

use super::ipc::peer as ipc_peer;
use super::parent::Parent;
use crate::exit;
use crate::interrupt::Interrupt;

/// The measurement to make: the only order.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Task {
    /// The cost of a page-in, with the seed of contents and orders.
    Swap(unjank_swap::Options, u64),
    /// Wake-up latency.
    Jitter(unjank_jitter::Options),
    /// The costs of waiting.
    Lock(unjank_lock::Options),
    /// Round trips to another process.
    Ipc(unjank_ipc::Options),
    /// One launch, by its number.
    Launch(unjank_launch::Options, u32),
}

/// The results of a start.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum StartOutcome {
    /// The findings of a probe.
    Findings(Box<Findings>),
    /// A launch, which is judged together with others.
    Launch(Box<Launched>),
    /// It was interrupted before it found anything.
    Nothing,
}

/// The report: the only answer.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Report {
    /// Its results.
    Done(StartOutcome),
    /// The failure, and its exit code.
    Failed { sentence: String, code: u8 },
}

/// Measures once and writes the report.
pub(crate) fn run(parent: Parent) -> Result<ExitCode> {
    let interrupt = Interrupt::listen().context("while listening for Ctrl-C")?;
    if !parent.lives()? {
        return Ok(ExitCode::SUCCESS);
    }
    let task = receive(&mut io::stdin().lock()).context("while reading the task")?;
    let Some(task) = task else { bail!("there is no task") };
    let report = match measure(&task, &Quiet(interrupt)) {
        Ok(outcome) => Report::Done(outcome),
        Err(error) => Report::Failed { sentence: exit::sentence(&error), code: exit::code(&error) },
    };
    send(&mut io::stdout().lock(), &report).context("while reporting")?;
    Ok(ExitCode::SUCCESS)
}

/// The command that starts this one.
pub(super) fn command() -> HelperCommand {
    HelperCommand::this_program(["repetition"])
}

/// Runs one probe.
fn measure(task: &Task, monitor: &dyn Monitor) -> Result<StartOutcome> {
    let root = Root::system();
    let findings = match task {
        Task::Swap(options, seed) => unjank_swap::run(options, &root, *seed, monitor)?,
        Task::Jitter(options) => unjank_jitter::run(options, &root, monitor)?,
        Task::Lock(options) => unjank_lock::run(options, monitor)?,
        Task::Ipc(options) => unjank_ipc::run(options, &ipc_peer::command(), monitor)?,
        Task::Launch(options, start) => {
            let launched = unjank_launch::launch(options, *start, monitor)?;
            let outcome = launched.map(|it| StartOutcome::Launch(Box::new(it)));
            return Ok(outcome.unwrap_or(StartOutcome::Nothing));
        }
    };
    Ok(StartOutcome::Findings(Box::new(findings)))
}

/// Shows no progress: the parent does. The parent also passes Ctrl-C on.
struct Quiet(Interrupt);

impl Monitor for Quiet {
    fn progress(&self, _fraction: f64, _doing: &str) {}

    fn stop_requested(&self) -> bool {
        self.0.requested()
    }
}
