//! The agreement of several launches: each part of the split over all of them, and
//! how many spent their time like the shown one.

use std::collections::{BTreeMap, BTreeSet};

use unjank_measure::Unit;
use unjank_measure::record::{Cell as TableCell, Column, Fact, Number, Table};
use unjank_measure::stats::order;
use unjank_units::Nanos;

use super::launches::LaunchSummary;
use super::split;
use crate::path::Way;
use crate::split::{Cell, Split};

/// Two launches are alike if they spend at most this share of their time in different parts of
/// the split.
const ELSEWHERE: f64 = 1.0 / 3.0;
/// The smallest share of the other launches that must be like the shown one.
const ALIKE: f64 = 2.0 / 3.0;
/// The smallest share of a launch that gets a row.
const SHOWN: f64 = 0.01;

/// How many launches are like the shown one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Agreement {
    /// Those that are, without the shown one.
    pub(super) alike: usize,
    /// All but the shown one.
    pub(super) others: usize,
}

impl Agreement {
    pub(super) fn of(shown: &LaunchSummary, launches: &[LaunchSummary]) -> Self {
        let others = launches.iter().filter(|other| !std::ptr::eq(*other, shown));
        let (mut alike, mut all) = (0, 0);
        for other in others {
            all += 1;
            alike += usize::from(elsewhere(&shown.split, &other.split) <= ELSEWHERE);
        }
        Self { alike, others: all }
    }

    /// Whether the shown launch stands for the others.
    pub(super) fn suffices(self) -> bool {
        self.alike as f64 >= ALIKE * self.others as f64
    }

    /// A table of predictions, with a note if the shown launch does not stand for the others.
    pub(super) fn noted(self, table: Table) -> Table {
        if self.suffices() {
            return table;
        }
        let Self { alike, others } = self;
        table.with_note(format!(
            "cannot tell what a change would save: only {alike} of the {others} other launches \
             spent their time like the shown one"
        ))
    }
}

/// The share of time that two launches spend in different parts of the split,
/// from 0 to 1: half the sum of the differences of all shares.
fn elsewhere(a: &Split, b: &Split) -> f64 {
    let share = |split: &Split, cell: &(Way, Cell)| {
        let time = split.cells.get(cell).copied().unwrap_or_default();
        time.get() as f64 / (split.total().get() as f64).max(1.0)
    };
    let cells: BTreeSet<_> = a.cells.keys().chain(b.cells.keys()).collect();
    cells.into_iter().map(|cell| (share(a, cell) - share(b, cell)).abs()).sum::<f64>() / 2.0
}

/// The parts of the split over all launches, and their medians as facts; `None`
/// for a single launch.
pub(super) fn table(
    shown: &LaunchSummary,
    launches: &[LaunchSummary],
) -> Option<(Table, Vec<Fact>)> {
    if launches.len() < 2 {
        return None;
    }
    let n = launches.len();
    let columns = [
        Column::text("way"),
        Column::text("activity"),
        Column::of("median", Unit::Nanoseconds),
        Column::of("least", Unit::Nanoseconds),
        Column::of("most", Unit::Nanoseconds),
        Column::of("shown launch", Unit::Nanoseconds),
    ];
    let mut table = Table::new("why/launches", format!("The same over {n} launches"), columns);
    let mut facts = Vec::new();
    let mut cells: BTreeMap<(Way, Cell), Vec<f64>> = BTreeMap::new();
    for cell in launches.iter().flat_map(|launch| launch.split.cells.keys()) {
        cells
            .entry(*cell)
            .or_insert_with(|| launches.iter().map(|launch| time(&launch.split, *cell)).collect());
    }
    let mut totals: Vec<f64> = launches.iter().map(|launch| launch.total().get() as f64).collect();
    let whole = order::median(&mut totals);
    let least = whole.map_or(0.0, |(median, _)| median * SHOWN);
    let mut rows: Vec<_> = cells
        .into_iter()
        .filter_map(|(cell, mut times)| {
            let (median, interval) = order::median(&mut times)?;
            let (low, high) = (*times.first()?, *times.last()?);
            (high >= least).then_some((cell, median, interval, [low, high]))
        })
        .collect();
    rows.sort_by(|(_, a, ..), (_, b, ..)| b.total_cmp(a));
    for ((way, cell), median, interval, [low, high]) in rows {
        let number = Number::new(median).within(interval);
        let own = time(&shown.split, (way, cell));
        table.push([
            split::name(way).into(),
            cell.name().into(),
            number.into(),
            low.into(),
            high.into(),
            own.into(),
        ]);
        let mut fact = Fact::new("why/time/median", median, Unit::Nanoseconds)
            .with_label("way", way.name())
            .with_label("activity", cell.name());
        fact.n = Some(n as u64);
        fact.interval = interval;
        facts.push(fact);
    }
    if let (Some((median, interval)), [low, .., high]) = (whole, totals.as_slice()) {
        table.push([
            "all".into(),
            TableCell::Empty,
            Number::new(median).within(interval).into(),
            (*low).into(),
            (*high).into(),
            (shown.total().get() as f64).into(),
        ]);
    }
    let Agreement { alike, others } = Agreement::of(shown, launches);
    table = table.with_note(format!(
        "{alike} of the {others} other launches spent at least two thirds of their time in the \
         same parts as the shown one"
    ));
    if n >= 6 {
        table = table.with_note("in brackets: 95 % intervals of the median");
    }
    Some((table, facts))
}

fn time(split: &Split, cell: (Way, Cell)) -> f64 {
    split.cells.get(&cell).copied().unwrap_or(Nanos::ZERO).get() as f64
}

#[cfg(test)]
mod tests {
    use unjank_host::Bytes;
    use unjank_host::tracefs::script::Script;

    use super::super::scripted::explained;
    use super::super::{About, Launches};
    use super::*;

    /// Computes for 100 ns, waits for a CPU, and computes again.
    fn launches(all: &[u64]) -> Launches {
        let about = About::default();
        let mut launches = Launches::new(Bytes::default(), &about);
        for waits in all {
            let end = 200 + waits;
            let script = Script::new().runs(0, 0, 9, 7).runs(0, 100, 7, 9);
            let script = script.runs(0, 100 + waits, 9, 7).sleeps(0, end, 7, 0);
            launches.add(explained(&script, end), Bytes::default());
        }
        launches
    }

    #[test]
    fn launches_that_wait_elsewhere_are_not_alike() {
        let alike = launches(&[50, 60, 70, 2_000]);
        let alike = alike.all();
        assert!((elsewhere(&alike[0].split, &alike[0].split)).abs() < 1e-12);
        let all = Agreement::of(&alike[1], alike);
        assert_eq!(all, Agreement { alike: 2, others: 3 });
        assert!(all.suffices());
        let differ = launches(&[50, 2_000, 3_000, 90]);
        let differ = differ.all();
        assert!(!Agreement::of(&differ[0], differ).suffices());
        assert!(
            Agreement::of(&differ[0], &differ[..1]).suffices(),
            "one launch agrees with itself"
        );
    }

    #[test]
    fn each_part_has_its_range_and_from_six_launches_on_an_interval() {
        let one = launches(&[1]);
        assert!(table(&one.all()[0], one.all()).is_none());
        for (waits, interval) in [
            (vec![300, 100, 200], None),
            ((1..=6).map(|i| i * 100).collect(), Some([100.0, 600.0])),
        ] {
            let launches = launches(&waits);
            let (table, facts) = table(&launches.all()[0], launches.all()).unwrap();
            let row = table.rows.iter().find(|row| row[1] == "run-queue".into()).unwrap();
            let TableCell::Number(median) = row[2] else { panic!("{row:?}") };
            assert_eq!(median.interval, interval);
            let longest = *waits.iter().max().unwrap() as f64;
            assert_eq!((&row[3], &row[4]), (&100.0.into(), &longest.into()));
            assert_eq!(table.rows.len(), facts.len() + 1);
        }
    }
}
