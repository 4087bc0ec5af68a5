//! The units of a sweep, worked off by this process and those that share its directory.

use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};
use unjank_host::Error;
use unjank_host::input::Stopped;
use unjank_measure::Monitor;
use unjank_measure::monitor::Part;
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
    let mut taken: Vec<(&Source, Vec<Unit>)> = Vec::new();
    let one = |source, units, monitor: &dyn Monitor, swept: &mut Swept| {
        let done = work(args, source, units, options, finished, &mut swept.read, monitor);
        match done {
            Ok(Done { whole, taken }) => {
                swept.whole &= whole;
                Ok(Some(taken))
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
        let Some(units) = units(args, number, source, options) else {
            swept.whole = false;
            break;
        };
        let part = Part::of_equal(monitor, "", number, sources.len());
        if let Some(others) = one(source, units.clone(), &part, &mut swept)? {
            swept.units.extend(units);
            if !others.is_empty() {
                taken.push((source, others));
            }
        }
        if monitor.stop_requested() {
            swept.whole &= number + 1 == sources.len();
            break;
        }
    }
    while !taken.is_empty() && !monitor.stop_requested() {
        let count: usize = taken.iter().map(|(_, units)| units.len()).sum();
        monitor.progress(0.99, &format!("waiting for {count} units of other processes"));
        thread::sleep(LOOK);
        let before = std::mem::take(&mut taken);
        for (source, units) in before {
            let others = one(source, units.clone(), monitor, &mut swept)?;
            match others {
                Some(others) if others.is_empty() => {}
                Some(others) => taken.push((source, others)),
                None => swept.units.retain(|unit| units.iter().all(|other| other.key != unit.key)),
            }
        }
    }
    swept.whole &= taken.is_empty();
    Ok(swept)
}

/// The units of a trace in this process's share; `None` if the user interrupted the reading.
fn units(args: &Args, number: usize, source: &Source, options: &Options) -> Option<Vec<Unit>> {
    let preset = source.preset();
    let content = match source {
        Source::Synthetic(preset) => Content::synthetic(preset, args.output.seed.unwrap_or(SEED)),
        Source::Files(files) => match Content::of_files(files, &args.reading.options()) {
            Ok(content) => content,
            Err(error) if Stopped::is(&error) => return None,
            // The reason appears when it is read.
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
    Some(units.filter(|unit| args.shard.is_none_or(|shard| shard.has(unit))).collect())
}

/// What became of units of a trace.
struct Done {
    /// Whether this process has finished those that it could claim.
    whole: bool,
    /// Units that other processes work on.
    taken: Vec<Unit>,
}

/// Claims units of one trace, and simulates them. A trace without unfinished units is not read.
fn work(
    args: &Args,
    source: &Source,
    units: Vec<Unit>,
    options: &Options,
    finished: &Finished,
    read: &mut Read,
    monitor: &dyn Monitor,
) -> Result<Done> {
    let (mut claimed, mut taken) = (Vec::new(), Vec::new());
    for unit in units {
        match finished.claim(&unit, options)? {
            Claim::Done => {}
            Claim::Taken => taken.push(unit),
            Claim::Claimed(checkpoint) => claimed.push((unit, checkpoint)),
        }
    }
    let Some((first, _)) = claimed.first() else { return Ok(Done { whole: true, taken }) };
    let (machine, reading, seed) = (&args.machine, &args.reading, args.output.seed);
    let loaded = source
        .load(first.memory.is_some(), seed, machine, reading, monitor)
        .with_context(|| format!("while reading {}", source.name()))?;
    let Some(Loaded { load, read: summary }) = loaded else {
        return Ok(Done { whole: false, taken });
    };
    if let Some(summary) = summary {
        read.take(source, &summary);
    }
    let budget = machine.hold_to_budget(&load)?;
    read.warn(source, load.assumption().into_iter().chain(budget));
    let mut whole = true;
    for (unit, checkpoint) in claimed {
        let missing: Vec<_> = options.missing(unit.key, &lock(&checkpoint)).collect();
        let keep = |cell| lock(&checkpoint).keep(unit.key, cell);
        whole &= sweep::run(&unit, &load, &missing, options, keep, monitor)?;
    }
    Ok(Done { whole, taken })
}

/// Whether finished cells cannot be written, which affects all traces.
fn is_of_output(error: &anyhow::Error) -> bool {
    let host = error.chain().find_map(|cause| cause.downcast_ref::<Error>());
    matches!(host, Some(Error::File { action: "write", .. }))
}
