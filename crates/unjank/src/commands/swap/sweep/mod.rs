//! `unjank swap sweep`: many policies on many sizes and traces.

mod args;
mod read;
mod sizes;
mod units;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use unjank_host::Error;
use unjank_host::files::{Destination, make_directory};
use unjank_measure::Findings;
use unjank_swap::sweep::{self, Finished, Options};
use unjank_swap::synth::{Preset, presets};

use super::input::Source;
use super::policies::flatten;
use crate::commands::measured::{self, Outcome};
use crate::paths;
pub(crate) use args::Args;
use units::{Swept, sweep_units};

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let sources = sources(args)?;
    if let Some(out) = &args.out {
        Destination::open_file(out)?;
    }
    let policies = flatten(&args.policy);
    let tiers = sizes::all(&args.tier);
    let names: Vec<String> = sources.iter().map(Source::name).collect();
    let settings = args
        .machine
        .whole_settings()
        .with("traces", names)
        .with("tier", tiers.iter().map(|tier| tier.get()).collect::<Vec<_>>())
        .with("policy", policies.iter().map(ToString::to_string).collect::<Vec<_>>())
        .with("shard", args.shard.map(|shard| shard.to_string()))
        .with("write_cost", args.write_cost.get());
    let command = measured::Command { name: "swap sweep", output: &args.output, settings };
    let options = Options {
        tiers,
        policies,
        write_budget: args.machine.write_budget(),
        launching: args.machine.launching(),
        latency: args.machine.latency(),
    };
    options.count()?;
    let scratch = paths::temporary_directory()?;
    command.run(|_, seed, monitor| {
        let finished = finished(args, scratch.path())?;
        let Swept { units, whole, read } =
            sweep_units(args, &sources, &options, &finished, monitor)?;
        if read.failed() == sources.len() {
            bail!("none of {} traces could be simulated: {}", sources.len(), read.reasons());
        }
        let failed = read.failed() > 0;
        let cells = finished.cells(&units, &options)?;
        let mut findings = sweep::findings(&cells, args.write_cost.get(), seed);
        read.note(&mut findings);
        if let (Some(shard), true) = (args.shard, units.is_empty()) {
            findings.warn(format!("no unit is in shard {shard} of these traces"));
        }
        match &args.out {
            Some(out) if whole => sweep::write(&cells, out)?,
            _ => {}
        }
        if whole {
            finished.remove()?;
        } else {
            note_end(args, &mut findings);
        }
        Ok(Outcome::from(findings).partly_failed(failed))
    })
}

/// Warns how to continue a sweep that ended early.
fn note_end(args: &Args, findings: &mut Findings) {
    let kept = args.claim.clone().or_else(|| args.out.as_deref().map(partial_of));
    if let Some(kept) = kept {
        findings.warn(format!(
            "the sweep is incomplete; the same command continues it ({})",
            kept.display()
        ));
    }
}

fn sources(args: &Args) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    for trace in &args.traces {
        sources.push(Source::new(std::slice::from_ref(trace), None)?);
    }
    for name in &args.preset {
        if name == "all" {
            sources.extend(presets::ALL.iter().map(Source::Synthetic));
        } else {
            let preset =
                Preset::named(name).map_err(|unknown| Error::Invalid(unknown.to_string()))?;
            sources.push(Source::Synthetic(preset));
        }
    }
    let mut names: Vec<String> = sources.iter().map(Source::name).collect();
    names.sort_unstable();
    if let Some([twice, _]) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        bail!(Error::Invalid(format!("{twice} is given twice")));
    }
    Ok(sources)
}

/// Where finished cells are kept.
fn finished(args: &Args, scratch: &Path) -> Result<Finished> {
    if let Some(directory) = &args.claim {
        make_directory(directory)?;
        return Ok(Finished::Directory(directory.clone()));
    }
    let file = args.out.as_deref().map_or_else(|| scratch.join("sweep"), partial_of);
    Ok(Finished::in_file(&file, args.restart)?)
}

fn partial_of(out: &Path) -> PathBuf {
    let mut name = out.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}
