//! `unjank lock`: waiting for locks.

pub(crate) mod bench;
pub(crate) mod doctor;
pub(crate) mod meter;
pub(crate) mod peer;
pub(crate) mod probe;
pub(crate) mod trial;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

use crate::commands::parent::Parent;

/// Verbs of `unjank lock`.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Measure what each way of waiting costs on this machine
    Probe(probe::Args),
    /// Compare ways to wait for a lock: throughput, CPU time, waits and fairness over a grid
    Bench(bench::Args),
    /// Started by lock bench to measure under a quota or to keep CPUs busy
    #[command(hide = true)]
    Peer(Parent),
    /// Watch a running program: sleep loops, yields, spinning, contended locks
    Doctor(doctor::Args),
    /// Try whether a program is faster if its contended mutexes spin before they sleep
    Try(trial::Args),
}

pub(crate) fn run(verb: &Verb) -> Result<ExitCode> {
    match verb {
        Verb::Probe(args) => probe::run(args),
        Verb::Bench(args) => bench::run(args),
        Verb::Peer(parent) => peer::run(*parent),
        Verb::Doctor(args) => doctor::run(args),
        Verb::Try(args) => trial::run(args),
    }
}
