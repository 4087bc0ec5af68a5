//! `unjank swap`: what the app needs was swapped out.

pub(crate) mod analyze;
pub(crate) mod convert;
mod input;
pub(crate) mod mrc;
pub(crate) mod paper;
mod policies;
pub(crate) mod probe;
mod reading;
pub(crate) mod record;
pub(crate) mod simulate;
pub(crate) mod sweep;
pub(crate) mod synth;
mod write_cost;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

/// Verbs of `unjank swap`.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Measure what it costs to bring an evicted page back
    Probe(probe::Args),
    /// Say what traces hold: skew, reuse, thrashing, launches, and which processes cause it
    Analyze(analyze::Args),
    /// Draw the misses of a trace over the size of the cache, under any policy
    Mrc(mrc::Args),
    /// Turn traces of storage and swap from one format into another
    Convert(convert::Args),
    /// Record what is paged in and out, as a trace
    Record(record::Args),
    /// Run a trace on a model: memory over a small fast tier over storage
    Simulate(simulate::Args),
    /// Try many policies on many sizes and traces, on all cores
    Sweep(sweep::Args),
    /// Repeat the figures of Bahn & Kim on synthetic phones, the paper's values beside ours
    Paper(paper::Args),
    /// Write the trace of a synthetic phone
    Synth(synth::Args),
}

/// Runs the verb that was typed.
pub(crate) fn run(verb: &Verb) -> Result<ExitCode> {
    match verb {
        Verb::Probe(args) => probe::run(args),
        Verb::Analyze(args) => analyze::run(args),
        Verb::Mrc(args) => mrc::run(args),
        Verb::Convert(args) => convert::run(args),
        Verb::Record(args) => record::run(args),
        Verb::Simulate(args) => simulate::run(args),
        Verb::Sweep(args) => sweep::run(args),
        Verb::Paper(args) => paper::run(args),
        Verb::Synth(args) => synth::run(args),
    }
}
