//! Fig. 2 and 3 as tables: our values, the paper's and the predictions.

use unjank_host::Nanos;
use unjank_measure::{Cell, Column, Table, Unit};

use super::results::{FigureRow, PaperResults};
use crate::bench::{Row, change, median};
use crate::simulate::paper::{FIG_2_RANGE, FIG_3_CHANGE};

const NOTE: &str = "Times: medians. Change: median within pairs. Predicted: mean of a model of \
                    this kernel's ondemand (modelled).";

/// A table for each figure.
pub(super) fn tables(results: &PaperResults) -> Vec<Table> {
    let mut tables = Vec::new();
    if !results.total.is_empty() {
        let title = "Fig. 2: launch time at a sampling period of 100 ms, and 50 ms during a launch";
        let [most, least] = FIG_2_RANGE.map(|end| Unit::Change.show(end));
        let theirs = || Cell::from(format!("{least} to {most}"));
        let rows = results.total.iter().map(|line| cells(line, theirs()));
        tables.push(table("fig2", title).with_rows(rows));
    }
    if let Some(basic) = &results.basic {
        let title = "Fig. 3: basic launch time, without the load";
        let theirs = Unit::Change.show(FIG_3_CHANGE).into();
        tables.push(table("fig3", title).with_rows([cells(basic, theirs)]).with_note(NOTE));
    }
    tables
}

fn table(name: &str, title: &str) -> Table {
    let columns = [
        Column::text("load"),
        Column::of("at 100 ms", Unit::Nanoseconds),
        Column::of("service", Unit::Nanoseconds),
        Column::of("change (95 % interval)", Unit::Change),
        Column::of("n", Unit::Count),
        Column::text("answer"),
        Column::text("Jo & Suh"),
        Column::of("predicted", Unit::Change),
    ];
    Table::new(format!("launch/paper/{name}"), title, columns)
}

fn cells(line: &FigureRow, theirs: Cell) -> [Cell; 8] {
    let row = line.measured.as_ref();
    let cell = |of: &dyn Fn(&Row) -> Cell| row.map_or(Cell::Empty, of);
    let load = match line.load {
        None => "all loads".to_owned(),
        Some(Nanos::ZERO) => "none".to_owned(),
        Some(load) => load.to_string(),
    };
    [
        load.into(),
        cell(&|row| median(&row.baseline.1)),
        cell(&|row| median(&row.other.1)),
        change(row.and_then(|row| row.difference.as_ref())),
        cell(&|row| Cell::maybe(row.baseline.1.n.map(|n| n as f64))),
        cell(&|row| row.answer.words().into()),
        theirs,
        line.predicted.into(),
    ]
}
