//! Each figure as a table, the paper's values and the predicted ones beside.

use unjank_host::Nanos;
use unjank_launch::bench::Row;
use unjank_launch::paper::{Line, Outcome, is_of_the_paper};
use unjank_launch::power::Window;
use unjank_launch::simulate::paper::{BASIC, TOTAL};
use unjank_measure::RunRecord;

use crate::commands::launch::bench::table::{change, percent, shown};
use crate::commands::launch::power::table;
use crate::output::grid;

const LAUNCHES: [&str; 9] = [
    "Load",
    "at 100 ms",
    "service",
    "change",
    "95 % interval",
    "n",
    "answer",
    "Jo & Suh",
    "predicted",
];

/// A table for each figure, then what there is to know.
pub(super) fn tables(record: &RunRecord, outcome: &Outcome, window: Window) -> String {
    let mut lines = Vec::new();
    if !outcome.total.is_empty() {
        lines.push(
            "Fig. 2: launch time, the sampling period 100 ms, and 50 ms for the launch".to_owned(),
        );
        let [most, least] = TOTAL.map(|end| format!("{:.0}", -end * 100.0));
        let theirs = format!("−{least} to −{most} %");
        lines.extend(grid(outcome.total.iter().map(|line| cells(line, &theirs)), LAUNCHES));
    }
    if let Some(basic) = &outcome.basic {
        lines.extend([String::new(), "Fig. 3: basic launch time, without the load".to_owned()]);
        lines.extend(grid(std::iter::once(cells(basic, &percent(BASIC))), LAUNCHES));
        lines.push(String::new());
        lines.push(
            "Times: medians; change: the median within pairs; predicted: the mean of a model of \
             this kernel's ondemand (modelled)."
                .to_owned(),
        );
    }
    if !outcome.periods.is_empty() {
        lines.extend([String::new(), "Table 3: energy of the idle machine".to_owned()]);
        lines.extend(table::grid(&outcome.periods, window));
    }
    lines.push(String::new());
    let ours = record.findings.verdicts.iter().filter(|verdict| is_of_the_paper(verdict));
    for verdict in ours {
        lines.push(format!("{} {}: {}.", verdict.question, verdict.answer.words(), verdict.reason));
    }
    lines.extend(table::notes(record));
    lines.join("\n").trim_start().to_owned()
}

fn cells(line: &Line, theirs: &str) -> [String; 9] {
    let row = line.measured.as_ref();
    let told = |of: &dyn Fn(&Row) -> String| row.map(of).unwrap_or_default();
    let [difference, interval] = change(row.and_then(|row| row.difference.as_ref()));
    [
        match line.load {
            None => "all loads".to_owned(),
            Some(Nanos::ZERO) => "none".to_owned(),
            Some(load) => load.to_string(),
        },
        told(&|row| shown(&row.baseline.1)),
        told(&|row| shown(&row.other.1)),
        difference,
        interval,
        row.and_then(|row| row.baseline.1.n).map(|n| n.to_string()).unwrap_or_default(),
        told(&|row| row.answer.words().to_owned()),
        theirs.to_owned(),
        percent(line.predicted),
    ]
}
