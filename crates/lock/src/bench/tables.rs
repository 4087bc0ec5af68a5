//! The printed tables of a comparison: each strategy in each cell, and the cells
//! that it loses.

use unjank_measure::{Cell as Shown, Column, Mark, Number, Table, Unit};

use super::{
    Arm, CellResult, Compared, ComparisonOutcome, Environment, Overall, Ratio, Results, paper,
};

const MARKS: &str = "+ won, − lost: the 95 % interval over rounds does not contain 1.";
const CEILING: &str = "ceiling: about the limit for any lock, because threads without a lock do no \
                       more, or because sections follow each other. It is measured, too; where a \
                       strategy did more, the ceiling is raised to that.";
const NO_LOCK: &str = "no lock: the longest time between two operations of threads without a lock, \
                       on a CPU or waiting for one. Waits up to that come from the scheduler.";
const WASTED: &str = "Wasted: CPU time beyond that of the same work without a lock and of an \
                      uncontended lock.";

/// For each environment: throughput, waits, wasted CPU time, the overall result
/// of each strategy, and the cells that it loses.
pub fn tables(results: &Results, is_paper: bool) -> Vec<Table> {
    results
        .environments()
        .into_iter()
        .flat_map(|environment| {
            let cells: Vec<&CellResult> =
                results.cells.iter().filter(|cell| cell.environment == environment).collect();
            let view = View { results, environment, cells, is_paper };
            [view.relative(), view.waits(), view.shares(), view.overall(), view.lost()]
        })
        .collect()
}

struct View<'a> {
    results: &'a Results,
    environment: Environment,
    cells: Vec<&'a CellResult>,
    is_paper: bool,
}

impl View<'_> {
    /// Cells down, strategies across: ratios.
    fn relative(&self) -> Table {
        let against = self.results.against.join(" and ");
        let rival = match self.results.against.len() {
            1 => against,
            _ => format!("the better of {against}"),
        };
        let title = format!("operations per second relative to {rival} (CPU time per operation)");
        let before = [Column::text("1 is"), Column::of("ceiling", Unit::Times)];
        let strategy = |name: &str| Column::of(name, Unit::Times).beside(Unit::Times);
        let rows = self.cells.iter().map(|cell| {
            let baseline = cell.baseline(&self.results.against).map_or(Shown::Empty, |arm| {
                let rate = arm.mean(|round| round.operations);
                format!("{} {}", arm.strategy.name, Unit::PerSecond.show(rate)).into()
            });
            let ratios = self.results.strategies().into_iter().map(|strategy| {
                let compared = self.results.compare(cell, strategy);
                Shown::maybe(compared.map(|compared| ratio(&compared, strategy)))
            });
            let ceiling = Shown::maybe(self.results.ceiling(cell));
            self.place(cell).into_iter().chain([baseline, ceiling]).chain(ratios).collect()
        });
        self.grid("relative", &title, before, strategy, rows).with_note(MARKS).with_note(CEILING)
    }

    /// Cells down, strategies across: waits.
    fn waits(&self) -> Table {
        let title = "longest wait (99.9th percentile)";
        let strategy = |name: &str| Column::of(name, Unit::Nanoseconds).beside(Unit::Nanoseconds);
        let rows = self.cells.iter().map(|cell| {
            let waits = self.results.strategies().into_iter().map(|strategy| {
                let arm = cell.arm(strategy);
                let ends = arm.and_then(|arm| Some((arm.wait(1.0)?, arm.wait(0.999)?)));
                Shown::maybe(ends.map(|(longest, tail)| Number::new(longest).beside(tail)))
            });
            let floor = Shown::maybe(cell.control.wait(1.0));
            self.place(cell).into_iter().chain([floor]).chain(waits).collect()
        });
        let before = [Column::of("no lock", Unit::Nanoseconds)];
        self.grid("waits", title, before, strategy, rows).with_note(NO_LOCK)
    }

    /// Cells down, strategies across: wasted CPU time and fairness.
    fn shares(&self) -> Table {
        let title = "CPU time wasted (Jain's index of fairness)";
        let strategy = |name: &str| Column::of(name, Unit::Ratio).beside(Unit::Count);
        let rows = self.cells.iter().map(|cell| {
            let shares = self.results.strategies().into_iter().map(|strategy| {
                let arm = cell.arm(strategy);
                let cost = self.results.uncontended.get(strategy);
                let wasted = arm.zip(cost).and_then(|(arm, &cost)| cell.wasted(arm, cost));
                Shown::maybe(wasted.map(|wasted| Number {
                    beside: arm.and_then(Arm::fairness),
                    ..Number::new(wasted)
                }))
            });
            self.place(cell).into_iter().chain(shares).collect()
        });
        self.grid("shares", title, [], strategy, rows).with_note(WASTED)
    }

    /// The overall result of each strategy.
    fn overall(&self) -> Table {
        let columns = [
            Column::text("strategy"),
            Column::of("operations", Unit::Times),
            Column::of("CPU time", Unit::Times),
            Column::of("won", Unit::Count),
            Column::of("lost", Unit::Count),
            Column::of("cannot tell", Unit::Count),
            Column::of("baseline of", Unit::Count),
        ];
        let rows = self.judged().into_iter().map(|overall| {
            let count = |outcome| overall.with(outcome).count() as f64;
            let own = overall.cells.iter().filter(|cell| cell.is_own(overall.strategy)).count();
            let outcomes =
                [ComparisonOutcome::Won, ComparisonOutcome::Lost, ComparisonOutcome::CannotTell]
                    .map(count);
            [overall.strategy.into(), factor(overall.operations), factor(overall.cpu_time)]
                .into_iter()
                .chain(outcomes.map(Shown::number))
                .chain([if own > 0 { Shown::number(own as f64) } else { Shown::Empty }])
        });
        self.table("overall", "all cells together (95 % interval)", columns).with_rows(rows)
    }

    /// The cells that each strategy loses, the worst first.
    fn lost(&self) -> Table {
        let columns = [
            Column::text("strategy"),
            Column::of("operations", Unit::Times),
            Column::text("against"),
            Column::text("with"),
        ];
        let rows = self.judged().into_iter().flat_map(|overall| {
            let mut lost: Vec<&Compared<'_>> = overall.with(ComparisonOutcome::Lost).collect();
            lost.sort_by(|one, other| one.operations.value.total_cmp(&other.operations.value));
            let row = |compared: &Compared<'_>| {
                [
                    overall.strategy.into(),
                    factor(compared.operations),
                    compared.baseline.strategy.name.into(),
                    compared.cell.cell.to_string().into(),
                ]
            };
            lost.into_iter().map(row).collect::<Vec<_>>()
        });
        self.table("lost", "cells that a strategy loses, the worst first", columns).with_rows(rows)
    }

    /// The strategies that are not their own baseline in every cell.
    fn judged(&self) -> Vec<Overall<'_>> {
        let strategies = self.results.strategies().into_iter();
        let overall =
            strategies.filter_map(|strategy| self.results.overall(self.environment, strategy));
        overall.filter(|it| it.cells.iter().any(|cell| !cell.is_own(it.strategy))).collect()
    }

    fn table(&self, name: &str, title: &str, columns: impl IntoIterator<Item = Column>) -> Table {
        let title = format!("{}: {title}", self.environment);
        Table::new(format!("lock/bench/{name}"), title, columns)
    }

    /// A table with cells down and strategies across.
    fn grid<const N: usize>(
        &self,
        name: &str,
        title: &str,
        before: [Column; N],
        strategy: impl Fn(&str) -> Column,
        rows: impl Iterator<Item = Vec<Shown>>,
    ) -> Table {
        let outside = if self.is_paper {
            Column::text("outside")
        } else {
            Column::of("outside", Unit::Nanoseconds)
        };
        let place =
            [Column::of("threads", Unit::Count), Column::of("held", Unit::Nanoseconds), outside];
        let strategies = self.results.strategies().into_iter().map(strategy);
        self.table(name, title, place.into_iter().chain(before).chain(strategies)).with_rows(rows)
    }

    /// The first columns, which identify the cell.
    fn place(&self, cell: &CellResult) -> [Shown; 3] {
        let cell = cell.cell;
        let outside = if self.is_paper {
            format!("{} {}", paper::grain(cell.outside), cell.outside).into()
        } else {
            Shown::number(cell.outside.get() as f64)
        };
        [Shown::number(cell.threads as f64), Shown::number(cell.section.get() as f64), outside]
    }
}

/// Operations with their mark, and CPU time.
fn ratio(compared: &Compared<'_>, strategy: &str) -> Number {
    if compared.is_own(strategy) {
        return Number::new(1.0);
    }
    let mark = match compared.operations.outcome() {
        ComparisonOutcome::Won => Some(Mark::Won),
        ComparisonOutcome::Lost => Some(Mark::Lost),
        ComparisonOutcome::CannotTell => None,
    };
    Number::new(compared.operations.value).marked(mark).beside(compared.cpu_time.value)
}

fn factor(ratio: Ratio) -> Shown {
    Number::new(ratio.value).within(ratio.interval).into()
}
