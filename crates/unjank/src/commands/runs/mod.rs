//! `unjank runs`: the stored runs.

pub(crate) mod compare;
pub(crate) mod coverage;
pub(crate) mod export;
mod fleet;
pub(crate) mod import;
pub(crate) mod list;
mod open_metrics;
pub(crate) mod prune;
pub(crate) mod show;
mod source;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

/// Verbs of `unjank runs`.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// List the stored runs, newest first
    List(list::Args),
    /// Show one run as it was printed, or as JSON, Markdown or HTML
    Show(show::Args),
    /// Compare two runs series by series: better, worse, the same, or cannot
    /// tell
    Compare(compare::Args),
    /// Report how far several runs of the same thing agree: intervals, answers,
    /// comparisons
    Coverage(coverage::Args),
    /// Print whole runs as JSON lines, or their series as CSV
    Export(export::Args),
    /// Import run records, for example from a phone
    Import(import::Args),
    /// Remove old runs from the store
    Prune(prune::Args),
}

pub(crate) fn run(verb: &Verb) -> Result<ExitCode> {
    match verb {
        Verb::List(args) => list::run(args),
        Verb::Show(args) => show::run(args),
        Verb::Compare(args) => compare::run(args),
        Verb::Coverage(args) => coverage::run(args),
        Verb::Export(args) => export::run(args),
        Verb::Import(args) => import::run(args),
        Verb::Prune(args) => prune::run(args),
    }
}
