//! Arguments and files of the paper's experiments.

use std::path::Path;

use anyhow::{Context as _, Result};
use unjank_host::sched::CpuSet;
use unjank_host::{Machine, Root};
use unjank_launch::bench::{self, ReadyMeans};
use unjank_launch::paper::{rules, setup};
use unjank_launch::simulate::paper::{Assumptions, Prediction};
use unjank_measure::Findings;

use super::args::Args;
use crate::commands::launch::load::Threads;
use crate::commands::launch::load_app::{LoadAppArgs, workloads};
use crate::commands::launch::machine;
use crate::paths;

/// The model's prediction for the paper's device or `--device`, with this
/// machine's CPUs and its kernel's rules.
pub(super) fn prediction(args: &Args, root: &Root) -> Result<Prediction> {
    let cpus = CpuSet::allowed().map_or(2, |cpus| cpus.len()).clamp(1, 64);
    let device = args.meter.device().unwrap_or(setup::DEVICE);
    let mut assumed = Assumptions::usual(machine::find(device, cpus, 250)?);
    assumed.work = args.basic;
    assumed.loads.clone_from(&args.load);
    let release = Machine::read(root).kernel.release;
    Ok(Prediction::of(&assumed, rules(&release))?)
}

/// Launches at the usual sampling period, and with the service, whose rules and socket
/// are in `directory`.
pub(super) fn launches(
    args: &Args,
    root: &Root,
    directory: &Path,
    findings: &mut Findings,
) -> Result<bench::Options> {
    let baseline = setup::baseline(&Machine::clocks(root))?;
    let rules = directory.join("boost.toml");
    std::fs::write(&rules, setup::RULES).context("while writing the rules of the service")?;
    let socket = directory.join("boost.sock");
    let service = setup::service(&rules, &socket, args.state_dir.as_deref());
    let load_app = LoadAppArgs {
        load: None,
        threads: Threads(None),
        basic: args.basic,
        emulated_clock: args.emulates_clock(root),
    };
    Ok(setup::launches(
        workloads(&args.load, &load_app, root, findings)?,
        [baseline, service],
        args.pairs(),
        ReadyMeans { sockets: paths::temporary(), ..ReadyMeans::default() },
    ))
}
