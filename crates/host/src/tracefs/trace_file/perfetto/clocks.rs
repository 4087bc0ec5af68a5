//! `ClockSnapshot`: the times of several clocks at one moment.

use std::collections::BTreeMap;

use super::wire::{Fields, Malformed, Small};
use crate::clock::Timestamp;

/// `BuiltinClock.BUILTIN_CLOCK_BOOTTIME`, the default of packets.
pub(super) const BOOTTIME: u64 = 6;

/// Converts times of other clocks to `CLOCK_BOOTTIME`.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    /// For each clock, pairs of its time and that of `CLOCK_BOOTTIME`, in order.
    pairs: BTreeMap<u64, Vec<(u64, u64)>>,
}

/// The most snapshots that are kept: one each second for eleven days.
const MOST: usize = 1_000_000;

impl Clocks {
    /// Adds a snapshot.
    pub(super) fn add(&mut self, message: &[u8]) -> Result<(), Malformed> {
        let mut times = BTreeMap::new();
        for field in Fields::of(message) {
            if let (1, clock) = field? {
                let clock = Small::of(clock.bytes()?)?;
                let unit = clock.number(4).max(1);
                let is_incremental = clock.number(3) != 0;
                if !is_incremental {
                    times.insert(clock.number(1), clock.number(2).saturating_mul(unit));
                }
            }
        }
        let Some(boot) = times.remove(&BOOTTIME) else { return Ok(()) };
        for (clock, time) in times {
            let pairs = self.pairs.entry(clock).or_default();
            let place = pairs.partition_point(|(before, _)| *before < time);
            if pairs.len() < MOST {
                pairs.insert(place, (time, boot));
            }
        }
        Ok(())
    }

    /// A time of a clock as `CLOCK_BOOTTIME`, by the last snapshot before it; `None` if no
    /// snapshot has the clock.
    pub(super) fn boot_time(&self, clock: u64, time: u64) -> Option<Timestamp> {
        if clock == BOOTTIME {
            return Some(Timestamp::from_nanos(time));
        }
        let pairs = self.pairs.get(&clock)?;
        let after = pairs.partition_point(|(before, _)| *before <= time);
        let &(before, boot) = pairs.get(after.saturating_sub(1))?;
        Some(Timestamp::from_nanos(boot.wrapping_add(time).wrapping_sub(before)))
    }
}
