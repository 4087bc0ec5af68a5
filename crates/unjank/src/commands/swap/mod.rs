//! `unjank swap`: the delay of swapped-out pages.

mod algorithms;
pub(crate) mod analyze;
pub(crate) mod bench;
pub(crate) mod convert;
pub(super) mod input;
pub(crate) mod mrc;
mod policies;
pub(crate) mod probe;
mod reading;
pub(crate) mod record;
mod requests;
pub(crate) mod score;
pub(crate) mod simulate;
pub(crate) mod sweep;
pub(crate) mod synth;
pub(crate) mod tier;
pub(crate) mod tierd;
pub(crate) mod trace;
pub(crate) mod tune;
mod write_cost;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

/// Verbs of `unjank swap`.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Measure how long it takes to bring an evicted page back
    Probe(probe::Args),
    /// Analyse traces: skew, reuse, thrashing, launches, and which processes cause them
    Analyze(analyze::Args),
    /// Show which threads of a recording looked for free memory, kswapd, and files read
    Trace(trace::Args),
    /// Draw the miss-ratio curve of a trace under any policy
    Mrc(mrc::Args),
    /// Rank policies by their distance from the offline optimum, over many traces
    Score(score::Args),
    /// Convert traces of storage and swap between formats
    Convert(convert::Args),
    /// Record page-ins and page-outs as a trace
    Record(record::Args),
    /// Replay a trace through a model of memory over a small fast tier over storage
    Simulate(simulate::Args),
    /// Simulate many policies on many sizes and traces, on all cores
    Sweep(sweep::Args),
    /// Write the trace of a synthetic phone
    Synth(synth::Args),
    /// Repeat the experiment of Bahn & Kim with real memory, beside the model
    Bench(Box<bench::Args>),
    /// An app of the bench; started by it
    #[command(hide = true)]
    BenchApp(bench::app::Args),
    /// Swap to a slow device with a small fast memory that keeps pages in frequent use
    #[command(subcommand)]
    Tier(tier::Verb),
    /// Write pages of zram that are not used again back to its backing device, as a service
    Tierd(Box<tierd::Args>),
    /// Measure this machine, propose swap settings for it, and apply them
    Tune(Box<tune::Args>),
}

pub(crate) fn run(verb: &Verb) -> Result<ExitCode> {
    match verb {
        Verb::Probe(args) => probe::run(args),
        Verb::Analyze(args) => analyze::run(args),
        Verb::Trace(args) => trace::run(args),
        Verb::Mrc(args) => mrc::run(args),
        Verb::Convert(args) => convert::run(args),
        Verb::Record(args) => record::run(args),
        Verb::Score(args) => score::run(args),
        Verb::Simulate(args) => simulate::run(args),
        Verb::Sweep(args) => sweep::run(args),
        Verb::Synth(args) => synth::run(args),
        Verb::Bench(args) => bench::run(args),
        Verb::BenchApp(args) => bench::app::run(args),
        Verb::Tier(verb) => tier::run(verb),
        Verb::Tierd(args) => tierd::run(args),
        Verb::Tune(args) => tune::run(args),
    }
}
