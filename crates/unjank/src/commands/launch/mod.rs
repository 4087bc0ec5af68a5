//! `unjank launch`: the CPU is still slow when an app starts.

pub(crate) mod bench;
pub(crate) mod boost;
pub(crate) mod device;
pub(crate) mod load;
pub(super) mod load_app;
pub(super) mod machine;
pub(super) mod meter;
pub(crate) mod power;
mod profiles;
pub(crate) mod ramp;
pub(crate) mod simulate;
pub(crate) mod verify;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

/// Verbs of `unjank launch`.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Measure how fast CPUs reach full speed after an idle gap
    Ramp(ramp::Args),
    /// Raise the clock while programs start, as a service
    Boost(Box<boost::Args>),
    /// Compare the launch time of any program under two or more conditions
    Bench(Box<bench::Args>),
    /// Run a synthetic app launch: work of a given length, then "on screen"
    Load(load::Args),
    /// Measure power, now or at each sampling period of the governor
    Power(Box<power::Args>),
    /// Simulate launches on models of the kernel's governors: time and energy
    Simulate(Box<simulate::Args>),
    /// Compare the models with this machine's governor, under real loads
    Verify(verify::Args),
}

pub(crate) fn run(verb: &Verb) -> Result<ExitCode> {
    match verb {
        Verb::Ramp(args) => ramp::run(args),
        Verb::Boost(args) => boost::run(args),
        Verb::Power(args) => power::run(args),
        Verb::Bench(args) => bench::run(args),
        Verb::Load(args) => load::run(args),
        Verb::Simulate(args) => simulate::run(args),
        Verb::Verify(args) => verify::run(args),
    }
}
