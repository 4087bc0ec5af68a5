//! What changes would save.

use unjank_measure::Unit;
use unjank_measure::record::{Column, Number, Table};
use unjank_measure::stats::order;
use unjank_units::Nanos;

use super::about::Remedy;
use super::explained::{Explained, Subject};
use crate::what_if::{Change, length};

/// A page that is in memory: a minor fault.
const PAGE_HIT: Nanos = Nanos::from_micros(1);
/// From the wake-up of a spinning thread to its run.
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
        (Remedy::HighestClock, Change { highest_clock: all.highest_clock, ..none() }),
        (Remedy::PagesInMemory, Change { page_hit: all.page_hit, ..none() }),
        (Remedy::FreeCpu, Change { no_run_queue: true, ..none() }),
        (Remedy::SpunLocks, Change { lock_handover: Some(HANDOVER), ..none() }),
        (Remedy::All, all),
    ];
    let saving = |(remedy, change): (Remedy, Change)| {
        let lengths = launches.iter().map(|launch| (launch.total(), predicted(launch, &change)));
        of_lengths(remedy, &lengths.collect::<Vec<_>>())
    };
    changes.into_iter().filter_map(saving).collect()
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

fn predicted(launch: &Explained, change: &Change) -> Nanos {
    let window = (launch.thread, launch.from, launch.to);
    length(&launch.history, window, change, &launch.highest)
}

/// A row for each change.
pub(super) fn table(launch: &Explained, savings: &[Saving], launches: usize) -> Table {
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
    match launches {
        0 | 1 => table,
        2..=5 => table.with_note(format!(
            "medians of {launches} launches; in brackets the least and the most"
        )),
        _ => table
            .with_note(format!("medians of {launches} launches; in brackets their 95 % intervals")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saving(lengths: &[(u64, u64)]) -> Saving {
        let lengths: Vec<_> = lengths.iter().map(|&(a, b)| (Nanos(a), Nanos(b))).collect();
        of_lengths(Remedy::FreeCpu, &lengths).unwrap()
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
