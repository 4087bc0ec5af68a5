//! The time of a critical path by cause.

use std::collections::BTreeMap;

use unjank_host::Timestamp;
use unjank_units::Nanos;

use crate::history::History;
use crate::path::{Activity, Detail, Path, Segment, Way};

/// What happened, in the words of records: an [`Activity`], of which computing
/// is split by the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cell {
    /// An activity; of computing, the time that the highest clock would have
    /// taken.
    Of(Activity),
    /// The rest of computing.
    SlowClock,
}

impl Cell {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 10] = [
        Self::Of(Activity::Computing),
        Self::SlowClock,
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
    /// What is not there is zero.
    pub cells: BTreeMap<(Way, Cell), Nanos>,
}

/// The highest clock frequency of each CPU in kHz; a CPU without one always has
/// its highest.
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

    /// All of it.
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

/// How much longer a CPU computed in a time than at its highest clock.
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
