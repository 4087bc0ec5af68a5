//! `ClockSnapshot`: the times of several clocks at one moment.
//!
//! Clocks below 64 are the machine's. Those from 64 to 127 are each of one sequence, and may be
//! incremental: each packet's time is then the distance from the one before. Perfetto's library
//! writes such times by default.

use std::collections::{BTreeMap, HashMap};

use super::wire::{Fields, Malformed, Small};
use crate::clock::Timestamp;

/// `BuiltinClock.BUILTIN_CLOCK_BOOTTIME`, the default of packets.
pub(super) const BOOTTIME: u64 = 6;
/// The first clock that belongs to a sequence.
const OF_SEQUENCE: u64 = 64;
/// The most snapshots that are kept of a clock: one each second for a day.
const MOST: usize = 100_000;
/// The most clocks of sequences that are kept.
const MOST_OF_SEQUENCES: usize = 100_000;

/// Converts times of other clocks to `CLOCK_BOOTTIME`.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    /// For each clock of the machine, pairs of its time and that of `CLOCK_BOOTTIME`, in order.
    pairs: BTreeMap<u64, Vec<(u64, u64)>>,
    /// The clocks of sequences.
    of_sequences: HashMap<(u64, u64), OfSequence>,
}

/// A clock of a sequence, since its last snapshot.
#[derive(Debug, Clone, Copy)]
struct OfSequence {
    /// Its time and that of `CLOCK_BOOTTIME`, in nanoseconds.
    pair: (u64, u64),
    /// Nanoseconds of a unit.
    unit: u64,
    /// The time of the last packet, if times are distances.
    last: Option<u64>,
}

impl Clocks {
    /// Adds a snapshot in a packet of a sequence.
    pub(super) fn add(&mut self, sequence: u64, message: &[u8]) -> Result<(), Malformed> {
        let mut clocks = Vec::new();
        for field in Fields::of(message) {
            if let (1, clock) = field? {
                let clock = Small::of(clock.bytes()?)?;
                let unit = clock.number(4).max(1);
                let time = clock.number(2).saturating_mul(unit);
                clocks.push((clock.number(1), time, unit, clock.number(3) != 0));
            }
        }
        let boot = clocks.iter().find(|(clock, ..)| *clock == BOOTTIME);
        let Some(&(_, boot, ..)) = boot else { return Ok(()) };
        for (clock, time, unit, is_incremental) in clocks {
            if clock >= OF_SEQUENCE {
                let last = is_incremental.then_some(time);
                let clock = (sequence, clock);
                let is_kept = self.of_sequences.contains_key(&clock);
                if is_kept || self.of_sequences.len() < MOST_OF_SEQUENCES {
                    self.of_sequences.insert(clock, OfSequence { pair: (time, boot), unit, last });
                }
            } else if clock != BOOTTIME {
                let pairs = self.pairs.entry(clock).or_default();
                // A snapshot that is older than the last one says nothing new.
                if pairs.len() < MOST && pairs.last().is_none_or(|(before, _)| *before < time) {
                    pairs.push((time, boot));
                }
            }
        }
        Ok(())
    }

    /// The time of a packet of a sequence as `CLOCK_BOOTTIME`, by the last snapshot before it;
    /// `None` if no snapshot has the clock. To be called for each packet with a time, once.
    pub(super) fn boot_time(&mut self, sequence: u64, clock: u64, time: u64) -> Option<Timestamp> {
        if clock == BOOTTIME {
            return Some(Timestamp::from_nanos(time));
        }
        let ((before, boot), time) = if clock >= OF_SEQUENCE {
            let clock = self.of_sequences.get_mut(&(sequence, clock))?;
            let mut time = time.saturating_mul(clock.unit);
            if let Some(last) = &mut clock.last {
                *last = last.saturating_add(time);
                time = *last;
            }
            (clock.pair, time)
        } else {
            let pairs = self.pairs.get(&clock)?;
            let after = pairs.partition_point(|(before, _)| *before <= time);
            (*pairs.get(after.saturating_sub(1))?, time)
        };
        Some(Timestamp::from_nanos(boot.wrapping_add(time).wrapping_sub(before)))
    }
}
