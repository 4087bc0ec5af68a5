//! The units of a sweep, worked off by this process and those that share its directory.

use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use unjank_host::Error;
use unjank_host::input::Stopped;
use unjank_measure::Monitor;
use unjank_measure::monitor::Part;
use unjank_swap::simulate::Load;
use unjank_swap::sweep::{self, Claim, Content, Finished, Options, Unit, lock};

use super::super::input::{Loaded, SEED, Source};
use super::args::Args;
use super::read::Read;
use super::sizes;

/// The time between two looks at units that other processes work on.
const LOOK: Duration = Duration::from_millis(500);

/// What became of a sweep.
pub(super) struct Swept {
    /// Its units, but those of traces that cannot be read.
    pub(super) units: Vec<Unit>,
    /// Whether all of them are finished.
    pub(super) whole: bool,
    /// Warnings and facts about the traces.
    pub(super) read: Read,
}

/// Simulates the units that are not finished. Units that another process works on are waited for,
/// or taken over if it ends.
pub(super) fn sweep_units(
    args: &Args,
    sources: &[Source],
    options: &Options,
    finished: &Finished,
    monitor: &dyn Monitor,
) -> Result<Swept> {
    let mut swept = Swept { units: Vec::new(), whole: true, read: Read::default() };
    let mut taken: Vec<(&Source, Units)> = Vec::new();
    let one = |source, units: Units, monitor: &dyn Monitor, swept: &mut Swept| {
        let content = units.content.clone();
        let done = work(args, source, units, options, finished, &mut swept.read, monitor);
        match done {
            Ok(Done { whole, taken }) => {
                swept.whole &= whole;
                Ok(Some(Units { content, all: taken }))
            }
            // Other traces may still be readable.
            Err(error) if sources.len() > 1 && !is_of_output(&error) => {
                swept.read.fail(source, &error);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    };
    for (number, source) in sources.iter().enumerate() {
        let Some(units) = units(args, number, source, options)? else {
            swept.whole = false;
            break;
        };
        let part = Part::of_equal(monitor, "", number, sources.len());
        let all = units.all.clone();
        if let Some(others) = one(source, units, &part, &mut swept)? {
            swept.units.extend(all);
            if !others.all.is_empty() {
                taken.push((source, others));
            }
        }
        if monitor.stop_requested() {
            swept.whole &= number + 1 == sources.len();
            break;
        }
    }
    while !taken.is_empty() && !monitor.stop_requested() {
        let count: usize = taken.iter().map(|(_, units)| units.all.len()).sum();
        monitor.progress(0.99, &format!("waiting for other processes: {count} left"));
        thread::sleep(LOOK);
        for (source, units) in std::mem::take(&mut taken) {
            let all = units.all.clone();
            match one(source, units, monitor, &mut swept)? {
                Some(others) if others.all.is_empty() => {}
                Some(others) => taken.push((source, others)),
                None => swept.units.retain(|unit| all.iter().all(|other| other.key != unit.key)),
            }
        }
    }
    swept.whole &= taken.is_empty();
    Ok(swept)
}

/// A trace whose content is known, and its units in this process's shard.
struct Units {
    content: Content,
    all: Vec<Unit>,
}

/// The units of a trace; `None` if the user interrupted the reading.
fn units(args: &Args, number: usize, source: &Source, options: &Options) -> Result<Option<Units>> {
    let preset = source.preset();
    let content = match source {
        Source::Synthetic(preset) => Content::synthetic(preset, args.output.seed.unwrap_or(SEED)),
        Source::Files(files) => match Content::of_files(files, &args.reading.options()) {
            Ok(content) => content,
            Err(error) if Stopped::is(&error) => return Ok(None),
            Err(_) if args.shard.is_some() && !files.iter().all(|file| is_regular(file)) => {
                bail!(Error::Invalid(format!("--shard needs files; {} is none", source.name())));
            }
            // The reason appears when it is read, in every shard.
            Err(_) => Content::read_once(number),
        },
    };
    let sizes = match (sizes::all(&args.memory), preset) {
        (none, Some(preset)) if none.is_empty() => vec![preset.phone.memory()],
        (typed, _) => typed,
    };
    let memories = sizes.into_iter().map(|size| Some(args.machine.memory(size, preset)));
    let mut memories: Vec<_> = memories.collect();
    if memories.is_empty() {
        memories.push(None);
    }
    let units = memories.into_iter().map(|it| Unit::new(&source.name(), &content, it, options));
    let in_shard =
        |unit: &Unit| content.is_read_once() || args.shard.is_none_or(|shard| shard.has(unit));
    let all = units.filter(in_shard).collect();
    Ok(Some(Units { content, all }))
}

/// Whether it is a file, or does not exist.
fn is_regular(path: &Path) -> bool {
    path.metadata().map_or(path.as_os_str() != "-", |data| data.is_file())
}

/// What became of units of a trace.
struct Done {
    /// Whether this process has finished those that it could claim.
    whole: bool,
    /// Units that other processes work on.
    taken: Vec<Unit>,
}

/// Claims units of one trace one after the other, and simulates them. A trace without unfinished
/// units is not read.
fn work(
    args: &Args,
    source: &Source,
    Units { content, all }: Units,
    options: &Options,
    finished: &Finished,
    read: &mut Read,
    monitor: &dyn Monitor,
) -> Result<Done> {
    let mut done = Done { whole: true, taken: Vec::new() };
    let mut loaded = None;
    let count = all.len();
    for (number, unit) in all.into_iter().enumerate() {
        let checkpoint = match finished.claim(&unit, options)? {
            Claim::Done => continue,
            Claim::Taken => {
                done.taken.push(unit);
                continue;
            }
            Claim::Claimed(checkpoint) => checkpoint,
        };
        if loaded.is_none() {
            loaded = load(args, source, unit.memory.is_some(), read, monitor)?;
            // Its results would be kept for what was there before.
            if loaded.is_some() && !content.is_current() {
                bail!(Error::Invalid(format!("{} changed while it was read", source.name())));
            }
        }
        let Some(load) = &loaded else { return Ok(Done { whole: false, ..done }) };
        let missing: Vec<_> = options.missing(unit.key, &lock(&checkpoint)).collect();
        let keep = |cell| lock(&checkpoint).keep(unit.key, cell);
        let part = Part::of_equal(monitor, "", number, count);
        if !sweep::run(&unit, load, &missing, options, keep, &part)? {
            return Ok(Done { whole: false, ..done });
        }
    }
    Ok(done)
}

/// Reads a trace; `None` if the user interrupted it.
fn load(
    args: &Args,
    source: &Source,
    memory: bool,
    read: &mut Read,
    monitor: &dyn Monitor,
) -> Result<Option<Load>> {
    let (machine, reading, seed) = (&args.machine, &args.reading, args.output.seed);
    let loaded = source
        .load(memory, seed, machine, reading, monitor)
        .with_context(|| format!("while reading {}", source.name()))?;
    let Some(Loaded { load, read: summary }) = loaded else { return Ok(None) };
    if let Some(summary) = summary {
        read.take(source, &summary);
    }
    let budget = machine.hold_to_budget(&load)?;
    read.warn(source, load.assumption().into_iter().chain(budget));
    Ok(Some(load))
}

/// Whether finished cells cannot be written, which affects all traces.
fn is_of_output(error: &anyhow::Error) -> bool {
    let host = error.chain().find_map(|cause| cause.downcast_ref::<Error>());
    matches!(host, Some(Error::File { action: "write", .. }))
}
