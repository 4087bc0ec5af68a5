//! The time of a critical path by cause.

use std::collections::BTreeMap;

use unjank_host::Timestamp;
use unjank_units::Nanos;

use crate::history::History;
use crate::path::{Activity, Detail, Path, Segment, Way};

/// An [`Activity`] as records have it: computing is split by the clock frequency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cell {
    /// An activity. Of computing, only the time that it would have taken at the highest clock.
    Of(Activity),
    /// The rest of computing: the time that a lower clock cost.
    SlowClock,
}

impl Cell {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 11] = [
        Self::Of(Activity::Computing),
        Self::SlowClock,
        Self::Of(Activity::Reclaim),
        Self::Of(Activity::Waking),
        Self::Of(Activity::RunQueue),
        Self::Of(Activity::PageIn),
        Self::Of(Activity::Storage),
        Self::Of(Activity::Timer),
        Self::Of(Activity::Network),
        Self::Of(Activity::Device),
        Self::Of(Activity::Unknown),
    ];

    /// The name in records and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Of(Activity::Computing) => "computing",
            Self::SlowClock => "slow-clock",
            Self::Of(Activity::Reclaim) => "reclaim",
            Self::Of(Activity::Waking) => "waking",
            Self::Of(Activity::RunQueue) => "run-queue",
            Self::Of(Activity::PageIn) => "page-in",
            Self::Of(Activity::Storage) => "storage",
            Self::Of(Activity::Timer) => "timer",
            Self::Of(Activity::Network) => "network",
            Self::Of(Activity::Device) => "device",
            Self::Of(Activity::Unknown) => "unknown",
        }
    }
}

/// The time of a path by way and cell. It adds up to the window.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Split {
    /// The times. A missing entry is zero.
    pub cells: BTreeMap<(Way, Cell), Nanos>,
}

/// The highest clock frequency of each CPU in kHz. A CPU without an entry counts as always at its
/// highest clock.
pub type HighestClocks = BTreeMap<usize, u64>;

impl Split {
    /// Splits a path.
    pub fn of(path: &Path, history: &History, highest: &HighestClocks) -> Self {
        let mut split = Self::default();
        for segment in &path.segments {
            let slow = slow_clock(segment, history, highest);
            split.add(segment.way, Cell::Of(segment.activity), segment.length() - slow);
            split.add(segment.way, Cell::SlowClock, slow);
        }
        split
    }

    /// The sum of all times, which is the length of the window.
    pub fn total(&self) -> Nanos {
        self.cells.values().fold(Nanos::ZERO, |sum, &cell| sum + cell)
    }

    /// The time of a cell, over all ways.
    pub fn of_cell(&self, cell: Cell) -> Nanos {
        let cells = self.cells.iter().filter(|((_, of), _)| *of == cell);
        cells.fold(Nanos::ZERO, |sum, (_, &time)| sum + time)
    }

    /// The time of a way, over all cells.
    pub fn of_way(&self, way: Way) -> Nanos {
        let cells = self.cells.iter().filter(|((of, _), _)| *of == way);
        cells.fold(Nanos::ZERO, |sum, (_, &time)| sum + time)
    }

    fn add(&mut self, way: Way, cell: Cell, time: Nanos) {
        if time > Nanos::ZERO {
            let sum = self.cells.entry((way, cell)).or_default();
            *sum = *sum + time;
        }
    }
}

/// The part of a segment that the highest clock would have saved.
fn slow_clock(segment: &Segment, history: &History, highest: &HighestClocks) -> Nanos {
    match (segment.activity, segment.detail) {
        (Activity::Computing, Detail::Cpu(cpu)) => {
            clock_loss(cpu, (segment.from, segment.to), history, highest)
        }
        _ => Nanos::ZERO,
    }
}

/// The part of a CPU's computing time that its highest clock would have saved.
pub(crate) fn clock_loss(
    cpu: usize,
    (begin, end): (Timestamp, Timestamp),
    history: &History,
    highest: &HighestClocks,
) -> Nanos {
    let Some(&highest) = highest.get(&cpu) else { return Nanos::ZERO };
    let changes = history.clock(cpu);
    let first = changes.partition_point(|(at, _)| *at <= begin).saturating_sub(1);
    let mut slow = 0;
    for (index, &(at, khz)) in changes.iter().enumerate().skip(first) {
        if at >= end {
            break;
        }
        let from = at.max(begin);
        let next = changes.get(index + 1).map_or(end, |(at, _)| *at);
        let length = next.min(end).since(from).get();
        let wasted = u128::from(length) * u128::from(highest.saturating_sub(khz));
        slow += (wasted / u128::from(highest.max(1))) as u64;
    }
    Nanos(slow)
}

/// The sums of each CPU's [`clock_loss`] up to each change of its clock. With them, the loss in a
/// long time is found without a pass over all changes.
#[derive(Debug)]
pub(crate) struct ClockLosses(BTreeMap<usize, Vec<Nanos>>);

impl ClockLosses {
    /// The losses of all CPUs with a known highest clock.
    pub(crate) fn of(history: &History, highest: &HighestClocks) -> Self {
        let sums = |cpu: usize| {
            let changes = history.clock(cpu);
            let pairs = changes.iter().zip(changes.iter().skip(1));
            let losses =
                pairs.map(|((from, _), (to, _))| clock_loss(cpu, (*from, *to), history, highest));
            let up_to = losses.scan(Nanos::ZERO, |sum, loss| {
                *sum = *sum + loss;
                Some(*sum)
            });
            std::iter::once(Nanos::ZERO).chain(up_to).collect()
        };
        Self(highest.keys().map(|&cpu| (cpu, sums(cpu))).collect())
    }

    /// The [`clock_loss`] of a CPU in a time. `history` and `highest` must be those of `of`.
    pub(crate) fn between(
        &self,
        cpu: usize,
        (begin, end): (Timestamp, Timestamp),
        history: &History,
        highest: &HighestClocks,
    ) -> Nanos {
        let changes = history.clock(cpu);
        let first = changes.partition_point(|(at, _)| *at <= begin);
        let last = changes.partition_point(|(at, _)| *at < end).saturating_sub(1);
        let loss = |from, to| clock_loss(cpu, (from, to), history, highest);
        let sums = self.0.get(&cpu).and_then(|sums| Some((sums.get(first)?, sums.get(last)?)));
        match (changes.get(first), changes.get(last), sums) {
            (Some((first_at, _)), Some((last_at, _)), Some((before, up_to))) if first < last => {
                loss(begin, *first_at) + (*up_to - *before) + loss(*last_at, end)
            }
            _ => loss(begin, end),
        }
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::Hertz;
    use unjank_host::tracefs::script::{Script, at};
    use unjank_host::tracefs::{Context, EventKind};

    use super::*;

    proptest::proptest! {
        #[test]
        fn sums_of_losses_are_the_losses(
            changes in proptest::collection::vec((0_u64..9, 0_u64..1_200), 0..20),
            (begin, length) in (0_u64..80, 0_u64..80),
        ) {
            let (mut script, mut now) = (Script::new(), 10);
            for (gap, khz) in changes {
                now += gap;
                let frequency = EventKind::Frequency { cpu: 0, frequency: Hertz::from_khz(khz) };
                script = script.happens(0, now, Context::Thread, frequency);
            }
            let history = History::of(&script.trace());
            let highest = HighestClocks::from([(0, 1_000)]);
            let losses = ClockLosses::of(&history, &highest);
            for cpu in [0, 1] {
                let time = (at(begin), at(begin + length));
                proptest::prop_assert_eq!(
                    losses.between(cpu, time, &history, &highest),
                    clock_loss(cpu, time, &history, &highest)
                );
            }
        }
    }
}
