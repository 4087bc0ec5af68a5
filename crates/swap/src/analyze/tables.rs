//! The analysis as tables and bars.

use unjank_host::Nanos;
use unjank_measure::{Cell, Column, Number, SeriesRecord, Table, Unit};

use super::findings::{first_makers, thrashing};
use super::{Analysis, Maker, paper};
use crate::trace::{Operation, PAGE};

/// A table for each subject with data. Tables of makers, episodes and launches have at most `rows`
/// rows.
pub fn tables(all: &[Analysis], rows: usize) -> Vec<Table> {
    let used: Vec<&Analysis> = all.iter().filter(|one| one.skew.accesses() > 0).collect();
    if used.is_empty() {
        return Vec::new();
    }
    let mut tables = vec![accesses(&used), skew(&used), volume(&used), reuse(&used)];
    tables.extend(used.iter().flat_map(|one| makers(one, rows)));
    tables.push(inversions(&used));
    tables.extend(used.iter().filter_map(|one| episodes(one, rows)));
    tables.extend(used.iter().filter_map(|one| launches(one, rows)));
    tables.retain(|table| !table.rows.is_empty());
    tables
}

/// Accesses by operation, pages and length of each trace.
fn accesses(all: &[&Analysis]) -> Table {
    let columns = [
        Column::text("trace"),
        Column::of("accesses", Unit::Count),
        Column::text("of which"),
        Column::of("pages", Unit::Count),
        Column::of("data", Unit::Bytes),
        Column::of("over", Unit::Nanoseconds),
    ];
    let rows = all.iter().map(|analysis| {
        let skew = &analysis.skew;
        let parts = Operation::ALL.iter().zip(analysis.accesses).filter(|(_, count)| *count > 0);
        let part = |(operation, count): (&Operation, u64)| {
            let share = Unit::Ratio.show(count as f64 / skew.accesses() as f64);
            format!("{share} {}", operation.name())
        };
        let parts: Vec<String> = parts.map(part).collect();
        let span = Some(analysis.summary.span).filter(|span| *span != Nanos::ZERO);
        [
            analysis.label.as_str().into(),
            Cell::number(skew.accesses() as f64),
            parts.join(", ").into(),
            Cell::number(skew.pages() as f64),
            bytes(skew.pages() as f64),
            Cell::maybe(span.map(|span| span.get() as f64)),
        ]
    });
    Table::new("swap/analyze/accesses", "Accesses", columns).with_rows(rows)
}

/// The skew of each trace and of the papers.
fn skew(all: &[&Analysis]) -> Table {
    let columns = [
        Column::text("trace"),
        Column::of("top 10 %", Unit::Ratio),
        Column::of("top 25 %", Unit::Ratio),
        Column::of("top 50 %", Unit::Ratio),
        Column::of("data for 80 %", Unit::Ratio),
        Column::of("accessed once", Unit::Ratio),
    ];
    let ours = all.iter().map(|analysis| {
        let skew = &analysis.skew;
        let [ten, quarter, half] = [0.10, 0.25, 0.50].map(|data| skew.made_by(data).into());
        let (most, once) = (skew.data_for(0.8).into(), skew.once().into());
        [analysis.label.as_str().into(), ten, quarter, half, most, once]
    });
    let theirs = paper::SKEW.iter().map(|published| {
        let at = |data: f64| {
            let there = (published.data - data).abs() < 1e-9;
            Cell::maybe(there.then_some(published.accesses))
        };
        let name = format!("{}: {}", published.source, published.device);
        [name.into(), at(0.10), at(0.25), at(0.50), published.data.into(), Cell::Empty]
    });
    let title = "Skew: the share of accesses that the hottest data makes";
    Table::new("swap/analyze/skew", title, columns).with_rows(ours.chain(theirs))
}

/// Fig. 1 of Bahn & Kim: the volume of the hottest data and the rest.
fn volume(all: &[&Analysis]) -> Table {
    let hot = all.first().map_or(0.1, |analysis| analysis.hot);
    let title = format!("Volume: the hottest {} of the data █, and the rest ░", percent(hot));
    let columns = [
        Column::text("trace"),
        Column::of("volume", Unit::Bytes),
        Column::of("by the hottest", Unit::Ratio),
    ];
    let rows = all.iter().map(|analysis| {
        let volume = bytes(analysis.skew.accesses() as f64);
        let made = analysis.skew.made_by(analysis.hot);
        [analysis.label.as_str().into(), volume, made.into()]
    });
    Table::new("swap/analyze/volume", title, columns).with_rows(rows)
}

/// Distances and times until pages are used again.
fn reuse(all: &[&Analysis]) -> Table {
    let columns = [
        Column::text("trace"),
        Column::of("n", Unit::Count),
        Column::of("p50", Unit::Bytes),
        Column::of("p90", Unit::Bytes),
        Column::of("p99", Unit::Bytes),
        Column::of("max", Unit::Bytes),
        Column::of("never", Unit::Ratio),
    ];
    let rows = all.iter().flat_map(|analysis| {
        let paging = &analysis.paging;
        let never = |part: u64, of: u64| (of > 0).then(|| part as f64 / of as f64);
        let out = never(paging.pages_never_back, paging.pages_out);
        let again = format!("{}: accessed again", analysis.label);
        let once = Some(analysis.skew.once());
        let back = format!("{}: back after an eviction", analysis.label);
        [
            line(&again, analysis.distances.as_ref(), once),
            line(&format!("{back}, others evicted"), paging.distances.as_ref(), out),
            line(&format!("{back}, time"), paging.times.as_ref(), None),
        ]
    });
    Table::new("swap/analyze/reuse", "Reuse", columns).with_rows(rows.flatten()).with_note(
        "Accessed again: other data accessed in between; a larger LRU memory keeps the page. Never: \
         the share of the accessed, or evicted, pages that did not come back.",
    )
}

fn line(name: &str, series: Option<&SeriesRecord>, never: Option<f64>) -> Option<Vec<Cell>> {
    if series.is_none() && never.is_none() {
        return None;
    }
    let mut row = vec![Cell::from(name)];
    if let Some((series, summary)) = series.and_then(|series| Some((series, series.summary?))) {
        row.push(Cell::number(series.n as f64));
        let values = [summary.p50, summary.p90, summary.p99, summary.max];
        row.extend(values.map(|value| match series.unit {
            Unit::Pages => bytes(value as f64),
            unit => Number::new(value as f64).of(unit).into(),
        }));
    } else {
        row.resize(6, Cell::Empty);
    }
    row.push(Cell::maybe(never));
    Some(row)
}

/// The hottest accesses by kind, space and process.
fn makers(analysis: &Analysis, most: usize) -> Vec<Table> {
    let makers = &analysis.makers;
    let all = [("kind", &makers.kinds), ("space", &makers.spaces), ("process", &makers.processes)];
    // A single row "unknown" says nothing.
    let is_useful =
        |makers: &[Maker]| makers.len() > 1 || makers.iter().any(|it| it.name != "unknown");
    let useful = all.into_iter().filter(|(_, makers)| is_useful(makers));
    useful.map(|(name, makers)| side(analysis, name, makers, most)).collect()
}

fn side(analysis: &Analysis, name: &str, makers: &[Maker], most: usize) -> Table {
    let columns = [
        Column::text(name),
        Column::of("hot accesses", Unit::Ratio),
        Column::of("hot pages", Unit::Count),
        Column::of("all accesses", Unit::Ratio),
        Column::of("pages", Unit::Count),
    ];
    let hot: u64 = makers.iter().map(|maker| maker.hot_accesses).sum();
    let of = |part: u64, whole: u64| Cell::number(part as f64 / whole.max(1) as f64);
    let rows = first_makers(makers, most).into_iter().map(|maker| {
        [
            maker.name.as_str().into(),
            of(maker.hot_accesses, hot),
            Cell::number(maker.hot_pages as f64),
            of(maker.accesses, analysis.skew.accesses()),
            Cell::number(maker.pages as f64),
        ]
    });
    let hottest = percent(analysis.hot);
    let title = format!("{}: accesses to the hottest {hottest}, by {name}", analysis.label);
    Table::new(format!("swap/analyze/makers/{name}"), title, columns).with_rows(rows)
}

fn inversions(all: &[&Analysis]) -> Table {
    let columns = [
        Column::text("trace"),
        Column::text("devices"),
        Column::of("by next access", Unit::Ratio),
        Column::of("by last access", Unit::Ratio),
        Column::of("by chance", Unit::Ratio),
        Column::of("moments", Unit::Count),
    ];
    let rows = all.iter().flat_map(|analysis| {
        analysis.inversions.iter().map(|inversion| {
            [
                analysis.label.as_str().into(),
                format!("{} before {}", inversion.fast, inversion.slow).into(),
                inversion.median(|instant| instant.by_next).into(),
                inversion.median(|instant| instant.by_last).into(),
                inversion.median(|instant| instant.by_chance).into(),
                Cell::number(inversion.instants.len() as f64),
            ]
        })
    });
    Table::new("swap/analyze/inversions", "LRU inversion", columns).with_rows(rows).with_note(
        "The share of the pages on the fast device that are colder than as many pages on the slow \
         one; median over moments.",
    )
}

fn episodes(analysis: &Analysis, most: usize) -> Option<Table> {
    let episodes = analysis.episodes.as_ref()?;
    let columns = [
        Column::of("from", Unit::Nanoseconds),
        Column::of("to", Unit::Nanoseconds),
        Column::of("came back quickly", Unit::Count),
        Column::of("different pages", Unit::Count),
        Column::text("mostly for"),
    ];
    let rows = episodes.iter().zip(&analysis.episode_makers).take(most).map(|(episode, by)| {
        [
            Cell::number(episode.start.get() as f64),
            Cell::number(episode.end.get() as f64),
            Cell::number(episode.re_faults as f64),
            Cell::number(episode.pages as f64),
            by.as_str().into(),
        ]
    });
    let title = format!("{}: thrashing", analysis.label);
    let table = Table::new("swap/analyze/thrashing", title, columns).with_rows(rows);
    let more = episodes.len().saturating_sub(most) as u64 + analysis.more[0];
    Some(match more {
        0 => table,
        more => table.with_note(format!(
            "and {more} more, {} in all; --limit shows more",
            thrashing(episodes)
        )),
    })
}

fn launches(analysis: &Analysis, most: usize) -> Option<Table> {
    if analysis.launches.is_empty() {
        return None;
    }
    let count = |name| Column::of(name, Unit::Count);
    let columns = [
        Column::text("app"),
        Column::of("at", Unit::Nanoseconds),
        count("round"),
        count("pages in"),
        count("pages out"),
        Column::of("I/O time", Unit::Nanoseconds),
        count("ever in"),
        count("ever out"),
    ];
    let rows = analysis.launches.iter().take(most).map(|(app, launch)| {
        let count = |count: u64| Cell::number(count as f64);
        [
            (&**app).into(),
            Cell::number(launch.at.get() as f64),
            f64::from(launch.round).into(),
            count(launch.pages_in),
            count(launch.pages_out),
            Cell::number(launch.time.get() as f64),
            count(launch.ever[0]),
            count(launch.ever[1]),
        ]
    });
    let title = format!("{}: launches", analysis.label);
    let mut table = Table::new("swap/analyze/launches", title, columns).with_rows(rows);
    let more = analysis.launches.len().saturating_sub(most) as u64 + analysis.more[1];
    if more > 0 {
        table.notes.push(format!("and {more} more; --limit shows more"));
    }
    match analysis.other_launches {
        0 => {}
        1 => table
            .notes
            .push("1 launch of another program is left out; --all-launches shows it".to_owned()),
        others => table.notes.push(format!(
            "{others} launches of other programs are left out; --all-launches shows them"
        )),
    }
    Some(table)
}

/// A number of pages in bytes.
fn bytes(pages: f64) -> Cell {
    Number::new(pages * PAGE as f64).of(Unit::Bytes).into()
}

fn percent(share: f64) -> String {
    Unit::Ratio.show(share)
}
