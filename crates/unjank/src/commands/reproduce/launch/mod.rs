//! `unjank reproduce launch`: Jo & Suh's experiments, in one run.

mod args;
mod setup;

use std::process::ExitCode;

use anyhow::Result;
use unjank_host::energy::Meter;
use unjank_host::{Root, Support};
use unjank_launch::paper::{self, PaperResults};
use unjank_measure::{Findings, Monitor};

use super::paper::{Paper, means};
use super::phone::{Parts, Phone};
use crate::commands::measured;
use crate::commands::session;
use crate::paths;

pub(crate) use args::Args;
use args::Skip;

pub(super) const PAPER: Paper = Paper { name: "launch", authors: "Jo & Suh" };

/// The profile of the paper's device.
const PHONE: Parts = Parts { pstates: Some("exynos4210") };

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    args.window().check()?;
    let command = measured::Command {
        name: "reproduce launch",
        output: &args.output,
        settings: args.settings(),
    };
    command.run(|root, seed, monitor| measure(args, root, seed, monitor))
}

/// The claims beside launches and energy here, or in the virtual phone.
pub(super) fn measure(
    args: &Args,
    root: &Root,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<Findings> {
    let Support::No(reason) = paper::supported(root)? else {
        return Ok(concluded(here(args, root, seed, monitor)?));
    };
    let phone = Phone { words: args.words(seed), parts: PHONE, reason: &reason };
    let measured = if args.meter.is_given() {
        Err(format!("{reason}; the virtual phone has no --meter or --device"))
    } else {
        phone.instead(args.phone, &args.output, monitor)
    };
    let reason = match measured {
        Ok(findings) => return Ok(findings),
        Err(reason) => reason,
    };
    let mut results = PaperResults::predicted(&setup::prediction(args, root)?);
    results.findings.not_supported("launch/paper", reason);
    Ok(concluded(results))
}

fn concluded(mut results: PaperResults) -> Findings {
    let claims = results.claims(means());
    PAPER.conclude(&claims, &mut results.findings);
    results.findings
}

fn here(args: &Args, root: &Root, seed: u64, monitor: &dyn Monitor) -> Result<PaperResults> {
    let prediction = setup::prediction(args, root)?;
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
