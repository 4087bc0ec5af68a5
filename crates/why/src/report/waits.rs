//! The longest waits of the explained thread.

use std::collections::BTreeMap;

use unjank_measure::Unit;
use unjank_measure::number::counted;
use unjank_measure::record::{Cell as TableCell, Column, Table};
use unjank_units::Nanos;

use super::explained::Explained;
use super::names;
use super::page_in::source;
use crate::history::{Cause, Origin, Wait};
use crate::path::{Activity, Detail, OwnWait, Segment};
use crate::split::Cell;

/// The most rows of the table.
const SHOWN: usize = 10;
/// The most activities that are named in a row.
const NAMED: usize = 3;

/// A row for each of the longest waits: its length, the call, the waker, and the activities
/// meanwhile.
pub(super) fn table(launch: &Explained) -> Table {
    let columns = [
        Column::of("wait", Unit::Nanoseconds),
        Column::of("after", Unit::Nanoseconds),
        Column::text("in"),
        Column::text("ended by"),
        Column::text("meanwhile"),
        Column::text("evidence"),
        Column::text("function"),
    ];
    let mut waits: Vec<(u32, &OwnWait)> = (0..).zip(&launch.path().waits).collect();
    waits.sort_by_key(|(_, wait)| std::cmp::Reverse(wait.to.since(wait.from)));
    let mut table = Table::new("why/waits", "The longest waits", columns);
    for (index, wait) in waits.iter().take(SHOWN) {
        let segments = || launch.path().segments.iter().filter(|it| it.wait == Some(*index));
        table.push([
            TableCell::number(wait.to.since(wait.from).get() as f64),
            TableCell::number(wait.from.since(launch.from).get() as f64),
            place(launch, wait).into(),
            names::ended_by(launch, wait).into(),
            meanwhile(launch, segments()).into(),
            names::evidence(segments()).into(),
            launch.chain_off_cpu(wait.thread, wait.to).into(),
        ]);
    }
    let others = waits.len().saturating_sub(SHOWN);
    if others > 0 {
        let time = waits.iter().skip(SHOWN).map(|(_, wait)| wait.to.since(wait.from));
        let time = time.fold(Nanos::ZERO, |sum, time| sum + time);
        table = table.with_note(format!(
            "{}: {time} in all",
            counted(others, "shorter wait", "shorter waits")
        ));
    }
    table
}

/// The call in which a thread slept; for a page fault, the source of the page.
fn place(launch: &Explained, wait: &OwnWait) -> String {
    let Wait::Fault { file, .. } = wait.wait else { return names::place(&wait.wait) };
    let request = match wait.wake.map(|wake| wake.by) {
        Some(Origin::Interrupt(Cause::Storage(id))) => launch.history.request(id),
        _ => None,
    };
    match source(launch, file, request).words(launch) {
        Some(source) => format!("page fault in {source}"),
        None => names::place(&wait.wait),
    }
}

/// `computing 12.1 ms, device virtio0-input 3.40 ms`: the largest parts of a
/// wait.
fn meanwhile<'a>(launch: &Explained, segments: impl Iterator<Item = &'a Segment>) -> String {
    let mut times: BTreeMap<String, Nanos> = BTreeMap::new();
    for segment in segments {
        let time = times.entry(part(launch, segment)).or_default();
        *time = *time + segment.length();
    }
    let mut times: Vec<(String, Nanos)> = times.into_iter().collect();
    times.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    let words = times.iter().take(NAMED).map(|(part, time)| format!("{part} {time}"));
    words.collect::<Vec<_>>().join(", ")
}

/// The activity of a segment, with the interrupt of the device or the function of the work item.
fn part(launch: &Explained, segment: &Segment) -> String {
    let activity = Cell::Of(segment.activity).name();
    match (segment.activity, segment.detail) {
        (_, Detail::Interrupt(id)) => {
            format!("{activity} {}", launch.history.interrupt_name(id))
        }
        (Activity::Computing, _) => match launch.work_function(segment.thread, segment.to) {
            Some(function) => format!("{activity} in {function}"),
            None => activity.to_owned(),
        },
        _ => activity.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::tracefs::script::{Script, task};
    use unjank_host::tracefs::{Context, EventKind, Irq};

    use super::*;
    use crate::report::scripted::explained;

    fn rows(script: &Script, functions: BTreeMap<u64, String>) -> Vec<[String; 2]> {
        rows_of(script, functions)
            .into_iter()
            .map(|[.., by, meanwhile, _]| [by, meanwhile])
            .collect()
    }

    /// The columns of text.
    fn rows_of(script: &Script, functions: BTreeMap<u64, String>) -> Vec<[String; 4]> {
        let mut launch = explained(script, 700);
        assert!(functions.keys().all(|address| launch.kernel_addresses().contains(address)));
        launch.name_functions(functions);
        let text = |cell: &TableCell| match cell {
            TableCell::Text(text) => text.clone(),
            other => panic!("{other:?}"),
        };
        table(&launch).rows.iter().map(|row| [2, 3, 4, 5].map(|at| text(&row[at]))).collect()
    }

    #[test]
    fn a_work_item_is_shown_with_its_function() {
        let begins = EventKind::WorkBegins { item: 1, function: 0x2a };
        let script = Script::new()
            .runs(0, 0, 0, 7)
            .sleeps(0, 100, 7, 0)
            .runs(1, 110, 0, 9)
            .happens(1, 120, Context::Thread, begins)
            .wakes(1, 400, 7, 0)
            .runs(0, 410, 0, 7)
            .sleeps(0, 700, 7, 0);
        let named = BTreeMap::from([(0x2a, "wb_workfn".to_owned())]);
        let [by, meanwhile] = &rows(&script, named)[0];
        assert_eq!(by, "hog (9) in wb_workfn");
        assert!(meanwhile.starts_with("computing in wb_workfn 290 ns"), "{meanwhile}");
        assert_eq!(rows(&script, BTreeMap::new())[0][0], "hog (9)", "a function without a name");
    }

    #[test]
    fn a_device_is_shown_with_its_interrupt() {
        let irq = EventKind::IrqEntry(Irq { number: 9, name: "gpu\n".into() });
        let woken = EventKind::Waking { task: task(7), cpu: 0 };
        let script = Script::new()
            .runs(0, 0, 0, 7)
            .sleeps(0, 100, 7, 0)
            .happens(0, 600, Context::Thread, irq)
            .happens(0, 600, Context::Irq, woken)
            .runs(0, 600, 0, 7)
            .sleeps(0, 700, 7, 0);
        let expected = ["device gpu\\n".to_owned(), "device gpu\\n 500 ns".to_owned()];
        assert_eq!(rows(&script, BTreeMap::new())[0], expected);
    }

    #[test]
    fn a_wait_that_does_not_end_has_no_evidence() {
        let script = Script::new().runs(0, 0, 0, 7).sleeps(0, 100, 7, 9).runs(0, 700, 9, 0);
        let expected = ["not recorded", "not in the trace", "unknown 600 ns", "none"];
        assert_eq!(rows_of(&script, BTreeMap::new()), [expected.map(str::to_owned)]);
    }
}
