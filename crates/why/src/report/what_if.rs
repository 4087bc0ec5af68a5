//! The predicted savings of changes.

use unjank_host::input::Stop;
use unjank_measure::Unit;
use unjank_measure::record::{Cell as TableCell, Column, Number, Table};
use unjank_units::Nanos;

use super::about::{About, Remedy};
use super::explained::{Explained, Subject};
use super::handoff::Handoff;
use super::quota;
use super::spread::Spread;
use crate::path::Activity;
use crate::split::Cell;
use crate::what_if::{Change, Data, InMemory, Replays};

/// The time of a read from memory instead of storage: a minor fault, or a copy of a page.
const HIT: Nanos = Nanos::from_micros(1);
/// The time from the release of a lock to the run of the thread that waited for it, if no
/// run of `lock probe` has measured it.
const HANDOFF: Nanos = Nanos::from_micros(2);

/// The predicted saving of a change.
#[derive(Debug, Clone)]
pub(super) struct Saving {
    /// What is changed.
    pub(super) remedy: Remedy,
    /// The length of each launch, and its predicted length.
    pub(super) lengths: Vec<(Nanos, Nanos)>,
    /// The median predicted length.
    pub(super) after: f64,
    /// The spread of the predicted lengths; `None` for one launch.
    pub(super) after_spread: Option<Spread>,
    /// The median of the saved shares of each launch.
    pub(super) share: f64,
    /// The spread of the saved shares; `None` for one launch.
    pub(super) share_spread: Option<Spread>,
}

impl Saving {
    /// The ends of the spread of the share; for one launch, the share itself.
    pub(super) fn share_ends(&self) -> [f64; 2] {
        self.share_spread.map_or([self.share; 2], Spread::ends)
    }
}

/// The changes, in the order of the table.
pub(super) const REMEDIES: [Remedy; 8] = [
    Remedy::HighestClock,
    Remedy::Cached,
    Remedy::EnoughMemory,
    Remedy::ProgramFirst,
    Remedy::ServersFirst,
    Remedy::SpunLocks,
    Remedy::All,
    Remedy::HalfSections,
];

/// The predicted length of a launch with each of [`REMEDIES`].
pub(super) type Lengths = [Nanos; REMEDIES.len()];

/// Predicts every change for one launch; `None` after a stop request.
pub(super) fn lengths(
    launch: &Explained,
    handoff: Option<&Handoff>,
    stop: &Stop,
) -> Option<Lengths> {
    let handoff = handoff.map_or(HANDOFF, |measured| measured.time);
    let replays = Replays::of(launch.window(), stop)?;
    let same = Change::default();
    let mut lengths = [launch.total(); REMEDIES.len()];
    for (length, remedy) in lengths.iter_mut().zip(REMEDIES) {
        let change = change(remedy, launch, handoff);
        if change != same {
            *length = replays.length(&change)?;
        }
    }
    limit_by_quota(&mut lengths, launch);
    Some(lengths)
}

/// Being first in the run queue saves no time in which a group was held back by its CPU quota.
fn limit_by_quota(lengths: &mut Lengths, launch: &Explained) {
    let held_back = quota::of_program(&launch.throttled);
    let waited = launch.split.of_cell(Cell::Of(Activity::RunQueue));
    let savable = waited - held_back;
    let mut too_much = Nanos::ZERO;
    for (length, remedy) in lengths.iter_mut().zip(REMEDIES) {
        match remedy {
            _ if remedy.is_first_in_queue() && held_back > Nanos::ZERO => {
                let excess = (launch.total() - *length) - savable;
                *length = *length + excess;
                too_much = too_much.max(excess);
            }
            // It contains both.
            Remedy::All => *length = (*length + too_much).min(launch.total()),
            _ => {}
        }
    }
}

/// The saving of every change, from the length of each launch and its predicted lengths.
pub(super) fn savings(launches: &[(Nanos, Lengths)]) -> Vec<Saving> {
    let saving = |(at, remedy): (usize, Remedy)| {
        let lengths = launches.iter().map(|(total, lengths)| (*total, lengths[at]));
        of_lengths(remedy, lengths.collect())
    };
    REMEDIES.into_iter().enumerate().filter_map(saving).collect()
}

/// The change to a launch that a remedy makes.
fn change(remedy: Remedy, launch: &Explained, handoff: Nanos) -> Change {
    let none = Change::default();
    let held = |data| Some(InMemory { data, read: HIT });
    match remedy {
        Remedy::HighestClock => Change { highest_clock: !launch.highest.is_empty(), ..none },
        Remedy::Cached => Change { in_memory: held(Data::All), ..none },
        Remedy::EnoughMemory => Change { in_memory: held(Data::Swap), no_reclaim: true, ..none },
        Remedy::ProgramFirst => Change { boosted: launch.family.clone(), ..none },
        Remedy::ServersFirst => Change { boosted: launch.threads_of_server(), ..none },
        Remedy::SpunLocks => Change { lock_handoff: Some(handoff), ..none },
        Remedy::All => Change {
            highest_clock: !launch.highest.is_empty(),
            in_memory: held(Data::All),
            no_reclaim: true,
            boosted: &launch.family | &launch.threads_of_server(),
            lock_handoff: Some(handoff),
            half_sections: false,
        },
        Remedy::HalfSections => Change { half_sections: true, ..none },
    }
}

/// The saving by the lengths of each launch before and after.
fn of_lengths(remedy: Remedy, lengths: Vec<(Nanos, Nanos)>) -> Option<Saving> {
    let share = |(before, after): &(Nanos, Nanos)| {
        1.0 - after.get() as f64 / (before.get() as f64).max(1.0)
    };
    let mut shares: Vec<f64> = lengths.iter().map(share).collect();
    let mut after: Vec<f64> = lengths.iter().map(|(_, after)| after.get() as f64).collect();
    let (after, after_spread) = Spread::of(&mut after)?;
    let (share, share_spread) = Spread::of(&mut shares)?;
    Some(Saving { remedy, lengths, after, after_spread, share, share_spread })
}

/// A row for each change; `None` without any.
pub(super) fn table(
    launch: &Explained,
    savings: &[Saving],
    launches: usize,
    about: &About,
) -> Option<Table> {
    if savings.is_empty() {
        return None;
    }
    let mut columns = vec![
        Column::text("if"),
        Column::of("then", Unit::Nanoseconds),
        Column::of("saved", Unit::Change),
    ];
    if savings.iter().any(|saving| saving.share_spread.is_some_and(|it| it.range().is_some())) {
        columns.extend(["least", "most"].map(|name| Column::of(name, Unit::Change)));
    }
    let title = match launch.subject {
        Subject::Launch => format!("What would make it faster than {}", launch.total()),
        Subject::Window => format!("What would do the same in less than {}", launch.total()),
    };
    let mut table = Table::new("why/what_if", title, columns);
    for saving in savings {
        let is_missing = match saving.remedy {
            Remedy::HighestClock => launch.highest.is_empty(),
            Remedy::EnoughMemory => {
                let reclaim = launch.split.of_cell(Cell::Of(Activity::Reclaim));
                launch.swap.is_empty() && reclaim == Nanos::ZERO
            }
            _ => false,
        };
        if is_missing {
            table.push([saving.remedy.name().into(), "n/a".into()]);
            continue;
        }
        let after_interval = saving.after_spread.and_then(Spread::interval);
        let saved = saving.share_spread.map(Spread::negated);
        let mut row = vec![
            saving.remedy.name().into(),
            Number::new(saving.after).within(after_interval).into(),
            Number::new(0.0 - saving.share).within(saved.and_then(Spread::interval)).into(),
        ];
        if let Some([most, least]) = saved.and_then(Spread::range) {
            row.extend([least, most].map(TableCell::number));
        }
        table.push(row);
    }
    table = table.with_note(
        "predicted from the recorded wake-ups: timeouts, races and work that moves to other \
         threads are not modelled",
    );
    if savings.iter().any(|saving| saving.remedy == Remedy::SpunLocks && saving.share > 0.0) {
        table = table.with_note(match &about.handoff {
            Some(measured) => format!("a lock hand-off takes {}", measured.words()),
            None => format!(
                "a lock hand-off is assumed to take {HANDOFF}; after unjank lock probe, the \
                 measured time is used"
            ),
        });
    }
    if savings.iter().any(|saving| saving.remedy == Remedy::HalfSections && saving.share > 0.0) {
        table = table.with_note(
            "critical sections: what threads compute before they release a lock, or signal a \
             condition variable, that the path waits for",
        );
    }
    if launch.is_older_than_its_recording() {
        table = table.with_note(
            "the program started before the recording: its threads from that time count as other \
             programs",
        );
    }
    let by_server = |it: &Saving| it.remedy == Remedy::ServersFirst && it.share > 0.0;
    if savings.iter().any(by_server)
        && let Some(server) = launch.server_name()
    {
        table = table.with_note(format!("its server is the process of {server}"));
    }
    Some(match launches {
        0 | 1 => table,
        2..=5 => table.with_note(format!(
            "medians of {launches} launches, and the least and the most that any of them saves"
        )),
        _ => table
            .with_note(format!("medians of {launches} launches; in brackets their 95 % intervals")),
    })
}

#[cfg(test)]
mod tests {
    use unjank_host::sched::ThreadId;
    use unjank_host::tracefs::script::Script;
    use unjank_host::tracefs::{Context, EventKind, StorageEvent};

    use super::*;
    use crate::report::scripted::explained;

    #[test]
    fn a_note_says_that_older_threads_are_not_known_to_be_of_the_program() {
        let notes = |is_born: bool| {
            let started = StorageEvent::Started { thread: ThreadId(7), same_process: false };
            let script = Script::new().runs(0, 0, 0, 3);
            let started = EventKind::Storage(started);
            let script =
                if is_born { script.happens(0, 5, Context::Thread, started) } else { script };
            let script = script.runs(0, 10, 3, 7).sleeps(0, 100, 7, 0);
            let launch = explained(&script, 100);
            let saving = saving(&[(100, 50)]);
            table(&launch, &[saving], 1, &About::default()).unwrap().notes.len()
        };
        assert_eq!(notes(false), notes(true) + 1);
    }

    fn saving(lengths: &[(u64, u64)]) -> Saving {
        let lengths: Vec<_> = lengths.iter().map(|&(a, b)| (Nanos(a), Nanos(b))).collect();
        of_lengths(Remedy::ProgramFirst, lengths).unwrap()
    }

    #[test]
    fn savings_are_shares_of_each_launch() {
        let one = saving(&[(400, 300)]);
        assert_eq!((one.after, one.after_spread), (300.0, None));
        assert_eq!((one.share, one.share_ends()), (0.25, [0.25, 0.25]));
        let three = saving(&[(400, 300), (1_000, 500), (100, 100)]);
        assert_eq!((three.after, three.after_spread), (300.0, Some(Spread::Range([100.0, 500.0]))));
        assert_eq!((three.share, three.share_ends()), (0.25, [0.0, 0.5]));
    }

    #[test]
    fn many_launches_have_an_interval_that_leaves_out_extremes() {
        let lengths: Vec<(u64, u64)> = (1..=20).map(|i| (1_000, 500 + i)).collect();
        assert_eq!(saving(&lengths).after_spread, Some(Spread::Interval([506.0, 515.0])));
        assert!(of_lengths(Remedy::All, Vec::new()).is_none());
    }
}
