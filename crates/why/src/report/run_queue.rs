//! Who had the CPUs that the path waited for.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use foldhash::fast::RandomState;
use unjank_host::tracefs::Occupant;
use unjank_measure::Unit;
use unjank_measure::record::{Cell as TableCell, Column, Table};
use unjank_units::Nanos;

use super::explained::Explained;
use crate::path::{Activity, Detail, Segment};

/// Rows of the table, and one for the way to an idle CPU, however short.
const SHOWN: usize = 5;
/// The name of the time from a wake-up to the run on an idle CPU, which is nobody's.
const FROM_IDLE: &str = "waking up from idle";

/// The threads that had them longest, by name; `None` if the path never waited
/// for a CPU.
pub(super) fn table(launch: &Explained) -> Option<Table> {
    let times = occupants(launch, &launch.path().segments);
    let all = times.values().fold(Nanos::ZERO, |sum, &time| sum + time);
    let mut times: Vec<(String, Nanos)> = times.into_iter().collect();
    times.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    if times.is_empty() {
        return None;
    }
    let columns = [
        Column::text("who had the CPU"),
        Column::of("time", Unit::Nanoseconds),
        Column::of("share", Unit::Ratio),
    ];
    let title = "Who had the CPU while it waited in the run queue";
    let share = |time: Nanos| time.get() as f64 / (all.get() as f64).max(1.0);
    let mut table = Table::new("why/run_queue", title, columns);
    let rows = times.iter().enumerate().filter(|(at, (name, _))| *at < SHOWN || name == FROM_IDLE);
    for (_, (name, time)) in rows {
        let time_cell = TableCell::number(time.get() as f64);
        table.push([name.as_str().into(), time_cell, TableCell::number(share(*time))]);
    }
    Some(table)
}

/// Who had the CPU while the path waited for it in these segments, by name; empty
/// for segments of another kind.
pub(super) fn occupants<'a>(
    launch: &Explained,
    segments: impl IntoIterator<Item = &'a Segment>,
) -> BTreeMap<String, Nanos> {
    let mut times: HashMap<Who, Nanos, RandomState> = HashMap::default();
    for segment in segments {
        let (Activity::RunQueue, Detail::Cpu(cpu)) = (segment.activity, segment.detail) else {
            continue;
        };
        let Some(trace) = launch.trace.cpu(cpu) else { continue };
        for stretch in trace.between(segment.from, segment.to) {
            let who = match stretch.who {
                Occupant::Idle(_) => Who::FromIdle,
                Occupant::Thread(task) if task.tid == segment.thread => Who::Itself,
                who => Who::Other(who),
            };
            let time = times.entry(who).or_default();
            *time = *time + stretch.length();
        }
    }
    let mut by_name: BTreeMap<String, Nanos> = BTreeMap::new();
    for (who, time) in times {
        let sum = by_name.entry(who.to_string()).or_default();
        *sum = *sum + time;
    }
    by_name
}

/// Who has a CPU that a thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Who {
    FromIdle,
    /// It runs already: the thread is on its way.
    Itself,
    Other(Occupant),
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FromIdle => f.write_str(FROM_IDLE),
            Self::Itself => f.write_str("moving to it"),
            Self::Other(who) => who.fmt(f),
        }
    }
}
