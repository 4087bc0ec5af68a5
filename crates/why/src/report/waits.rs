//! The longest waits of the explained thread.

use std::collections::BTreeMap;

use unjank_measure::Unit;
use unjank_measure::record::{Cell as TableCell, Column, Table};
use unjank_units::Nanos;

use super::calls::call_name;
use super::explained::Explained;
use super::names;
use crate::history::Wait;
use crate::path::{Activity, Certainty, OwnWait, Segment};
use crate::split::Cell;

/// Rows of the table.
const SHOWN: usize = 10;
/// Activities that are named in a row.
const NAMED: usize = 3;

/// The longest waits: how long, in what, who ended it, and what happened
/// meanwhile.
pub(super) fn table(launch: &Explained) -> Table {
    let columns = [
        Column::of("wait", Unit::Nanoseconds),
        Column::of("after", Unit::Nanoseconds),
        Column::text("in"),
        Column::text("ended by"),
        Column::text("meanwhile"),
        Column::text("evidence"),
    ];
    let mut waits: Vec<(u32, &OwnWait)> = (0..).zip(&launch.path().waits).collect();
    waits.sort_by_key(|(_, wait)| std::cmp::Reverse(wait.to.since(wait.from)));
    let mut table = Table::new("why/waits", "The longest waits", columns);
    for (index, wait) in waits.iter().take(SHOWN) {
        let segments = || launch.path().segments.iter().filter(|it| it.wait == Some(*index));
        let proved = segments().all(|segment| segment.certainty == Certainty::Proved);
        table.push([
            TableCell::number(wait.to.since(wait.from).get() as f64),
            TableCell::number(wait.from.since(launch.from).get() as f64),
            place(wait).into(),
            names::ended_by(launch, wait).into(),
            meanwhile(segments()).into(),
            if proved { "proved" } else { "inferred" }.into(),
        ]);
    }
    let others = waits.len().saturating_sub(SHOWN);
    if others > 0 {
        let time = waits.iter().skip(SHOWN).map(|(_, wait)| wait.to.since(wait.from));
        let time = time.fold(Nanos::ZERO, |sum, time| sum + time);
        table = table.with_note(format!("{others} shorter waits: {time} in all"));
    }
    table
}

fn place(wait: &OwnWait) -> String {
    match wait.wait {
        Wait::Call { number, arguments } => match call_name(number) {
            Some("futex") => format!("futex {:#x}", arguments[0]),
            Some(name) => name.to_owned(),
            None => format!("system call {number}"),
        },
        Wait::Fault { address } => format!("page fault {address:#x}"),
        Wait::Unknown => "not recorded".to_owned(),
    }
}

/// `computing 12.1 ms, run-queue 3.40 ms`: the largest parts of a wait.
fn meanwhile<'a>(segments: impl Iterator<Item = &'a Segment>) -> String {
    let mut times: BTreeMap<Activity, Nanos> = BTreeMap::new();
    for segment in segments {
        let time = times.entry(segment.activity).or_default();
        *time = *time + segment.length();
    }
    let mut times: Vec<(Activity, Nanos)> = times.into_iter().collect();
    times.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    let words =
        times.iter().take(NAMED).map(|(of, time)| format!("{} {time}", Cell::Of(*of).name()));
    words.collect::<Vec<_>>().join(", ")
}
