//! Measures what the settings depend on, in turns.

use unjank_host::journal::Session;
use unjank_host::memory::MemoryLock;
use unjank_host::page_sample::{self, PageSample};
use unjank_host::process::never_dump_core;
use unjank_host::{Nanos, Result, Root, Support, Timestamp};
use unjank_measure::Monitor;

use super::compressors::{self, Compressor};
use super::measured::{Groups, Measured};
use super::options::Options;
use super::storage::{self, Place};
use super::target::{MOST, Target};
use crate::probe::Random;

/// All are measured in turns, so often.
const ROUNDS: usize = 16;
/// The longest time that storage is read in a turn.
const TURN: Nanos = Nanos::from_millis(60);
/// Reads of storage in a turn.
const READS: u32 = 64;
/// Reads of each length in a turn.
const GROUP_READS: u32 = 4;

/// Measures the kernel's algorithms with pages of other programs, which go nowhere but into zram
/// devices of the session, and the storage.
///
/// # Errors
/// `Permission`: this needs root; `Invalid` options; the kernel's error.
pub fn measure(
    options: &Options,
    session: &Session,
    root: &Root,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<Measured> {
    let wanted = options.pages()?;
    // Pages of other programs pass through this process.
    let _locked = MemoryLock::everything();
    never_dump_core();
    let mut random = Random::seeded(seed);
    let mut measured = Measured::default();
    monitor.progress(0.0, "taking a sample of programs' pages");
    let mut below = |bound| random.below(bound);
    let sample = match page_sample::take(root, wanted, &mut below, &|| monitor.stop_requested())? {
        Support::Yes(sample) => {
            measured.sample = Some((sample.pages(), sample.processes()));
            Some(sample)
        }
        Support::No(reason) => {
            measured.unsupported.push(("swap/tune/sample", reason));
            None
        }
    };
    let mut compressors = match &sample {
        Some(sample) => match compressors::set_up(session, root, sample.pages())? {
            Support::Yes((compressors, warnings)) => {
                measured.warnings.extend(warnings);
                compressors
            }
            Support::No(reason) => {
                measured.unsupported.push(("swap/tune/zram", reason));
                Vec::new()
            }
        },
        None => Vec::new(),
    };
    monitor.progress(0.1, "writing a file to read");
    let files = storage::file_system(&options.directory, &mut random, monitor)?;
    let area = storage::swap_area(root)?;
    let mut places = Vec::new();
    for (what, place) in [("swap/tune/files", Some(files)), ("swap/tune/area", area)] {
        match place {
            Some(Support::Yes(place)) => places.push((what, place)),
            Some(Support::No(reason)) => measured.unsupported.push((what, reason)),
            None => {}
        }
    }
    in_turns(sample.as_ref(), &mut compressors, &mut places, &mut random, monitor)?;
    for compressor in compressors {
        measured.compressors.push(compressor.finish(root)?);
    }
    for (what, place) in places {
        let storage = Some(place.finish());
        if what == "swap/tune/files" {
            measured.file_system = storage;
        } else {
            measured.swap_area = storage;
        }
    }
    Ok(measured)
}

/// Compresses a part of the sample in each round with each algorithm, brings pages of it back, and
/// reads storage.
fn in_turns(
    sample: Option<&PageSample>,
    compressors: &mut [Compressor],
    places: &mut [(&'static str, Place)],
    random: &mut Random,
    monitor: &dyn Monitor,
) -> Result<()> {
    for round in 0..ROUNDS {
        if monitor.stop_requested() {
            break;
        }
        let done = 0.2 + 0.8 * round as f64 / ROUNDS as f64;
        monitor.progress(done, "compressing pages, and reading storage, in turns");
        if let Some(sample) = sample {
            let part = |round: usize| sample.pages() * round / ROUNDS;
            let (start, end) = (part(round), part(round + 1));
            let count = compressors.len();
            for turn in 0..count {
                let compressor = &mut compressors[(turn + round) % count];
                for page in start..end {
                    compressor.compress(sample, page)?;
                }
                let mut order: Vec<u32> = (start as u32..end as u32).collect();
                random.shuffle(&mut order);
                for page in order {
                    compressor.decompress(sample, page as usize)?;
                }
                let Compressor { target, groups, .. } = compressor;
                read_groups(target, groups, end as u64, random)?;
            }
        }
        for (_, place) in &mut *places {
            let end = Timestamp::now() + TURN;
            for _ in 0..READS {
                let at = random.below(place.target.pages());
                let taken = place.target.read(at, 1)?;
                place.read.record(taken);
                if Timestamp::now() >= end {
                    break;
                }
            }
            let pages = place.target.pages();
            read_groups(&mut place.target, &mut place.groups, pages, random)?;
        }
    }
    Ok(())
}

/// Reads of 1, 2, 4 … pages together, among the first `pages` pages, for no longer than a turn.
fn read_groups(
    target: &mut Target,
    groups: &mut Groups,
    pages: u64,
    random: &mut Random,
) -> Result<()> {
    let end = Timestamp::now() + TURN;
    for _ in 0..GROUP_READS {
        let mut length = 1;
        while length <= MOST && (length as u64) < pages {
            let at = random.below(pages - length as u64);
            groups.add(length, target.read(at, length)?);
            length *= 2;
        }
        if Timestamp::now() >= end {
            break;
        }
    }
    Ok(())
}
