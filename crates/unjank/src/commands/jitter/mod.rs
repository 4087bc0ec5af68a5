//! `unjank jitter`: measures wake-up latency.

pub(crate) mod bench;
pub(crate) mod import;
pub(crate) mod jvm;
pub(crate) mod native;
pub(crate) mod trace;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

/// Verbs of `unjank jitter`.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Measure how late threads wake from absolute-time sleeps
    Native(native::Args),
    /// Show which threads of a recording waited for a CPU after they were woken, and why
    Trace(trace::Args),
    /// Measure how late threads of a JVM wake beside its garbage collector
    Jvm(jvm::Args),
    /// Compare jitter native with cyclictest in alternating pairs
    Bench(bench::Args),
    /// Import a result of cyclictest or jitterdebugger
    Import(import::Args),
}

pub(crate) fn run(verb: &Verb) -> Result<ExitCode> {
    match verb {
        Verb::Native(args) => native::run(args),
        Verb::Trace(args) => trace::run(args),
        Verb::Jvm(args) => jvm::run(args),
        Verb::Bench(args) => bench::run(args),
        Verb::Import(args) => import::run(args),
    }
}
