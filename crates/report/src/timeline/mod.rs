//! A critical path over time, read from the tables of a record.
//!
//! | module | subject |
//! |---|---|
//! | [`activity`] | the activities, and how they look |
//! | [`lanes`] | threads as lanes, in order of first appearance |
//! | [`text`] | the path in characters, for terminals and Markdown |

mod activity;
mod lanes;
mod text;

use unjank_measure::{Cell, RunRecord, Table};

pub(crate) use activity::{ACTIVITIES, Activity, activity};
pub(crate) use lanes::{Lane, lanes};
pub(crate) use text::lines;

use crate::visible::visible;

/// The tables beside the path: the clock while it computed, and the requests
/// that it waited for.
const CLOCK: &str = "why/clock";
const REQUESTS: &str = "why/requests";

/// The most pieces, clocks and requests that are drawn.
const MOST: usize = 600;

/// A critical path, with what is drawn beside it. Times are nanoseconds since
/// its start.
#[derive(Debug, Clone, Default)]
pub(crate) struct Timeline {
    pub(crate) pieces: Vec<Piece>,
    pub(crate) clock: Vec<Clock>,
    pub(crate) requests: Vec<Request>,
}

/// A piece of the path.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Piece {
    pub(crate) from: f64,
    pub(crate) time: f64,
    pub(crate) thread: String,
    /// Other threads in it.
    pub(crate) others: u32,
    pub(crate) way: String,
    /// The activity with the most time.
    pub(crate) activity: Activity,
    /// Its time by activity.
    pub(crate) parts: Vec<(Activity, f64)>,
    pub(crate) cpu: Option<u32>,
    pub(crate) detail: String,
    pub(crate) evidence: String,
}

/// The clock frequency in a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Clock {
    pub(crate) from: f64,
    pub(crate) time: f64,
    /// Frequency in hertz.
    pub(crate) hertz: f64,
    pub(crate) highest: f64,
}

/// The wait for a request to a block device, or for several.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Request {
    pub(crate) from: f64,
    pub(crate) time: f64,
    pub(crate) device: String,
    /// `read, 16.0 KiB, for git (4711)`
    pub(crate) about: String,
}

impl Piece {
    pub(crate) fn to(&self) -> f64 {
        self.from + self.time
    }

    /// The part of its time that the highest clock would have saved.
    pub(crate) fn slow(&self) -> f64 {
        self.parts.iter().filter(|(of, _)| of.is_slow_clock()).map(|(_, time)| time).sum()
    }
}

impl Timeline {
    /// The path in `table`, and what `record` has beside it.
    pub(crate) fn of(table: &Table, record: &RunRecord) -> Self {
        let named = |name: &str| record.findings.tables.iter().find(|table| table.name == name);
        let mut clock = named(CLOCK).map_or_else(Vec::new, |table| rows(table, clock));
        clock.sort_by(|a, b| a.from.total_cmp(&b.from));
        let requests = named(REQUESTS).map_or_else(Vec::new, |table| rows(table, request));
        let mut pieces = rows(table, piece);
        pieces.sort_by(|a, b| a.from.total_cmp(&b.from));
        Self { pieces, clock, requests }
    }

    /// The end of the last piece.
    pub(crate) fn end(&self) -> f64 {
        self.pieces.iter().map(Piece::to).fold(0.0, f64::max)
    }

    /// The parts between two moments, cut there.
    pub(crate) fn between(&self, begin: f64, end: f64) -> Self {
        let cut = |from: f64, time: f64| {
            let (low, high) = (from.max(begin), (from + time).min(end));
            (low < high).then_some((low, high - low))
        };
        let pieces = self.pieces.iter().filter_map(|piece| {
            let (from, time) = cut(piece.from, piece.time)?;
            let share = time / piece.time;
            let parts = piece.parts.iter().map(|(of, part)| (*of, part * share)).collect();
            Some(Piece { from, time, parts, ..piece.clone() })
        });
        let clock = self.clock.iter().filter_map(|clock| {
            let (from, time) = cut(clock.from, clock.time)?;
            Some(Clock { from, time, ..*clock })
        });
        let requests = self.requests.iter().filter_map(|request| {
            let (from, time) = cut(request.from, request.time)?;
            Some(Request { from, time, ..request.clone() })
        });
        Self { pieces: pieces.collect(), clock: clock.collect(), requests: requests.collect() }
    }

    /// The time of each activity, the slow part of computing apart, in the order
    /// of [`ACTIVITIES`]; without those that took none.
    pub(crate) fn sums(&self) -> Vec<(Activity, f64)> {
        let of = |wanted: Activity| {
            let parts = self.pieces.iter().flat_map(|piece| &piece.parts);
            parts.filter(|(of, _)| *of == wanted).map(|(_, time)| time).sum::<f64>()
        };
        let all = (0..ACTIVITIES.len()).map(Activity);
        all.map(|activity| (activity, of(activity))).filter(|(_, time)| *time > 0.0).collect()
    }
}

/// The rows of a table that can be read.
fn rows<Row>(table: &Table, read: impl Fn(&Reader<'_>) -> Option<Row>) -> Vec<Row> {
    let rows = table.rows.iter().take(MOST);
    rows.filter_map(|cells| read(&Reader { table, cells })).collect()
}

fn piece(row: &Reader<'_>) -> Option<Piece> {
    let time = row.time("time")?;
    let most = activity(&row.text("activity"));
    let parts = (0..ACTIVITIES.len()).map(Activity);
    let parts = parts.filter_map(|of| Some((of, row.time(of.name())?)));
    let mut parts: Vec<(Activity, f64)> = parts.filter(|(_, part)| *part > 0.0).collect();
    let sum: f64 = parts.iter().map(|(_, part)| part).sum();
    if (sum - time).abs() > 1.0 {
        parts = vec![(most, time)];
    }
    Some(Piece {
        from: row.time("from")?,
        time,
        thread: row.text("thread"),
        others: row.number("others").map_or(0, |others| others as u32),
        way: row.text("way"),
        activity: most,
        parts,
        cpu: row.number("cpu").map(|cpu| cpu as u32),
        detail: row.text("detail"),
        evidence: row.text("evidence"),
    })
}

fn clock(row: &Reader<'_>) -> Option<Clock> {
    Some(Clock {
        from: row.time("from")?,
        time: row.time("time")?,
        hertz: row.number("clock")?,
        highest: row.number("highest").filter(|highest| *highest > 0.0)?,
    })
}

fn request(row: &Reader<'_>) -> Option<Request> {
    let size =
        row.number("size").map(|size| crate::words::value(unjank_measure::Unit::Bytes, size));
    let number = row.number("requests").filter(|number| *number > 1.0);
    let about = [
        number.map(|number| format!("{number:.0} requests")),
        Some(row.text("operation")),
        size,
        Some(format!("for {}", row.text("for"))),
    ];
    let about: Vec<String> = about.into_iter().flatten().collect();
    Some(Request {
        from: row.time("from")?,
        time: row.time("time")?,
        device: row.text("device"),
        about: about.join(", "),
    })
}

/// A row whose cells are found by the names of their columns.
struct Reader<'a> {
    table: &'a Table,
    cells: &'a [Cell],
}

impl Reader<'_> {
    fn cell(&self, column: &str) -> Option<&Cell> {
        let place = self.table.columns.iter().position(|it| it.name == column)?;
        self.cells.get(place)
    }

    fn number(&self, column: &str) -> Option<f64> {
        match self.cell(column)? {
            Cell::Number(number) if number.value.is_finite() => Some(number.value),
            _ => None,
        }
    }

    /// Nanoseconds: not negative, and less than ten years.
    fn time(&self, column: &str) -> Option<f64> {
        self.number(column).filter(|time| (0.0..3e17).contains(time))
    }

    fn text(&self, column: &str) -> String {
        match self.cell(column) {
            Some(Cell::Text(text)) => visible(text).into_owned(),
            _ => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use unjank_measure::{Column, Unit};

    use super::*;

    fn table() -> Table {
        let columns = [
            Column::of("from", Unit::Nanoseconds),
            Column::of("time", Unit::Nanoseconds),
            Column::of("computing", Unit::Nanoseconds),
            Column::of("slow-clock", Unit::Nanoseconds),
            Column::text("thread"),
            Column::text("activity"),
        ];
        let row = |from: f64, time: f64, slow: f64, thread: &str, activity: &str| {
            let computing = (time - slow).into();
            [from.into(), time.into(), computing, slow.into(), thread.into(), activity.into()]
        };
        Table::new("why/path", "The critical path", columns).with_rows([
            row(0.0, 100.0, 40.0, "sh (1)", "computing"),
            row(100.0, 50.0, -1e9, "ls (2)", "run-queue"),
            row(150.0, f64::NAN, 0.0, "ls (2)", "run-queue"),
            row(150.0, -5.0, 0.0, "ls (2)", "run-queue"),
            row(150.0, 50.0, 9e9, "a\u{1b}[2Jb", "no such thing"),
        ])
    }

    fn timeline() -> Timeline {
        Timeline { pieces: rows(&table(), piece), ..Timeline::default() }
    }

    #[test]
    fn rows_are_read_and_damaged_ones_left_out() {
        let timeline = timeline();
        assert_eq!(timeline.pieces.len(), 3);
        assert_eq!(timeline.pieces[2].thread, "a\\u{1b}[2Jb");
        assert_eq!(timeline.pieces[2].activity.name(), "unknown");
        assert!((timeline.end() - 200.0).abs() < 1e-9);
    }

    #[test]
    fn the_slow_part_of_computing_is_a_sum_of_its_own() {
        let sums = timeline().sums();
        let sums: Vec<(&str, f64)> = sums.iter().map(|(it, time)| (it.name(), *time)).collect();
        assert_eq!(
            sums,
            [("computing", 60.0), ("slow-clock", 40.0), ("run-queue", 50.0), ("unknown", 50.0)]
        );
    }

    #[test]
    fn a_part_of_the_path_is_cut_at_both_ends() {
        let part = timeline().between(50.0, 120.0);
        let times: Vec<(f64, f64, f64)> =
            part.pieces.iter().map(|piece| (piece.from, piece.time, piece.slow())).collect();
        assert_eq!(times, [(50.0, 50.0, 20.0), (100.0, 20.0, 0.0)]);
    }
}
