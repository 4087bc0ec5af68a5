//! `unjank launch verify`: compares the models with this machine's governor.

use std::process::ExitCode;

use anyhow::Result;
use unjank_launch::verify;

use super::profiles;
use crate::commands::measured::{self, OutputArgs, Settings};

/// Arguments of `unjank launch verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank launch verify
  sudo unjank launch verify burst my-app.toml --html verify.html
  sudo unjank with /sys/devices/system/cpu/cpufreq/ondemand/sampling_rate=97000 \\
    -- unjank launch verify

Runs each load profile under this machine's own governor, and records the
scheduler and cpu_frequency in a private trace. The CPUs' busy times and the
tunables go into the governor's model. Its frequency changes must have the same
sequence as the machine's, each within one sampling period. Needs root.")]
pub(crate) struct Args {
    /// Load profiles: shipped ones, or files (.toml, or .json of rt-app) [default: all shipped]
    #[arg(value_name = "PROFILE")]
    profiles: Vec<String>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the loads, compares and prints.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let mut warnings = Vec::new();
    let profiles = profiles::all_or(&args.profiles, &mut warnings)?;
    let names: Vec<&str> = profiles.iter().map(|profile| profile.name.as_str()).collect();
    let command = measured::Command {
        name: "launch verify",
        output: &args.output,
        settings: Settings::default().with("profiles", names.join(",")),
    };
    command.run(|root, _, monitor| {
        let mut findings = verify::run(&profiles, root, monitor)?;
        for warning in warnings {
            findings.warn(warning);
        }
        Ok(findings)
    })
}
