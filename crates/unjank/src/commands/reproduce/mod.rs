//! `unjank reproduce`: what the publications claim, beside what comes out here.

mod all;
mod binder;
mod launch;
mod locks;
mod paper;
mod phone;
mod rt;
mod swap;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

/// Arguments of `unjank reproduce`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:
  sudo unjank reproduce --quick                      # every paper, in ten minutes
  sudo unjank reproduce all --html papers.html       # with the papers' own parameters
  unjank reproduce swap                              # one of them
  unjank reproduce locks --quick --json | jq '.tables[0]'

For each published value: the authors' value, ours with a 95 % interval, how it was obtained
(measured on this machine, emulated in the virtual phone, or modelled), and whether the claim
holds, fails or is undecided, with the reason. Where this machine lacks a part (the governor
ondemand, the binder driver), the virtual phone has it: see unjank lab.")]
pub(crate) struct Args {
    #[command(subcommand)]
    paper: Option<Which>,
    #[command(flatten)]
    all: all::AllArgs,
}

/// The publications.
#[derive(Debug, Subcommand)]
enum Which {
    /// Jo & Suh: a shorter sampling period of ondemand while apps launch
    Launch(Box<launch::Args>),
    /// Bahn & Kim: thrashing of phones with swap, and a small tier of fast memory
    Swap(swap::Args),
    /// Higashiyama et al.: a real-time thread beside a garbage collector
    Rt(rt::Args),
    /// Olivas & Chynoweth: ways to wait for a lock in a thread pool
    Locks(locks::Args),
    /// AOSP: binder and hwbinder performance tests
    Binder(binder::Args),
    /// All of them: the default
    All(all::AllArgs),
}

/// Runs the given experiments.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    match &args.paper {
        Some(Which::Launch(args)) => launch::run(args),
        Some(Which::Swap(args)) => swap::run(args),
        Some(Which::Rt(args)) => rt::run(args),
        Some(Which::Locks(args)) => locks::run(args),
        Some(Which::Binder(args)) => binder::run(args),
        Some(Which::All(all)) => all::run(all),
        None => all::run(&args.all),
    }
}
