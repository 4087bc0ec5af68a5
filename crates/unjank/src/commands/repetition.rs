//! `unjank repetition` (hidden): one start of a probe, in its own process.

use std::io::{self, Write as _};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use unjank_host::{Root, process};
use unjank_measure::{Findings, Monitor};

use super::ipc::peer;
use crate::exit;
use crate::interrupt::Interrupt;

/// Arguments of `unjank repetition`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The process that started it
    parent: u32,
}

/// The measurement to make, as JSON on stdin.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Task {
    /// The cost of a page-in, with the seed of contents and orders.
    Swap(unjank_swap::Options, u64),
    /// Wake-up latency.
    Jitter(unjank_jitter::Options),
    /// What waiting costs.
    Lock(unjank_lock::Options),
    /// Round trips to another process.
    Ipc(unjank_ipc::Options),
}

/// The report, as JSON on stdout.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Report {
    /// The probe's findings.
    Done(Box<Findings>),
    /// The failure, and its exit code.
    Failed { sentence: String, code: u8 },
}

/// Measures once and writes the report.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let interrupt = Interrupt::listen().context("while listening for Ctrl-C")?;
    if !process::die_with_parent(args.parent)? {
        return Ok(ExitCode::SUCCESS);
    }
    let task = serde_json::from_reader(io::stdin().lock()).context("while reading the task")?;
    let report = match measure(&task, &Quiet(interrupt)) {
        Ok(findings) => Report::Done(Box::new(findings)),
        Err(error) => Report::Failed { sentence: exit::sentence(&error), code: exit::code(&error) },
    };
    let mut stdout = io::stdout().lock();
    serde_json::to_writer(&mut stdout, &report)
        .map_err(io::Error::from)
        .and_then(|()| stdout.flush())
        .context("while reporting")?;
    Ok(ExitCode::SUCCESS)
}

/// Runs one probe.
fn measure(task: &Task, monitor: &dyn Monitor) -> Result<Findings> {
    let root = Root::system();
    Ok(match task {
        Task::Swap(options, seed) => unjank_swap::run(options, &root, *seed, monitor)?,
        Task::Jitter(options) => unjank_jitter::run(options, &root, monitor)?,
        Task::Lock(options) => unjank_lock::run(options, monitor)?,
        Task::Ipc(options) => unjank_ipc::run(options, &peer::command(), monitor)?,
    })
}

/// Shows no progress: the parent does. The parent also passes Ctrl-C on.
struct Quiet(Interrupt);

impl Monitor for Quiet {
    fn progress(&self, _fraction: f64, _doing: &str) {}

    fn stop_requested(&self) -> bool {
        self.0.requested()
    }
}
