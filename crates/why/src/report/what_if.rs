//! What changes would save.

use unjank_measure::Unit;
use unjank_measure::record::{Cell as TableCell, Column, Number, Table};
use unjank_units::Nanos;

use super::explained::{Explained, Subject};
use crate::what_if::{Change, length};

/// A page that is in memory: a minor fault.
const PAGE_HIT: Nanos = Nanos::from_micros(1);
/// From the wake-up of a spinning thread to its run.
const HANDOVER: Nanos = Nanos::from_micros(2);

/// What a change would save.
#[derive(Debug, Clone)]
pub(super) struct Saving {
    /// What is changed: `no wait for the CPU`.
    pub(super) name: &'static str,
    /// The remedy to try.
    pub(super) next: &'static str,
    /// All changes together.
    pub(super) of_all: bool,
    /// The median length as it was.
    pub(super) before: Nanos,
    /// The median predicted length.
    pub(super) after: Nanos,
    /// The smallest and largest prediction, if there are several launches.
    pub(super) range: Option<[Nanos; 2]>,
}

impl Saving {
    pub(super) fn saved(&self) -> Nanos {
        self.before - self.after
    }
}

/// Predicts every change for every launch.
pub(super) fn changes(launches: &[Explained]) -> Vec<Saving> {
    let all = Change {
        highest_clock: true,
        page_hit: Some(PAGE_HIT),
        no_run_queue: true,
        lock_handover: None,
    };
    let none = Change::default;
    let changes = [
        (
            "highest clock",
            "unjank launch boost -- COMMAND",
            Change { highest_clock: all.highest_clock, ..none() },
        ),
        (
            "pages in memory",
            "unjank launch bench --a cold --b warm -- COMMAND",
            Change { page_hit: all.page_hit, ..none() },
        ),
        (
            "no wait for a CPU",
            "sudo unjank rt set PID --process nice:-10",
            Change { no_run_queue: true, ..none() },
        ),
        (
            "locks spun instead of parked",
            "unjank lock doctor PID",
            Change { lock_handover: Some(HANDOVER), ..none() },
        ),
        ("all of these", "", all),
    ];
    let saving = |(name, next, change): (&'static str, &'static str, Change)| {
        let mut lengths: Vec<Nanos> = launches.iter().map(|it| predicted(it, &change)).collect();
        lengths.sort();
        let mut before: Vec<Nanos> = launches.iter().map(Explained::total).collect();
        before.sort();
        let median = |sorted: &[Nanos]| sorted.get(sorted.len().saturating_sub(1) / 2).copied();
        let range = match lengths.as_slice() {
            [least, .., most] => Some([*least, *most]),
            _ => None,
        };
        Some(Saving {
            name,
            next,
            of_all: next.is_empty(),
            before: median(&before)?,
            after: median(&lengths)?,
            range,
        })
    };
    changes.into_iter().filter_map(saving).collect()
}

fn predicted(launch: &Explained, change: &Change) -> Nanos {
    let window = (launch.thread, launch.from, launch.to);
    length(&launch.history, window, change, &launch.highest)
}

pub(super) fn table(launch: &Explained, savings: &[Saving]) -> Table {
    let columns = [
        Column::text("if"),
        Column::of("then", Unit::Nanoseconds),
        Column::of("saved", Unit::Change),
    ];
    let title = match launch.subject {
        Subject::Launch => format!("What would make it faster than {}", launch.total()),
        Subject::Window => format!("What would do the same in less than {}", launch.total()),
    };
    let mut table = Table::new("why/what_if", title, columns);
    for saving in savings {
        let before = saving.before.get() as f64;
        let after = saving.after.get() as f64;
        let range = saving.range.map(|range| range.map(|time| time.get() as f64));
        table.push([
            saving.name.into(),
            Number::new(after).within(range).into(),
            TableCell::number(if before > 0.0 { (after - before) / before } else { 0.0 }),
        ]);
    }
    table.with_note(
        "predicted from the recorded wake-ups: timeouts, races and work that moves to other \
         threads are not modelled",
    )
}
