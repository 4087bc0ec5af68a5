//! The critical path over time, as tables: its pieces, the clock that they had,
//! and the requests that they waited for.
//!
//! A row of each table is a run of neighbouring segments, so the lengths add up
//! exactly however many segments a row has.

use std::collections::{BTreeMap, BTreeSet};

use unjank_host::sched::ThreadId;
use unjank_measure::Unit;
use unjank_measure::record::{Cell as TableCell, Column, Table};
use unjank_units::Nanos;

use super::explained::Explained;
use super::names::{self, operation};
use super::run_queue;
use crate::path::{Activity, Detail, Segment, Way};
use crate::split::{Cell, clock_loss};

/// The most rows of each table.
const ROWS: usize = 400;

/// A row for each piece of the path, in order of time. The last columns are the
/// parts of its time by activity.
pub(super) fn path(launch: &Explained) -> Table {
    let columns = [
        Column::of("from", Unit::Nanoseconds),
        Column::of("time", Unit::Nanoseconds),
        Column::text("thread"),
        Column::of("others", Unit::Count),
        Column::text("way"),
        Column::text("activity"),
        Column::of("cpu", Unit::Count),
        Column::text("detail"),
        Column::text("evidence"),
        Column::of("depth", Unit::Count),
        Column::of("pieces", Unit::Count),
    ];
    let parts = Cell::ALL.map(|cell| Column::of(cell.name(), Unit::Nanoseconds));
    let columns = columns.into_iter().chain(parts);
    let mut table = Table::new("why/path", "The critical path", columns);
    let segments: Vec<&Segment> = launch.path.segments.iter().collect();
    let (rows, longest_merged) = rows(&segments, launch, ROWS);
    for row in &rows {
        let slow = row.iter().fold(Nanos::ZERO, |sum, segment| sum + slow_clock(launch, segment));
        let depth = row.iter().map(|segment| segment.depth).min().unwrap_or(0);
        let (thread, others) = threads(launch, row);
        let cells = [
            TableCell::number(begin(launch, row)),
            nanos(length(row)),
            thread.into(),
            if others > 0 { TableCell::number(others as f64) } else { TableCell::Empty },
            most(row, |segment| Some(segment.way)).map_or("", Way::name).into(),
            most(row, |segment| Some(segment.activity)).map_or("", name).into(),
            TableCell::maybe(most(row, cpu).map(|cpu| cpu as f64)),
            detail(launch, row).into(),
            names::evidence(row.iter().copied()).into(),
            TableCell::number(f64::from(depth)),
            TableCell::number(row.len() as f64),
        ];
        let activities = times(row, |segment| Some(segment.activity));
        let of = |cell: Cell| {
            let time = |activity| {
                let found = activities.iter().find(|(of, _)| *of == activity);
                found.map_or(Nanos::ZERO, |(_, time)| *time)
            };
            match cell {
                Cell::SlowClock => slow,
                Cell::Of(Activity::Computing) => time(Activity::Computing) - slow,
                Cell::Of(activity) => time(activity),
            }
        };
        let parts = Cell::ALL.map(of).map(|time| match time {
            Nanos::ZERO => TableCell::Empty,
            time => nanos(time),
        });
        table.push(cells.into_iter().chain(parts));
    }
    let merged = || rows.iter().filter(|row| row.len() > 1);
    if let Some(longest_merged) = longest_merged {
        let pieces: usize = merged().map(|row| row.len()).sum();
        let time = merged().map(|row| length(row)).fold(Nanos::ZERO, |sum, time| sum + time);
        table = table.with_note(format!(
            "{pieces} pieces shorter than {longest_merged} are merged into {}: {time} in all",
            merged().count()
        ));
    }
    table
}

/// The clock frequency of the path's CPU while it computed; `None` where the
/// machine reports none.
pub(super) fn clock(launch: &Explained) -> Option<Table> {
    if launch.highest.is_empty() {
        return None;
    }
    let columns = [
        Column::of("from", Unit::Nanoseconds),
        Column::of("time", Unit::Nanoseconds),
        Column::of("cpu", Unit::Count),
        Column::of("clock", Unit::Hertz),
        Column::of("highest", Unit::Hertz),
    ];
    let title = "The clock while the path computed";
    let mut table = Table::new("why/clock", title, columns);
    let computes = |segment: &&Segment| {
        segment.activity == Activity::Computing
            && cpu(segment).is_some_and(|cpu| launch.highest.contains_key(&cpu))
    };
    let segments: Vec<&Segment> = launch.path.segments.iter().filter(computes).collect();
    for row in rows(&segments, launch, ROWS).0 {
        let Some(cpu) = most(row, cpu) else { continue };
        let Some(&highest) = launch.highest.get(&cpu) else { continue };
        let slow = row.iter().fold(Nanos::ZERO, |sum, segment| sum + slow_clock(launch, segment));
        // The share of computing that the highest clock would have taken.
        let share = 1.0 - slow.get() as f64 / (length(row).get() as f64).max(1.0);
        table.push([
            TableCell::number(begin(launch, row)),
            nanos(length(row)),
            TableCell::number(cpu as f64),
            TableCell::number(highest as f64 * 1e3 * share),
            TableCell::number(highest as f64 * 1e3),
        ]);
    }
    (!table.rows.is_empty()).then_some(table)
}

/// The requests to block devices that the path waited for; `None` without any.
pub(super) fn requests(launch: &Explained) -> Option<Table> {
    let columns = [
        Column::of("from", Unit::Nanoseconds),
        Column::of("time", Unit::Nanoseconds),
        Column::text("device"),
        Column::text("operation"),
        Column::of("requests", Unit::Count),
        Column::of("size", Unit::Bytes),
        Column::text("for"),
    ];
    let mut table = Table::new("why/requests", "Requests that the path waited for", columns);
    let request = |segment: &Segment| match segment.detail {
        Detail::Request(id) => launch.history.request(id).map(|request| (id, *request)),
        _ => None,
    };
    let waits = |segment: &&Segment| request(segment).is_some();
    let segments: Vec<&Segment> = launch.path.segments.iter().filter(waits).collect();
    for row in rows(&segments, launch, ROWS).0 {
        let asked: BTreeMap<u32, _> = row
            .iter()
            .filter_map(|segment| request(segment))
            .map(|(id, request)| (id.0, request.asked))
            .collect();
        let devices: BTreeSet<String> =
            asked.values().map(|asked| asked.device.to_string()).collect();
        let operations: BTreeSet<&str> =
            asked.values().map(|asked| operation(asked.letters.as_bytes())).collect();
        let sectors: u64 = asked.values().map(|asked| u64::from(asked.sectors)).sum();
        table.push([
            TableCell::number(begin(launch, row)),
            nanos(length(row)),
            devices.into_iter().collect::<Vec<_>>().join(", ").into(),
            operations.into_iter().collect::<Vec<_>>().join(", ").into(),
            TableCell::number(asked.len() as f64),
            TableCell::number(sectors.saturating_mul(512) as f64),
            threads(launch, row).0.into(),
        ]);
    }
    (!table.rows.is_empty()).then_some(table)
}

/// At most `most` rows of neighbouring segments, and the length of the slots if
/// some were merged.
///
/// The window is divided into slots. Neighbouring segments are merged if they are shorter
/// than a slot and begin in the same slot; with many slots, only those of one thread. With
/// 128 slots, at most 128 segments are longer than a slot, and they leave at most 256
/// groups between them.
fn rows<'s, 'a>(
    segments: &'s [&'a Segment],
    launch: &Explained,
    most: usize,
) -> (Vec<&'s [&'a Segment]>, Option<Nanos>) {
    if segments.len() <= most {
        return (segments.chunks(1).collect(), None);
    }
    let total = launch.total().get();
    let merged = |slots: u64, same_thread: bool| {
        let width = total.div_ceil(slots).max(1);
        let slot = |segment: &Segment| segment.from.since(launch.from).get() / width;
        let short = |segment: &Segment| segment.length().get() < width;
        let joins = |a: &&Segment, b: &&Segment| {
            short(a) && short(b) && slot(a) == slot(b) && (!same_thread || a.thread == b.thread)
        };
        (segments.chunk_by(joins).collect::<Vec<_>>(), Some(Nanos(width)))
    };
    let slots = [8_192, 4_096, 2_048, 1_024, 512, 256];
    let finest = slots.into_iter().map(|slots| merged(slots, true));
    let coarse = [1_024, 512, 256].into_iter().map(|slots| merged(slots, false));
    let fits = |(rows, _): &(Vec<_>, _)| rows.len() <= most;
    finest.chain(coarse).find(fits).unwrap_or_else(|| merged(128, false))
}

fn begin(launch: &Explained, row: &[&Segment]) -> f64 {
    row.first().map_or(0.0, |segment| segment.from.since(launch.from).get() as f64)
}

fn length(row: &[&Segment]) -> Nanos {
    row.iter().fold(Nanos::ZERO, |sum, segment| sum + segment.length())
}

fn nanos(time: Nanos) -> TableCell {
    TableCell::number(time.get() as f64)
}

fn name(activity: Activity) -> &'static str {
    Cell::Of(activity).name()
}

fn cpu(segment: &Segment) -> Option<usize> {
    match segment.detail {
        Detail::Cpu(cpu) => Some(cpu),
        _ => None,
    }
}

fn slow_clock(launch: &Explained, segment: &Segment) -> Nanos {
    match (segment.activity, cpu(segment)) {
        (Activity::Computing, Some(cpu)) => {
            clock_loss(cpu, (segment.from, segment.to), &launch.history, &launch.highest)
        }
        _ => Nanos::ZERO,
    }
}

/// The key with the most time in a row.
fn most<Key: Ord + Copy>(row: &[&Segment], key: impl Fn(&Segment) -> Option<Key>) -> Option<Key> {
    times(row, key).into_iter().next().map(|(key, _)| key)
}

/// The time of each key in a row, the longest first.
fn times<Key: Ord + Copy>(
    row: &[&Segment],
    key: impl Fn(&Segment) -> Option<Key>,
) -> Vec<(Key, Nanos)> {
    let mut times: BTreeMap<Key, Nanos> = BTreeMap::new();
    for segment in row {
        if let Some(key) = key(segment) {
            let time = times.entry(key).or_default();
            *time = *time + segment.length();
        }
    }
    let mut times: Vec<(Key, Nanos)> = times.into_iter().collect();
    times.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    times
}

/// The thread with the most time in a row, and the number of others.
fn threads(launch: &Explained, row: &[&Segment]) -> (String, usize) {
    let times = times(row, |segment| Some(segment.thread.0));
    let first =
        times.first().map(|(thread, _)| names::thread_name(&launch.history, ThreadId(*thread)));
    (first.unwrap_or_default(), times.len().saturating_sub(1))
}

/// The text of the column `detail`: the request, the thread that had the CPU, the device, or the
/// activities of a merged row.
fn detail(launch: &Explained, row: &[&Segment]) -> String {
    let [only] = row else {
        let parts = times(row, |segment| Some(segment.activity));
        let parts: Vec<String> =
            parts.iter().map(|(activity, time)| format!("{} {time}", name(*activity))).collect();
        return parts.join(", ");
    };
    match only.detail {
        Detail::Cpu(_) if matches!(only.activity, Activity::RunQueue | Activity::Waking) => {
            match run_queue::occupants(launch, [*only]).into_iter().max_by_key(|(_, time)| *time) {
                Some((who, time)) => format!("{who}: {time}"),
                None => String::new(),
            }
        }
        Detail::Request(id) => launch.history.request(id).map(names::request).unwrap_or_default(),
        Detail::Interrupt(id) => format!("device {}", launch.history.interrupt_name(id)),
        Detail::Cpu(_) | Detail::None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::tracefs::script::Script;

    use super::super::explained::Clocks;
    use super::super::scripted::{explained, explained_with};
    use super::*;

    fn sum(table: &Table, column: &str) -> u64 {
        let place = table.columns.iter().position(|it| it.name == column).unwrap();
        let number = |row: &Vec<TableCell>| match &row[place] {
            TableCell::Number(number) => number.value as u64,
            _ => 0,
        };
        table.rows.iter().map(number).sum()
    }

    /// Thread 7 and others take turns on one CPU: for `short` ns each, for
    /// `turns` turns, then 7 runs alone.
    fn turns(turns: u64, short: u64, threads: u32) -> (Script, u64) {
        let mut script = Script::new().runs(0, 0, 9, 7);
        for turn in 0..turns {
            let at = turn * short * 2 + short;
            let other = 100 + (turn % u64::from(threads)) as u32;
            script = script.runs(0, at, 7, other).runs(0, at + short, other, 7);
        }
        let end = turns * short * 2 + 1_000_000;
        (script.sleeps(0, end, 7, 0), end)
    }

    #[test]
    fn a_short_path_is_a_row_for_each_segment() {
        let (script, end) = turns(3, 100, 1);
        let launch = explained(&script, end);
        let table = path(&launch);
        assert_eq!(table.rows.len(), launch.path.segments.len());
        assert_eq!(sum(&table, "time"), end);
        assert!(table.notes.is_empty(), "{:?}", table.notes);
    }

    #[test]
    fn a_long_path_is_bounded_and_adds_up() {
        for (count, short) in [(3_000, 100), (3_000, 10_000), (300, 7)] {
            let (script, end) = turns(count, short, 1);
            let launch = explained(&script, end);
            let table = path(&launch);
            assert!(table.rows.len() <= ROWS, "{} rows", table.rows.len());
            assert_eq!(sum(&table, "time"), end);
            assert_eq!(sum(&table, "pieces"), launch.path.segments.len() as u64);
            assert!(table.notes[0].contains(" are merged into "), "{:?}", table.notes);
        }
    }

    #[test]
    fn threads_are_merged_only_if_there_are_too_many() {
        // Each child runs once while the first thread waits for it.
        let mut script = Script::new().runs(0, 0, 9, 7);
        let children = 5_000_u64;
        for child in 0..children {
            let (at, tid) = (child * 100 + 10, 1_000 + child as u32);
            script = script.wakes(0, at, tid, 1).runs(1, at + 5, 0, tid);
            script = script.sleeps(0, at + 10, 7, 0).wakes(1, at + 50, 7, 0);
            script = script.runs(0, at + 60, 0, 7).sleeps(1, at + 60, tid, 0);
        }
        let end = children * 100;
        let launch = explained(&script.sleeps(0, end, 7, 0), end);
        assert!(launch.path.segments.len() > 5_000);
        let table = path(&launch);
        assert!(table.rows.len() <= ROWS, "{} rows", table.rows.len());
        assert_eq!(sum(&table, "time"), end);
        assert!(sum(&table, "others") > 0);
        let parts = Cell::ALL.map(|cell| sum(&table, cell.name()));
        assert_eq!(parts.iter().sum::<u64>(), end);
        let computing = launch.split.of_cell(Cell::Of(Activity::Computing));
        assert_eq!(parts[0], computing.get());
    }

    #[test]
    fn without_clocks_and_requests_there_are_no_tables_of_them() {
        let (script, end) = turns(1, 100, 1);
        let launch = explained(&script, end);
        assert!(clock(&launch).is_none() && requests(&launch).is_none());
    }

    #[test]
    fn the_clock_of_computing_is_shown_beside_the_highest() {
        let (script, end) = turns(1, 100, 1);
        let clocks = Clocks {
            highest: [(0, 2_000_000)].into(),
            at_start: [(0, 1_000_000)].into(),
            ..Clocks::default()
        };
        let launch = explained_with(&script, end, clocks);
        let table = clock(&launch).unwrap();
        let TableCell::Number(clock) = &table.rows[0][3] else { panic!("{table:?}") };
        assert!((clock.value - 1e9).abs() < 1e7, "{clock:?}");
        assert_eq!(sum(&path(&launch), "slow-clock"), sum(&table, "time") / 2);
    }
}
