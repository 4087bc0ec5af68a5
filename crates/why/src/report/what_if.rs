//! What changes would save.

use unjank_host::input::Stop;
use unjank_measure::Unit;
use unjank_measure::record::{Column, Number, Table};
use unjank_measure::stats::order;
use unjank_units::Nanos;

use super::about::{About, Remedy};
use super::explained::{Explained, Subject};
use super::handover::Handover;
use crate::path::Way;
use crate::what_if::{Change, Replays};

/// A read from memory instead of storage: a minor fault, or a copy of a page.
const HIT: Nanos = Nanos::from_micros(1);
/// From the release of a lock to the run of the thread that waited for it, where that
/// was not measured.
const HANDOVER: Nanos = Nanos::from_micros(2);

/// What a change would save.
#[derive(Debug, Clone)]
pub(super) struct Saving {
    /// What is changed.
    pub(super) remedy: Remedy,
    /// The median predicted length.
    pub(super) after: f64,
    /// Its 95 % interval, or with fewer than six launches its range; `None` for
    /// one launch.
    pub(super) after_range: Option<[f64; 2]>,
    /// The median of the saved shares of each launch.
    pub(super) share: f64,
    /// As of `after`. For one launch, the share itself at both ends.
    pub(super) share_range: [f64; 2],
}

/// The changes, in the order of the table.
const REMEDIES: [Remedy; 6] = [
    Remedy::HighestClock,
    Remedy::Cached,
    Remedy::ProgramFirst,
    Remedy::ServersFirst,
    Remedy::SpunLocks,
    Remedy::All,
];

/// The predicted length of a launch with each of [`REMEDIES`].
pub(super) type Lengths = [Nanos; REMEDIES.len()];

/// Predicts every change for one launch; `None` after a stop request.
pub(super) fn lengths(
    launch: &Explained,
    handover: Option<&Handover>,
    stop: &Stop,
) -> Option<Lengths> {
    let handover = handover.map_or(HANDOVER, |measured| measured.time);
    let replays = Replays::of(launch.window(), stop)?;
    let same = Change::default();
    let mut lengths = [launch.total(); REMEDIES.len()];
    for (length, remedy) in lengths.iter_mut().zip(REMEDIES) {
        let change = change(remedy, launch, handover);
        if change != same {
            *length = replays.length(&change)?;
        }
    }
    Some(lengths)
}

/// What every change would save, by the length of each launch and those predicted.
pub(super) fn savings(launches: &[(Nanos, Lengths)]) -> Vec<Saving> {
    let saving = |(at, remedy): (usize, Remedy)| {
        let lengths = launches.iter().map(|(total, lengths)| (*total, lengths[at]));
        of_lengths(remedy, &lengths.collect::<Vec<_>>())
    };
    REMEDIES.into_iter().enumerate().filter_map(saving).collect()
}

/// What a remedy changes in a launch.
fn change(remedy: Remedy, launch: &Explained, handover: Nanos) -> Change {
    let servers = || {
        let of_messages = launch.path.segments.iter().filter(|it| it.way == Way::Ipc);
        of_messages.map(|segment| segment.thread).filter(|it| !launch.family.contains(it))
    };
    let none = Change::default();
    match remedy {
        Remedy::HighestClock => Change { highest_clock: !launch.highest.is_empty(), ..none },
        Remedy::Cached => Change { cached: Some(HIT), ..none },
        Remedy::ProgramFirst => Change { boosted: launch.family.clone(), ..none },
        Remedy::ServersFirst => Change { boosted: servers().collect(), ..none },
        Remedy::SpunLocks => Change { lock_handover: Some(handover), ..none },
        Remedy::All => Change {
            highest_clock: !launch.highest.is_empty(),
            cached: Some(HIT),
            boosted: launch.family.iter().copied().chain(servers()).collect(),
            lock_handover: Some(handover),
        },
    }
}

/// The saving by the lengths of each launch before and after.
fn of_lengths(remedy: Remedy, lengths: &[(Nanos, Nanos)]) -> Option<Saving> {
    let share = |(before, after): &(Nanos, Nanos)| {
        1.0 - after.get() as f64 / (before.get() as f64).max(1.0)
    };
    let mut shares: Vec<f64> = lengths.iter().map(share).collect();
    let mut after: Vec<f64> = lengths.iter().map(|(_, after)| after.get() as f64).collect();
    let (median, after_range) = middle(&mut after)?;
    let (share, share_range) = middle(&mut shares)?;
    let share_range = share_range.unwrap_or([share, share]);
    Some(Saving { remedy, after: median, after_range, share, share_range })
}

/// The median, and its 95 % interval or, of too few values, their range; `None`
/// for the range of one.
fn middle(values: &mut [f64]) -> Option<(f64, Option<[f64; 2]>)> {
    let (median, interval) = order::median(values)?;
    let range = match values {
        [least, .., most] => Some([*least, *most]),
        _ => None,
    };
    Some((median, interval.or(range)))
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
        if saving.remedy == Remedy::HighestClock && launch.highest.is_empty() {
            table.push([saving.remedy.name().into(), "n/a".into()]);
            continue;
        }
        let [low, high] = saving.share_range;
        let range = saving.after_range.map(|_| [-high + 0.0, -low + 0.0]);
        table.push([
            saving.remedy.name().into(),
            Number::new(saving.after).within(saving.after_range).into(),
            Number::new(-saving.share + 0.0).within(range).into(),
        ]);
    }
    table = table.with_note(
        "predicted from the recorded wake-ups: timeouts, races and work that moves to other \
         threads are not modelled",
    );
    if savings.iter().any(|saving| saving.remedy == Remedy::SpunLocks && saving.share > 0.0) {
        table = table.with_note(match &about.handover {
            Some(measured) => format!("handing over a lock takes {}", measured.words()),
            None => format!(
                "handing over a lock is taken to cost {HANDOVER}; unjank lock probe measures it, \
                 and the next run uses that"
            ),
        });
    }
    Some(match launches {
        0 | 1 => table,
        2..=5 => table.with_note(format!(
            "medians of {launches} launches; in brackets the least and the most"
        )),
        _ => table
            .with_note(format!("medians of {launches} launches; in brackets their 95 % intervals")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saving(lengths: &[(u64, u64)]) -> Saving {
        let lengths: Vec<_> = lengths.iter().map(|&(a, b)| (Nanos(a), Nanos(b))).collect();
        of_lengths(Remedy::ProgramFirst, &lengths).unwrap()
    }

    #[test]
    fn savings_are_shares_of_each_launch() {
        let one = saving(&[(400, 300)]);
        assert_eq!((one.after, one.after_range), (300.0, None));
        assert_eq!((one.share, one.share_range), (0.25, [0.25, 0.25]));
        let three = saving(&[(400, 300), (1_000, 500), (100, 100)]);
        assert_eq!((three.after, three.after_range), (300.0, Some([100.0, 500.0])));
        assert_eq!((three.share, three.share_range), (0.25, [0.0, 0.5]));
    }

    #[test]
    fn many_launches_have_an_interval_that_leaves_out_extremes() {
        let lengths: Vec<(u64, u64)> = (1..=20).map(|i| (1_000, 500 + i)).collect();
        assert_eq!(saving(&lengths).after_range, Some([506.0, 515.0]));
        assert!(of_lengths(Remedy::All, &[]).is_none());
    }
}
