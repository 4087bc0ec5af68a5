//! `unjank swap sweep`: many policies on many sizes and traces.

mod sizes;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;

use anyhow::{Context as _, Result, bail};
use unjank_host::files::Destination;
use unjank_host::{Bytes, Error};
use unjank_measure::{Findings, Monitor};
use unjank_swap::sweep::{self, Checkpoint, Identity, Options};
use unjank_swap::synth::{Preset, presets};
use unjank_swap::trace::Summary;

use super::input::{Loaded, MachineArgs, SEED, Source};
use super::policies::{Policies, flatten, policies};
use super::reading::ReadingArgs;
use super::write_cost::WriteCostArgs;
use crate::commands::measured::{self, Outcome, OutputArgs};
use crate::{exit, paths};
use sizes::Sizes;

/// Arguments of `unjank swap sweep`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank swap sweep --preset all --tier 32MiB..512MiB/5 --out sweep.parquet
  unjank swap sweep jvm.parquet python.parquet --tier 16MiB..1GiB/7 --policy all
  unjank swap sweep app.parquet --memory 256MiB..1GiB/3 --tier 64MiB,128MiB
  unjank swap sweep --preset games --policy paper,gate,always/arc --html sweep.html

A..B/N is N sizes from A to B, each the same factor larger than the one before. Finished
combinations are kept in OUT.partial: if a sweep ends early, type the same command again
to continue it, or --restart to start over. A trace that cannot be read is reported and left
out, and the exit code is 1.

Policies, --write-budget and --write-cost are those of unjank swap simulate. The output names
the cheapest policy of each size for --write-cost. All numbers are modelled.")]
pub(crate) struct Args {
    /// Traces; each is simulated by itself
    #[arg(value_name = "TRACE", required_unless_present = "preset")]
    traces: Vec<PathBuf>,
    /// Synthetic phones with their memory, in addition to traces: see unjank swap synth; or all
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    preset: Vec<String>,
    /// Sizes of memory that programs can have [default: none, or the preset's]
    #[arg(long, value_name = "SIZE,…|A..B/N", value_delimiter = ',')]
    memory: Vec<Sizes>,
    /// Sizes of the tier
    #[arg(
        long,
        value_name = "SIZE,…|A..B/N",
        value_delimiter = ',',
        default_value = "32MiB..512MiB/5"
    )]
    tier: Vec<Sizes>,
    /// Policies of the tier
    #[arg(long, value_name = "POLICY,…", value_delimiter = ',', default_value = "all", value_parser = policies)]
    policy: Vec<Policies>,
    /// Write all combinations as a Parquet table
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Start over instead of continuing an earlier sweep into the same table
    #[arg(long, requires = "out")]
    restart: bool,
    #[command(flatten)]
    write_cost: WriteCostArgs,
    #[command(flatten)]
    machine: MachineArgs,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    output: OutputArgs,
}

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
        .settings()
        .with("traces", names)
        .with("tier", tiers.iter().map(|tier| tier.get()).collect::<Vec<_>>())
        .with("policy", policies.iter().map(ToString::to_string).collect::<Vec<_>>())
        .with("write_cost", args.write_cost.get());
    let command = measured::Command { name: "swap sweep", output: &args.output, settings };
    let scratch = paths::temporary_directory()?;
    command.run(|_, _, monitor| {
        let partial = partial(args, scratch.path())?;
        let checkpoint = Mutex::new(Checkpoint::open(&partial, &identity(args))?);
        let (mut whole, mut read) = (true, Read::default());
        for source in &sources {
            let preset = source.preset();
            let memories = match (sizes::all(&args.memory), preset) {
                (none, Some(preset)) if none.is_empty() => vec![preset.phone.memory()],
                (typed, _) => typed,
            };
            let memory = |size: &Bytes| args.machine.memory(*size, preset);
            let options = Options {
                memories: memories.iter().map(memory).collect(),
                tiers: tiers.clone(),
                policies: policies.clone(),
                write_budget: args.machine.write_budget(),
                latency: args.machine.latency(),
            };
            options.cells()?;
            match one(args, source, &options, &checkpoint, &mut read, monitor) {
                Ok(done) => whole &= done,
                // Other traces may still be readable.
                Err(error) if sources.len() > 1 && !is_of_output(&error) => {
                    read.failed(source, &error);
                }
                Err(error) => return Err(error),
            }
            if monitor.stop_requested() {
                break;
            }
        }
        if read.failed == sources.len() {
            bail!(
                "none of {} traces could be simulated: {}",
                sources.len(),
                read.warnings.join("; ")
            );
        }
        let failed = read.failed > 0;
        let checkpoint =
            checkpoint.into_inner().map_err(|_| anyhow::anyhow!("a simulation panicked"))?;
        let cells = checkpoint.cells();
        let mut findings = sweep::findings(&cells, args.write_cost.get());
        read.note(&mut findings);
        deliver(args, checkpoint, whole, &mut findings)?;
        Ok(Outcome::from(findings).partly_failed(failed))
    })
}

/// Warnings and facts of all traces.
#[derive(Debug, Default)]
struct Read {
    warnings: Vec<String>,
    /// Names of traces by their guessed format.
    guessed: BTreeMap<&'static str, Vec<String>>,
    findings: Findings,
    /// How many traces could not be read or simulated.
    failed: usize,
}

impl Read {
    fn take(&mut self, source: &Source, summary: &Summary) {
        for input in summary.inputs.iter().filter(|input| input.is_guessed) {
            self.guessed.entry(input.format.name()).or_default().push(source.name());
        }
        self.findings.facts.extend(summary.findings().facts);
    }

    fn failed(&mut self, source: &Source, error: &anyhow::Error) {
        self.failed += 1;
        let name = source.name();
        let why = exit::sentence(error);
        self.warnings.push(if why.contains(&name) { why } else { format!("{name}: {why}") });
    }

    fn note(self, findings: &mut Findings) {
        findings.merge(self.findings);
        for (format, names) in self.guessed {
            let named = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
            let more = match names.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            findings.warn(format!(
                "{named}{more}: read as {format}, which is a guess; confirm it with --format \
                 {format}, or name another format"
            ));
        }
        findings.warnings.extend(self.warnings);
        if self.failed > 0 {
            let traces = if self.failed == 1 { "trace is" } else { "traces are" };
            findings.warn(format!("{} {traces} left out, for the reason above", self.failed));
        }
    }
}

/// The maximum number of traces that a warning names.
const NAMED: usize = 5;

/// Simulates all combinations on one trace. Returns false after an interrupt.
fn one(
    args: &Args,
    source: &Source,
    options: &Options,
    checkpoint: &Mutex<Checkpoint>,
    read: &mut Read,
    monitor: &dyn Monitor,
) -> Result<bool> {
    let (machine, reading, seed) = (&args.machine, &args.reading, args.output.seed);
    let loaded = source
        .load(!options.memories.is_empty(), seed, machine, reading, monitor)
        .with_context(|| format!("while reading {}", source.name()))?;
    let Some(Loaded { load, read: summary }) = loaded else { return Ok(false) };
    if let Some(summary) = summary {
        read.take(source, &summary);
    }
    let budget = machine.hold_to_budget(&load)?;
    let warnings = load.assumption().into_iter().chain(budget);
    read.warnings.extend(warnings.map(|text| format!("{}: {text}", source.name())));
    Ok(sweep::run(&source.name(), &load, options, checkpoint, monitor)?)
}

/// Whether finished cells cannot be written, which affects all traces.
fn is_of_output(error: &anyhow::Error) -> bool {
    let host = error.chain().find_map(|cause| cause.downcast_ref::<Error>());
    matches!(host, Some(Error::File { action: "write", .. }))
}

/// Writes the table if the sweep is complete; otherwise warns how to continue.
fn deliver(
    args: &Args,
    checkpoint: Checkpoint,
    whole: bool,
    findings: &mut Findings,
) -> Result<()> {
    let Some(out) = &args.out else { return Ok(checkpoint.finish()?) };
    if whole {
        sweep::write(&checkpoint.cells(), out)?;
        return Ok(checkpoint.finish()?);
    }
    findings.warn(format!(
        "the sweep is incomplete; the same command continues it ({})",
        partial_of(out).display()
    ));
    Ok(())
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

/// The checkpoint file for finished cells.
fn partial(args: &Args, scratch: &Path) -> Result<PathBuf> {
    let Some(out) = &args.out else { return Ok(scratch.join("sweep")) };
    let partial = partial_of(out);
    if args.restart {
        match Destination::open(&partial)?.remove() {
            Err(error) if !error.is_not_found() => return Err(error.into()),
            _ => {}
        }
    }
    Ok(partial)
}

fn partial_of(out: &Path) -> PathBuf {
    let mut name = out.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}

fn identity(args: &Args) -> Identity {
    let machine = args.machine.whole_settings().into_values();
    let seed = args.output.seed.unwrap_or(SEED);
    Identity::new(seed, machine, args.reading.options(), &args.traces)
}
