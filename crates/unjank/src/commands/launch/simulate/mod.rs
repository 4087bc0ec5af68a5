//! `unjank launch simulate`: launches on models of the kernel's governors.

mod boosts;
mod tunables;

use std::process::ExitCode;

use anyhow::Result;
use unjank_host::Nanos;
use unjank_launch::model::Profile;
use unjank_launch::model::governor::NAMES;
use unjank_launch::simulate::{self, Scenario, paper};
use unjank_measure::Findings;

use super::{machine, profiles};
use crate::commands::measured::{self, OutputArgs, Settings};
use crate::values;

use boosts::BoostArgs;
use tunables::{Assignment, Range};

/// Arguments of `unjank launch simulate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank launch simulate                            # a launch of 1 s, under each boost
  unjank launch simulate --load 100ms,400ms --governor ondemand:3.4
  unjank launch simulate app bursts my-app.toml rt-app.json --governor schedutil
  unjank launch simulate --sweep sampling_rate=10ms..200ms --sweep up_threshold=60..95
  unjank launch simulate --paper --html paper.html  # Fig. 2 and 3 of Jo & Suh

A boost (--boost) is one of
  none         no boost
  plain        as in the paper: another period (--during) during the launch
  double-tap   the period written twice, --tap apart: since 4.6 each write makes
               the governor evaluate the load
  min-freq     the lower limit raised to the upper one
  uclamp       utilization of at least 1024 of 1024, for schedutil
  performance  the performance governor all the time, to compare with

Nothing is measured: numbers come from models of the kernel's governors and from
the powers of the device's profile. docs/reference/launch/simulate.md describes profiles.")]
pub(crate) struct Args {
    /// Load profiles: a shipped one (burst, bursts, half, staircase, frames, app), or a file
    /// (.toml, or .json of rt-app) [default: a launch, see --work]
    #[arg(value_name = "PROFILE")]
    profiles: Vec<String>,
    /// Work until the app is on screen, at the highest frequency, on one thread
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = values::duration, conflicts_with = "profiles")]
    work: Nanos,
    /// Loads after it on every CPU, at the highest frequency: one launch for each
    #[arg(long, value_name = "TIME,…", value_delimiter = ',', value_parser = values::duration, conflicts_with = "profiles")]
    load: Vec<Nanos>,
    /// Device: a shipped profile, or a profile file
    #[arg(long, value_name = "NAME|FILE", default_value = "exynos4210")]
    device: String,
    /// Number of CPUs
    #[arg(long, value_name = "N", default_value_t = 2)]
    cpu_count: usize,
    /// Kernel ticks per second
    #[arg(long, value_name = "N", default_value_t = 250, value_parser = clap::value_parser!(u32).range(10..=10_000))]
    hz: u32,
    /// Governor, and the first kernel with its rules
    #[arg(long, value_name = "NAME[:ERA]", default_value = "ondemand", help = governor_help())]
    governor: String,
    /// A tunable of the governor
    #[arg(long = "set", value_name = "NAME=VALUE")]
    values: Vec<Assignment>,
    #[command(flatten)]
    boosts: BoostArgs,
    /// Try a tunable's values from LEAST to MOST, N of them [default: 20]; several make a grid
    #[arg(long, value_name = "NAME=LEAST..MOST[/N]", conflicts_with = "paper")]
    sweep: Vec<Range>,
    /// Moments within the governor's period at which each launch begins
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    phases: u32,
    /// Jo & Suh's experiment: a Galaxy S II, 100 ms and 50 ms; prints the paper's values too
    #[arg(long, conflicts_with_all = ["profiles", "values", "boost"])]
    paper: bool,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let machine = machine::find(&args.device, args.cpu_count, args.hz)?;
    simulate::check(&machine)?;
    let (mut settings, mut warnings) = (settings(args), Vec::new());
    let scenario = Scenario {
        machine,
        governor: args.governor.clone(),
        values: args.values.iter().map(|assignment| assignment.0).collect(),
        profiles: profiles(args, &mut warnings)?,
        phases: args.phases,
    };
    if !args.paper {
        for tunable in unjank_launch::model::Tunable::ALL {
            if let Some(value) = scenario.governor()?.value(*tunable) {
                settings = settings.with(tunable.name(), value);
            }
        }
    }
    let command = measured::Command { name: "launch simulate", output: &args.output, settings };
    command.run(|_, _, monitor| {
        let mut findings = if args.paper {
            paper_findings(args)?
        } else if args.sweep.is_empty() {
            simulate::run(&scenario, &args.boosts.all(&scenario)?)?
        } else {
            let sweeps: Vec<_> = args.sweep.iter().map(|range| range.0.clone()).collect();
            let boost = args.boosts.one(&scenario)?;
            simulate::run_sweep(&scenario, &sweeps, &boost, monitor)?
        };
        for warning in warnings {
            findings.warn(warning);
        }
        Ok(findings)
    })
}

/// The requested profiles; ignored parts of files go to `warnings`.
fn profiles(args: &Args, warnings: &mut Vec<String>) -> Result<Vec<Profile>> {
    if !args.profiles.is_empty() {
        return profiles::named(&args.profiles, warnings);
    }
    let none = [Nanos::ZERO];
    let loads = if args.load.is_empty() { &none[..] } else { &args.load };
    Ok(loads.iter().map(|load| Profile::launch(args.work, *load, args.cpu_count)).collect())
}

/// The paper's kernel had 200 ticks a second.
fn paper_findings(args: &Args) -> Result<Findings> {
    let mut assumed = paper::Assumptions::usual(machine::find(&args.device, args.cpu_count, 200)?);
    assumed.work = args.work;
    if !args.load.is_empty() {
        assumed.loads.clone_from(&args.load);
    }
    assumed.phases = args.phases;
    Ok(paper::run(&assumed)?)
}

fn settings(args: &Args) -> Settings {
    let list = |values: Vec<String>| values.join(",");
    Settings::modelled()
        .with("profiles", list(args.profiles.clone()))
        .with("work", args.work.get())
        .with("load", list(args.load.iter().map(|load| load.get().to_string()).collect()))
        .with("device", args.device.clone())
        .with("cpu_count", args.cpu_count)
        .with("hz", args.hz)
        .with("governor", args.governor.clone())
        .with(
            "boost",
            list(args.boosts.boost.iter().map(|boost| boost.name().to_owned()).collect()),
        )
        .with("during", args.boosts.during.get())
        .with("reaction", args.boosts.reaction.get())
        .with("tap", args.boosts.tap.get())
        .with("sweep", list(args.sweep.iter().map(ToString::to_string).collect()))
        .with("phases", args.phases)
        .with("paper", args.paper)
}

fn governor_help() -> String {
    format!("Governor, and the first kernel with its rules: {}", NAMES.join(", "))
}
