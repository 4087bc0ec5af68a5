//! `unjank launch`: the CPU is still slow when an app starts.

pub(crate) mod bench;
pub(crate) mod boost;
mod changes;
pub(crate) mod device;
pub(crate) mod load;
mod machine;
mod meter;
pub(crate) mod paper;
pub(crate) mod power;
mod profiles;
pub(crate) mod ramp;
mod shorthand;
pub(crate) mod simulate;
mod sweep;
pub(crate) mod verify;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

/// Verbs of `unjank launch`.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Measure how fast CPUs get up to speed after an idle gap
    Ramp(ramp::Args),
    /// Raise the clock while programs start, as a service
    Boost(Box<boost::Args>),
    /// Measure the launch of any program, under one condition or several in turn
    Bench(Box<bench::Args>),
    /// Run a synthetic app launch: work of a given length, then "on screen"
    Load(load::Args),
    /// Measure the power the machine takes, now or at each sampling period of its governor
    Power(Box<power::Args>),
    /// Repeat Jo & Suh's experiments: launch times and idle energy, their values beside ours
    Paper(Box<paper::Args>),
    /// Simulate launches on models of the kernel's governors: time and energy
    Simulate(Box<simulate::Args>),
    /// Hold the models against this machine's governor, through real loads
    Verify(verify::Args),
}

/// Runs the verb that was typed.
pub(crate) fn run(verb: &Verb) -> Result<ExitCode> {
    match verb {
        Verb::Ramp(args) => ramp::run(args),
        Verb::Boost(args) => boost::run(args),
        Verb::Paper(args) => paper::run(args),
        Verb::Power(args) => power::run(args),
        Verb::Bench(args) => bench::run(args),
        Verb::Load(args) => load::run(args),
        Verb::Simulate(args) => simulate::run(args),
        Verb::Verify(args) => verify::run(args),
    }
}
