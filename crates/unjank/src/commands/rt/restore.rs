//! `unjank rt restore`: puts threads back.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use serde::Serialize;
use unjank_host::Root;
use unjank_host::journal::{Mode, RestoreOutcome};
use unjank_host::thread_ledger::{FoundLedger, Kernel, LedgerStatus, Selection, restore};

use super::change_args::{StateArgs, threads_in};
use super::reporter::Reporter;
use crate::commands::leftovers::{code_of, damage};
use crate::{exit, output};

/// Arguments of `unjank rt restore`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank rt restore
  sudo unjank rt restore 4711
  sudo unjank rt restore --dry-run --json

Puts back what rt set --keep left changed, and what rt set or rt exec left
changed because it was killed together with its keeper. A thread is identified
by its number and its start time, so no other thread is ever touched. A thread
whose policy another program has changed since is left alone. `unjank restore`
does the same after a kill, and leaves the changes of --keep. Exit codes: 0 fine,
1 something is not put back or cannot be read, 3 this process cannot see the
threads (a chroot, another namespace), 4 not permitted.")]
pub(crate) struct Args {
    /// Only threads of this process
    #[arg(value_name = "PID")]
    process: Option<u32>,
    /// Only report what would be put back
    #[arg(long)]
    dry_run: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    state: StateArgs,
}

/// The output of `--json`.
#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: &'static str,
    dry_run: bool,
    sessions: &'a [FoundLedger],
}

/// Puts threads back, and prints the result.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let (mode, dry_run) = if args.dry_run { (Mode::DryRun, true) } else { (Mode::Act, false) };
    let which = args.process.map_or(Selection::All, Selection::Process);
    let found = restore(&Root::system(), &args.state.dir()?, which, mode, &Kernel::new())
        .context("while looking for what was left changed")?;
    if args.json {
        let document = Document { schema: "unjank.rt.restore/1", dry_run, sessions: &found };
        output::print(&output::json(&document)?)?;
    } else if found.is_empty() {
        output::print("nothing was left changed")?;
    } else {
        output::print(&text(&found))?;
    }
    Ok(ExitCode::from(code(&found)))
}

/// Puts back what killed sessions left, for `unjank restore`.
pub(crate) fn restore_killed(
    root: &Root,
    state_dir: &Path,
    mode: Mode,
) -> Result<Vec<FoundLedger>> {
    if !root.is_system() {
        // A tree that stands for a machine has no threads.
        return Ok(Vec::new());
    }
    restore(root, &threads_in(state_dir), Selection::CutOff, mode, &Kernel::new())
        .context("while looking for threads that were left changed")
}

/// The same, for a new session.
pub(super) fn restore_before_session(
    root: &Root,
    dir: &Path,
    kernel: &Kernel,
    reporter: Reporter,
) -> Result<()> {
    let found = restore(root, dir, Selection::CutOff, Mode::Act, kernel)
        .context("while putting back what an earlier unjank has left")?;
    let changes = found.iter().flat_map(|ledger| &ledger.changes);
    changes
        .filter(|change| !matches!(change.outcome, RestoreOutcome::Waits { .. }))
        .map(|change| format!("left by an earlier unjank: {change}"))
        .try_for_each(|text| reporter.remark(&text))
}

/// The exit code: whether anything is left changed.
pub(crate) fn code(found: &[FoundLedger]) -> u8 {
    let is_damaged = |ledger: &FoundLedger| {
        matches!(ledger.status, LedgerStatus::Unreadable { .. }) || !ledger.damaged.is_empty()
    };
    let outcomes = found.iter().flat_map(|ledger| &ledger.changes).map(|change| &change.outcome);
    let code = code_of(outcomes, found.iter().any(is_damaged));
    let is_hidden = |ledger: &FoundLedger| matches!(ledger.status, LedgerStatus::Hidden { .. });
    if code == exit::FINE && found.iter().any(is_hidden) { exit::UNSUPPORTED } else { code }
}

/// A sentence for each session, and a line for each of its changes.
pub(crate) fn text(found: &[FoundLedger]) -> String {
    let mut lines = output::Lines::default();
    for ledger in found {
        let session = session(ledger);
        let file = ledger.file.display();
        match &ledger.status {
            LedgerStatus::Live => {
                lines.add(format_args!("{session} is running, and puts its changes back itself"));
            }
            LedgerStatus::Kept if ledger.changes.is_empty() => {
                let (held, process) = (ledger.held, of_process(ledger));
                let threads = if held == 1 { "thread" } else { "threads" };
                lines.add(format_args!(
                    "{session} has left {held} {threads}{process} changed on purpose: unjank rt \
                     restore"
                ));
            }
            LedgerStatus::Kept => lines.add(format_args!("{session} left changed on purpose:")),
            LedgerStatus::CutOff => {
                lines.add(format_args!("{session} has ended and left changes:"));
            }
            LedgerStatus::Hidden { reason } => lines
                .add(format_args!("{session} cannot be checked from here and is kept: {reason}")),
            LedgerStatus::Unreadable { reason } => {
                lines.add(format_args!("{session} is not usable: {reason}"));
                lines.add(format_args!("  (remove {file} to give up its changes)"));
            }
        }
        for change in &ledger.changes {
            lines.add(format_args!("  {change}"));
        }
        if let Some(damage) = damage(&ledger.damaged, &ledger.file) {
            lines.add(format_args!("  {damage}"));
        }
    }
    lines.finish()
}

fn of_process(ledger: &FoundLedger) -> String {
    ledger.process.map_or(String::new(), |process| format!(" of process {process}"))
}

fn session(ledger: &FoundLedger) -> String {
    match (ledger.owner, &ledger.started_at) {
        (Some(owner), Some(time)) => format!("unjank rt (process {owner}, since {time})"),
        _ => format!("the journal {}", ledger.file.display()),
    }
}
