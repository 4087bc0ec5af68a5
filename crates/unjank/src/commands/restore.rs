//! `unjank restore`: puts back what a killed unjank left changed.

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use serde::Serialize;
use unjank_host::ErrorClass;
use unjank_host::journal::{FoundJournal, JournalStatus, Mode, restore};
use unjank_host::process::is_root;
use unjank_host::thread_ledger::FoundLedger;
use unjank_host::tracefs::remove_leftovers;
use unjank_swap::remedy::tier::directory::of_all;
use unjank_swap::remedy::tier::leftovers::{self, Leftover, Outcome};

use super::leftovers::{code_of, damage};
use super::place::PlaceArgs;
use super::rt;
use super::swap::tier;
use crate::{exit, output};

/// Arguments of `unjank restore`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank restore
  sudo unjank restore --dry-run
  sudo unjank restore --json | jq '.journals[].changes[]'

Needed only if unjank and its keeper were both killed, for instance with their
container or service. The next unjank that changes something does the same
first. A knob that another program has changed since is left alone. Exit codes:
0 nothing is left to put back, 1 something is left, or a journal is damaged,
3 this process cannot see the kernel's files (a chroot, another mount or network
namespace), 4 not permitted. Changes that are not put back stay in their
journals.")]
pub(crate) struct Args {
    /// Only report what would be put back
    #[arg(long)]
    dry_run: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: PlaceArgs,
}

/// The output of `--json`.
#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: &'static str,
    dry_run: bool,
    journals: &'a [FoundJournal],
    /// Threads whose policy a killed `rt` has left changed.
    threads: &'a [FoundLedger],
    /// Trace instances of dead processes that were removed.
    trace_instances: &'a [String],
    /// Swap tiers of dead processes that were taken down.
    swap_tiers: &'a [Tier],
}

/// Puts everything back, and prints the result.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let mode = if args.dry_run { Mode::DryRun } else { Mode::Act };
    let (root, state_dir) = (args.place.root(), args.place.state_dir()?);
    let found =
        restore(&root, &state_dir, mode).context("while looking for what was left changed")?;
    let threads = rt::restore::restore_killed(&root, &state_dir, mode)?;
    // A killed jitter run leaves an instance that does not record and has no
    // buffer; only its directory remains.
    let traces = match mode {
        Mode::Act => remove_leftovers(&root).context("while looking for trace instances")?.removed,
        Mode::DryRun => Vec::new(),
    };
    let tiers = if root.is_system() { tiers(mode)? } else { Vec::new() };
    if args.json {
        let document = Document {
            schema: "unjank.restore/1",
            dry_run: args.dry_run,
            journals: &found,
            threads: &threads,
            trace_instances: &traces,
            swap_tiers: &tiers,
        };
        output::print(&output::json(&document)?)?;
    } else {
        let text = text(&found, &traces) + &tiers_text(&tiers) + &rt::restore::text(&threads);
        output::print(if text.is_empty() { "nothing was left changed" } else { &text })?;
    }
    let codes = [code(&found), rt::restore::code(&threads)];
    let mut codes = codes.into_iter().chain(tiers.iter().map(|tier| tier.code));
    Ok(ExitCode::from(codes.find(|&code| code != exit::FINE).unwrap_or(exit::FINE)))
}

/// A swap tier whose processes were all killed.
#[derive(Debug, Serialize)]
struct Tier {
    name: String,
    /// What became of it.
    outcome: String,
    #[serde(skip)]
    code: u8,
}

/// Takes down the swap tiers whose processes were all killed. Only root has any.
fn tiers(mode: Mode) -> Result<Vec<Tier>> {
    let all = of_all();
    let found = match mode {
        Mode::Act => leftovers::take_down(&all, &tier::helpers())
            .map(|tiers| tiers.into_iter().map(taken_down).collect()),
        Mode::DryRun => leftovers::names(&all).map(|names| {
            let would =
                |name| Tier { name, outcome: "would be taken down".to_owned(), code: exit::FINE };
            names.into_iter().map(would).collect()
        }),
    };
    match found {
        Err(error) if error.class() == ErrorClass::Permission && !is_root() => Ok(Vec::new()),
        found => found.context("while looking for swap tiers"),
    }
}

fn taken_down(Leftover { name, outcome }: Leftover) -> Tier {
    let text = outcome.to_string();
    let code = match outcome {
        Outcome::Down => exit::FINE,
        Outcome::Short(_) => exit::FAILURE,
        Outcome::Failed(error) => exit::code(&error.into()),
    };
    Tier { name, outcome: text, code }
}

fn tiers_text(tiers: &[Tier]) -> String {
    let lines =
        tiers.iter().map(|Tier { name, outcome, .. }| format!("the swap tier {name} {outcome}"));
    lines.collect::<output::Lines>().finish()
}

fn code(found: &[FoundJournal]) -> u8 {
    let is_damaged = |journal: &&FoundJournal| {
        matches!(journal.status, JournalStatus::Unreadable { .. }) || !journal.damaged.is_empty()
    };
    let outcomes = found.iter().flat_map(|journal| &journal.changes).map(|change| &change.outcome);
    code_of(outcomes, found.iter().any(|journal| is_damaged(&journal)))
}

fn text(found: &[FoundJournal], traces: &[String]) -> String {
    let mut lines = output::Lines::default();
    for trace in traces {
        lines.add(format_args!("the trace instance {trace} is removed"));
    }
    for journal in found {
        let session = session(journal);
        let file = journal.file.display();
        match &journal.status {
            JournalStatus::Live => {
                lines.add(format_args!("{session} is running, and puts its changes back itself"));
            }
            JournalStatus::Kept { by } => {
                lines.add(format_args!(
                    "{session} has left its changes in place: unjank {by} --undo takes them back"
                ));
            }
            JournalStatus::Stale if journal.changes.is_empty() => {
                lines.add(format_args!("{session} had nothing changed"));
            }
            JournalStatus::Stale => lines.add(format_args!("{session} was cut off:")),
            JournalStatus::Elsewhere { root } => {
                lines.add(format_args!("{session} is about the tree {root}; use --root {root}"));
            }
            JournalStatus::Unreadable { reason } => {
                lines.add(format_args!("{session} is not usable: {reason}"));
                lines.add(format_args!("  (remove {file} to give up its changes)"));
            }
        }
        for change in &journal.changes {
            lines.add(format_args!("  {change}"));
        }
        if let Some(damage) = damage(&journal.damaged, &journal.file) {
            lines.add(format_args!("  {damage}"));
        }
    }
    lines.finish()
}

fn session(journal: &FoundJournal) -> String {
    match (journal.pid, &journal.started_at) {
        (Some(pid), Some(time)) => format!("unjank (process {pid}, since {time})"),
        _ => format!("the journal {}", journal.file.display()),
    }
}
