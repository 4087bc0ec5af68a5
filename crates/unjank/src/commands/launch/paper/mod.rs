//! `unjank launch paper`: Jo & Suh's experiments on this machine, in one run.

mod args;
mod setup;

use std::process::ExitCode;

use anyhow::Result;
use unjank_host::energy::Meter;
use unjank_host::{Root, Support};
use unjank_launch::paper::{self, PaperResults};
use unjank_measure::{Findings, Monitor};

use crate::commands::{measured, session};
use crate::paths;

pub(crate) use args::Args;
use args::Skip;

/// The same experiments in the virtual phone, on any machine.
const ANYWHERE: &str = "unjank lab run --accel icount --pstates exynos4210 -- unjank launch paper";

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    args.window().check()?;
    let command =
        measured::Command { name: "launch paper", output: &args.output, settings: args.settings() };
    command.run(|root, seed, monitor| Ok(measure(args, root, seed, monitor)?.findings))
}

fn measure(args: &Args, root: &Root, seed: u64, monitor: &dyn Monitor) -> Result<PaperResults> {
    let prediction = setup::prediction(args, root)?;
    if let Support::No(reason) = paper::supported(root)? {
        let mut results = PaperResults::predicted(&prediction);
        results
            .findings
            .not_supported("launch/paper", format!("{reason}; on any machine: {ANYWHERE}"));
        return Ok(results);
    }
    let state_dir = args.state_dir.clone().map_or_else(paths::journal, Ok)?;
    // A socket of its own, apart from that of a service that already runs.
    let sockets = paths::temporary_directory()?;
    let mut findings = Findings::default();
    let launches = match args.skip {
        Some(Skip::Launches) => None,
        _ => Some(setup::launches(args, root, sockets.path(), &mut findings)?),
    };
    let mut meter = if args.skip == Some(Skip::Energy) {
        None
    } else {
        let wanted = args.meter.parse()?.or_model(paper::setup::DEVICE);
        findings.require("launch/power/energy", wanted.open(root)?)
    };
    let energy = meter.is_some().then(|| paper::setup::energy(args.window(), args.rounds()));
    let options = paper::Options { launches, energy, prediction };
    let session = session::open(root, Some(&state_dir))?;
    let measured = paper::run(
        &options,
        &session,
        root,
        meter.as_mut().map(|meter| &mut **meter as &mut dyn Meter),
        seed,
        monitor,
    );
    let (mut results, changes) = session::end(Some(session), measured)?;
    findings.merge(std::mem::take(&mut results.findings));
    session::note(changes, &mut findings);
    results.findings = findings;
    Ok(results)
}
