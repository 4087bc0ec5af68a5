//! Heat maps: curves over the same values as rows of numbers. On a page each cell has a
//! colour; in Markdown the best cells are bold.

use unjank_measure::record::{Axis, Direction};
use unjank_measure::{Curve, Point, RunRecord, Unit};

use crate::chart::Domain;
use crate::delay;
use crate::group::partition;
use crate::names::distinct;
use crate::visible::visible;
use crate::words;

/// Colours of the scale.
pub(crate) const STEPS: usize = 7;
/// The most maps of one subject.
const MAPS: usize = 24;
/// The most rows of one map.
const ROWS: usize = 64;
/// The most columns of one map.
const COLUMNS: usize = 32;
/// Values that span more decades have a logarithmic scale of colours.
const DECADES_FOR_LOG: f64 = 0.7;

/// Values by row and column, in one unit.
#[derive(Debug)]
pub(crate) struct HeatMap {
    pub(crate) title: String,
    /// The name of the rows: `policy`.
    pub(crate) down: String,
    pub(crate) across: Axis,
    /// The name and unit of the values.
    pub(crate) value: Axis,
    pub(crate) better: Option<Direction>,
    pub(crate) columns: Vec<f64>,
    pub(crate) rows: Vec<Row>,
    /// The numbers of rows and columns that are in the record only.
    left_out: [usize; 2],
    scale: Domain,
}

/// One row, with a cell for each column.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) cells: Vec<Option<Cell>>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cell {
    pub(crate) value: f64,
    pub(crate) interval: Option<[f64; 2]>,
    /// Whether no cell of its column is better, and some are worse.
    pub(crate) best: bool,
    /// Its colour: from 0 for the least values to [`STEPS`] − 1.
    pub(crate) step: usize,
}

/// The heat maps of a subject, in the order of the record, and how many more
/// the record has.
pub(crate) fn maps(record: &RunRecord, subject: &str) -> (Vec<HeatMap>, usize) {
    let rows = record.findings.curves.iter();
    let rows = rows.filter(|curve| curve.row().is_some() && delay::of(&curve.name) == subject);
    let key = |curve: &Curve| {
        let down = curve.row().map(|(down, _)| down.to_owned());
        (curve.name.clone(), down, curve.map_labels(), curve.x.clone(), curve.y.clone())
    };
    let maps = partition(rows.collect(), key);
    let labels: Vec<_> = maps.iter().map(|rows| rows[0].map_labels()).collect();
    let paths = maps.iter().map(|rows| rows[0].name.as_str());
    let titles = distinct(paths.zip(&labels));
    let left_out = maps.len().saturating_sub(MAPS);
    let maps = maps.iter().zip(titles).take(MAPS);
    (maps.filter_map(|(rows, title)| HeatMap::of(title, rows)).collect(), left_out)
}

impl HeatMap {
    /// A map of rows that share axes; `None` if nothing can be shown.
    fn of(title: String, curves: &[&Curve]) -> Option<Self> {
        let first = curves.first()?;
        let (down, _) = first.row()?;
        let shown = |point: &&Point| point.x.is_finite() && point.y.is_finite();
        let shown = |curve: &&Curve| curve.points.iter().filter(shown).copied().collect();
        let points: Vec<Vec<Point>> = curves.iter().take(ROWS).map(shown).collect();
        let mut columns: Vec<f64> = points.iter().flatten().map(|point| point.x).collect();
        columns.sort_by(f64::total_cmp);
        columns.dedup();
        let left_out = [curves.len() - points.len(), columns.len().saturating_sub(COLUMNS)];
        columns.truncate(COLUMNS);
        let scale = scale(points.iter().flatten().map(|point| point.y))?;
        let better = first.better();
        let cell = |points: &[Point], at: f64| {
            let point = points.iter().find(|point| point.x.total_cmp(&at).is_eq())?;
            let step = scale.onto(0.0, STEPS as f64).at(point.y).floor() as usize;
            let step = step.min(STEPS - 1);
            Some(Cell { value: point.y, interval: point.interval, best: false, step })
        };
        let rows = curves.iter().zip(&points).map(|(curve, points)| Row {
            name: curve.row().map_or_else(String::new, |(_, name)| visible(name).into_owned()),
            cells: columns.iter().map(|at| cell(points, *at)).collect(),
        });
        let mut map = Self {
            title,
            down: visible(down).into_owned(),
            across: first.x.clone(),
            value: first.y.clone(),
            better,
            rows: rows.collect(),
            columns,
            left_out,
            scale,
        };
        map.find_best();
        Some(map)
    }

    fn find_best(&mut self) {
        let Some(better) = self.better else { return };
        for column in 0..self.columns.len() {
            let values = || self.rows.iter().filter_map(|row| Some(row.cells[column]?.value));
            let (low, high) = (values().reduce(f64::min), values().reduce(f64::max));
            let (best, worst) = match better {
                Direction::Smaller => (low, high),
                Direction::Larger => (high, low),
            };
            if best == worst {
                continue;
            }
            for cell in self.rows.iter_mut().filter_map(|row| row.cells[column].as_mut()) {
                cell.best = Some(cell.value) == best;
            }
        }
    }

    /// A description of the cells; `best` describes how the best cells of a column look.
    pub(crate) fn about(&self, best: &str) -> String {
        let mut about = format!(
            "{}, by {} and {}",
            visible(&self.value.name),
            self.down,
            visible(&self.across.name)
        );
        if let Some(better) = self.better {
            let better = match better {
                Direction::Smaller => "smaller",
                Direction::Larger => "larger",
            };
            about = format!("{about}; {better} is better; the best of a column {best}");
        }
        let [rows, columns] = self.left_out;
        if rows > 0 {
            let rows = words::counted(rows, "row", "rows");
            about = format!("{about}; {rows} more with --json");
        }
        if columns > 0 {
            let columns = words::counted(columns, "column", "columns");
            about = format!("{about}; {columns} more with --json");
        }
        about
    }

    /// The headings of the value columns.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.columns.iter().map(|at| words::value(self.across.unit, *at)).collect()
    }

    /// The range of values of each colour.
    pub(crate) fn steps(&self) -> Vec<String> {
        let Domain { low, high, log } = self.scale;
        let bound = |step: usize| {
            let share = step as f64 / STEPS as f64;
            let linear = low * (1.0 - share) + high * share;
            if log { (low.ln() * (1.0 - share) + high.ln() * share).exp() } else { linear }
        };
        let text = |step| words::interval(self.unit(), [bound(step), bound(step + 1)]);
        (0..STEPS).map(text).collect()
    }

    pub(crate) fn unit(&self) -> Unit {
        self.value.unit
    }
}

/// From the least to the greatest value; `None` without any.
fn scale(values: impl Iterator<Item = f64> + Clone) -> Option<Domain> {
    let low = values.clone().reduce(f64::min)?;
    let high = values.clone().reduce(f64::max)?;
    let positive = values.filter(|value| *value > 0.0).reduce(f64::min);
    let wide = |least: &f64| low >= 0.0 && (high / least).log10() > DECADES_FOR_LOG;
    Some(match positive.filter(wide) {
        // A zero has the first colour as well.
        Some(least) => Domain::log(least, high),
        None if low < high => Domain::linear(low, high),
        None => Domain::linear(low, low + low.abs().max(1.0)),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn row(strategy: &str, points: &[(f64, f64)]) -> Curve {
        let point = |(x, y): &(f64, f64)| Point { x: *x, y: *y, interval: None };
        Curve {
            name: "lock/throughput".to_owned(),
            x: Axis::new("threads", Unit::Count),
            y: Axis::new("acquisitions", Unit::PerSecond),
            labels: BTreeMap::from([("strategy".to_owned(), strategy.to_owned())]),
            points: points.iter().map(point).collect(),
        }
        .in_map("strategy", None)
    }

    fn map(rows: &[Curve]) -> HeatMap {
        HeatMap::of("t".to_owned(), &rows.iter().collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn rows_share_columns_and_the_best_of_each_is_marked() {
        let map = map(&[
            row("spin", &[(1.0, 90.0), (2.0, 40.0)]),
            row("park", &[(2.0, 60.0), (4.0, 50.0), (8.0, f64::NAN)]),
        ]);
        assert_eq!(map.heads(), ["1", "2", "4"]);
        let cells = |row: &Row| -> Vec<Option<(f64, bool)>> {
            row.cells.iter().map(|cell| cell.map(|cell| (cell.value, cell.best))).collect()
        };
        // More per second is better. A column with one value, or equal ones, has no best.
        assert_eq!(cells(&map.rows[0]), [Some((90.0, false)), Some((40.0, false)), None]);
        assert_eq!(cells(&map.rows[1]), [None, Some((60.0, true)), Some((50.0, false))]);
        assert_eq!(map.about("").split(';').next(), Some("acquisitions, by strategy and threads"));
    }

    #[test]
    fn colours_go_from_the_least_to_the_greatest_value() {
        let steps = |rows: &[(f64, f64)]| -> Vec<usize> {
            let map = map(&[row("a", rows)]);
            map.rows[0].cells.iter().flatten().map(|cell| cell.step).collect()
        };
        assert_eq!(steps(&[(1.0, 10.0), (2.0, 15.0), (3.0, 17.0)]), [0, 5, 6]);
        assert_eq!(steps(&[(1.0, 0.0), (2.0, 1.0), (3.0, 1e3), (4.0, 1e6)]), [0, 0, 3, 6]);
        assert_eq!(steps(&[(1.0, 5.0), (2.0, 5.0)]), [0, 0]);
        let named = map(&[row("a", &[(1.0, 10.0), (2.0, 17.0)])]).steps();
        assert!(named[0].starts_with("10–11") && named[6] == "16–17/s", "{named:?}");
    }

    #[test]
    fn large_maps_are_cut_with_a_note() {
        let points: Vec<(f64, f64)> = (0..40).map(|x| (f64::from(x), 1.0)).collect();
        let rows: Vec<Curve> = (0..70).map(|name| row(&name.to_string(), &points)).collect();
        let map = map(&rows);
        assert_eq!((map.rows.len(), map.columns.len()), (64, 32));
        let about = map.about("is bold");
        assert!(about.contains("larger is better; the best of a column is bold"));
        assert!(about.ends_with("6 rows more with --json; 8 columns more with --json"));
        assert!(HeatMap::of(String::new(), &[&row("a", &[(1.0, f64::NAN)])]).is_none());
    }
}
