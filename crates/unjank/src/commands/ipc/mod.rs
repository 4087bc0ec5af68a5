//! `unjank ipc`: calls to another process.

pub(crate) mod bench;
pub(crate) mod caller;
pub(crate) mod inversion;
pub(crate) mod latency;
pub(crate) mod peer;
pub(crate) mod probe;
pub(crate) mod throughput;
pub(crate) mod trace;
pub(crate) mod transport_name;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

use crate::commands::parent::Parent;

/// Verbs of `unjank ipc`.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Measure request/reply round trips between two processes
    Probe(probe::Args),
    /// Measure calls back to back, over payload sizes
    Throughput(throughput::Args),
    /// Measure calls at real-time and ordinary priority, and check priority inheritance
    Latency(latency::Args),
    /// Measure what priority inversion costs a real-time call
    Inversion(inversion::Args),
    /// Show how long calls over binder took in a recording, and in which part of the way
    Trace(trace::Args),
    /// Compare calls with those of perf bench, and pi-channel with unix sockets
    Bench(bench::Args),
    /// The other process of a measurement; started by unjank itself
    #[command(hide = true)]
    Peer(peer::Args),
    /// The client process of a pair; started by unjank itself
    #[command(hide = true)]
    Caller(Parent),
}

pub(crate) fn run(verb: &Verb) -> Result<ExitCode> {
    match verb {
        Verb::Probe(args) => probe::run(args),
        Verb::Throughput(args) => throughput::run(args),
        Verb::Latency(args) => latency::run(args),
        Verb::Inversion(args) => inversion::run(args),
        Verb::Trace(args) => trace::run(args),
        Verb::Bench(args) => bench::run(args),
        Verb::Caller(parent) => caller::run(*parent),
        Verb::Peer(args) => peer::run(args),
    }
}
