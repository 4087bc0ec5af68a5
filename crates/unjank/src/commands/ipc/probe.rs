//! `unjank ipc probe`: request/reply round trips between two processes.

use std::process::ExitCode;

use anyhow::Result;
use unjank_host::sched::CpuSet;
use unjank_host::{Bytes, Nanos};
use unjank_ipc::{Options, Placement, explain};

use super::transport_name::TransportName;
use crate::commands::measured::{self, OutputArgs, Settings};
use crate::commands::repeated::{self, Repeated, StartArgs};
use crate::commands::repetition::Task;
use crate::values;

/// Arguments of `unjank ipc probe`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank ipc probe
  unjank ipc probe --transport unix,futex --placement two-cpus --payload 4096
  unjank ipc probe --deadline 500us --for 30s --html calls.html

A round trip begins before the request is written and ends when the reply has
been read. The other process is unjank itself and only echoes. Over binder, if
servicemanager runs, servicemanager is pinged instead.")]
pub(crate) struct Args {
    /// Transports, measured one after the other
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "TRANSPORT,…",
        default_value = "unix,pipe,futex,pi,binder,hwbinder"
    )]
    transport: Vec<TransportName>,
    /// Where the two processes run
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "PLACEMENT,…",
        default_value = "one-cpu,two-cpus"
    )]
    placement: Vec<PlacementName>,
    /// Bytes of a request, and of its reply
    #[arg(long, value_name = "SIZE", default_value = "16", value_parser = values::bytes)]
    payload: Bytes,
    /// A call that takes longer misses its deadline
    #[arg(long, value_name = "TIME", default_value = "2500us", value_parser = values::duration)]
    deadline: Nanos,
    /// How long to measure in total
    #[arg(long = "for", value_name = "TIME", default_value = "6s", value_parser = values::duration)]
    duration: Nanos,
    /// Measure for 1.5 s in total
    #[arg(long, conflicts_with = "duration")]
    quick: bool,
    /// Idle time between batches of 32 calls
    #[arg(long, value_name = "TIME", value_parser = values::duration_or_zero)]
    gap: Option<Nanos>,
    #[command(flatten)]
    starts: StartArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// A placement as it is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum PlacementName {
    /// Both on one CPU: two context switches a call
    OneCpu,
    /// On two CPUs: two wake-ups across them a call
    TwoCpus,
    /// Where the scheduler puts them
    Free,
}

impl From<PlacementName> for Placement {
    fn from(name: PlacementName) -> Self {
        match name {
            PlacementName::OneCpu => Self::OneCpu,
            PlacementName::TwoCpus => Self::TwoCpus,
            PlacementName::Free => Self::Free,
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let options = Options {
        transports: args.transport.iter().map(|&name| name.into()).collect(),
        placements: args.placement.iter().map(|&name| name.into()).collect(),
        payload: usize::try_from(args.payload.get()).unwrap_or(usize::MAX),
        duration: if args.quick { Nanos::from_millis(1_500) } else { args.duration },
        deadline: args.deadline,
        pause: args.gap,
        turn: 0,
    };
    let (starts, length) = args.starts.divide(options.duration);
    let command = measured::Command {
        name: "ipc probe",
        output: &args.output,
        settings: settings(&options).with("starts", starts),
    };
    command.run(|root, seed, monitor| {
        let repeated = Repeated::new(root, "calls", length, |turn| {
            Task::Ipc(Options { duration: length, turn: turn as usize, ..options.clone() })
        });
        let mut findings = repeated::run(repeated, starts, seed, monitor)?;
        findings.verdicts.push(explain::verdict(&findings, explain::NEXT_COMMAND));
        Ok(findings)
    })
}

/// CPUs of client and server in the first start, as `0,1`; `None` if the scheduler
/// decides.
pub(super) fn cpus(placement: Placement) -> Option<String> {
    let (client, server) = placement.cpus(&CpuSet::allowed().ok()?)?;
    Some(format!("{client},{server}"))
}

fn settings(options: &Options) -> Settings {
    let names = |names: Vec<&'static str>| names;
    Settings::default()
        .with("transport", names(options.transports.iter().map(|t| t.name()).collect()))
        .with("placement", names(options.placements.iter().map(|p| p.name()).collect()))
        .with("cpus", options.placements.iter().map(|&p| cpus(p)).collect::<Vec<_>>())
        .with("payload", options.payload)
        .with("deadline", options.deadline.get())
        .with("for", options.duration.get())
        .with("gap", options.pause.map(Nanos::get))
}
