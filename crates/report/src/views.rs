//! The views of each command's record and of each table: the one place where they are decided.

use unjank_measure::{RunRecord, Table};

/// How a table is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    /// Rows under headings.
    Rows,
    /// One quantity by two variables; an interval is shown as ± its wider half.
    Matrix,
    /// A paragraph for each row: cells that are sentences.
    Cards,
    /// A bar for each row. The second cell is its length, the third its filled share.
    Bars,
    /// Pieces of a critical path, over time.
    Timeline,
    /// Not drawn: for programs only.
    Data,
}

/// The output format of another program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// The JSON of AOSP's `schd-dbg`.
    SchdDbg,
    /// The JSON of Google Benchmark.
    GoogleBenchmark,
}

/// Views by the name of the table; other tables are [`View::Rows`].
const TABLES: [(&str, View); 14] = [
    ("ipc/throughput/turns", View::Data),
    ("lock/bench/relative", View::Matrix),
    ("lock/bench/waits", View::Matrix),
    ("lock/bench/shares", View::Matrix),
    ("lock/doctor/diagnoses", View::Cards),
    ("reproduce/reasons", View::Cards),
    ("swap/analyze/volume", View::Bars),
    ("swap/mrc/miss_ratio", View::Matrix),
    ("swap/score/excess", View::Matrix),
    ("swap/sweep/storage", View::Matrix),
    ("swap/sweep/over_budget", View::Matrix),
    // Parts of the path's drawing.
    ("why/clock", View::Data),
    ("why/path", View::Timeline),
    ("why/requests", View::Data),
];

/// Commands whose answers and tables are enough on a terminal: the other parts are on the page and
/// in JSON. Other commands show everything.
const IN_SHORT: [&str; 26] = [
    "checkup",
    "ipc throughput",
    "ipc trace",
    "jitter jvm",
    "jitter trace",
    "launch bench",
    "launch power",
    "lock bench",
    "lock doctor",
    "lock try",
    "reproduce all",
    "reproduce binder",
    "reproduce launch",
    "reproduce locks",
    "reproduce rt",
    "reproduce swap",
    "schd-dbg",
    "swap analyze",
    "swap bench",
    "swap mrc",
    "swap score",
    "swap simulate",
    "swap sweep",
    "swap trace",
    "swap tune",
    "why",
];

/// The setting that asks for a format, and its value; `None` if the command has no other format.
type Asked = Option<(&'static str, &'static str)>;

/// Commands with the output format of another program.
const FORMATS: [(&str, Format, Asked); 2] = [
    ("schd-dbg", Format::SchdDbg, None),
    ("ipc throughput", Format::GoogleBenchmark, Some(("benchmark_format", "json"))),
];

/// The view of `table`.
pub(crate) fn view(table: &Table) -> View {
    let known = TABLES.iter().find(|(name, _)| *name == table.name);
    known.map_or(View::Rows, |(_, view)| *view)
}

/// Whether answers and tables of the command of `record` are enough on a terminal.
pub(crate) fn is_short(record: &RunRecord) -> bool {
    IN_SHORT.contains(&record.command.as_str())
}

/// The output format of another program that `record` is printed in, if any.
pub(crate) fn format(record: &RunRecord) -> Option<Format> {
    let is_asked = |(name, value): (&str, &str)| {
        record.settings.get(name).and_then(|setting| setting.as_str()) == Some(value)
    };
    let mut known = FORMATS.iter().filter(|(command, ..)| *command == record.command);
    let (_, format, _) = known.find(|(.., asked)| asked.is_none_or(is_asked))?;
    Some(*format)
}
