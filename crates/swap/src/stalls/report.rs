//! Findings about the memory of a recording.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use unjank_host::Nanos;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{Roster, seconds};
use unjank_measure::number::counted;
use unjank_measure::record::{Cell as Shown, Column, Quantity, Table};
use unjank_measure::stats::ExactTimes;
use unjank_measure::{Answer, Fact, Findings, Outlier, Series, Unit, Verdict};

use super::memory::{Memory, Stall};
use super::options::Options;

/// The series of all stalls.
const SERIES: &str = "swap/trace/stall";
/// Rows of the table of the longest stalls.
const LONGEST: usize = 10;

pub(super) fn findings(roster: &Roster, options: &Options, memory: &Memory) -> Findings {
    let (from, to) = options.window;
    let mut findings = Findings::default();
    let mut longest: Vec<&Stall> = memory.stalls.iter().collect();
    longest.sort_by_key(|stall| (Reverse(stall.length()), stall.from));
    longest.truncate(LONGEST);
    findings.verdicts.push(verdict(roster, options, memory, longest.first()));
    if !memory.stalls.is_empty() {
        let mut series = Series::new(SERIES).with_course(from, to.since(from));
        memory.stalls.iter().for_each(|stall| series.record_at(stall.to, stall.length()));
        findings.series.push(series.finish());
        findings.tables.push(reclaim_table(roster, options, memory));
        findings.tables.push(longest_table(roster, &longest));
    }
    findings.tables.extend(kswapd_table(roster, options, memory));
    findings.tables.extend(files_table(roster, options, memory));
    findings.tables.extend(readers_table(roster, options, memory));
    let fact = |name: &str, value: f64, unit| Fact::new(format!("swap/trace/{name}"), value, unit);
    let stalled = total(memory.stalls.iter().map(Stall::length));
    let kswapd = total(memory.kswapd.values().flatten().copied());
    let cached: u64 = memory.readers.values().map(|read| read.pages).sum();
    findings.facts.extend([
        fact("stalled", stalled.get() as f64, Unit::Nanoseconds),
        fact("kswapd_time", kswapd.get() as f64, Unit::Nanoseconds),
        fact("cached", cached as f64, Unit::Pages),
        fact("written", memory.written as f64, Unit::Pages),
        fact("faults", memory.faults as f64, Unit::Count),
    ]);
    findings.outliers.extend(longest.iter().map(|stall| Outlier {
        series: SERIES.to_owned(),
        labels: BTreeMap::new(),
        at: stall.to.since(from).get(),
        value: stall.length().get(),
        cpu: None,
        cause: Some(format!("direct reclaim by {}", roster.thread_label(stall.thread))),
    }));
    if memory.in_gaps > 0 {
        findings.warn(format!(
            "left out {} of direct reclaim during which the recording lost events",
            counted(memory.in_gaps as usize, "stall", "stalls")
        ));
    }
    findings
}

fn total(times: impl Iterator<Item = Nanos>) -> Nanos {
    times.fold(Nanos::ZERO, |sum, time| sum + time)
}

/// Whether threads had to look for free memory themselves.
fn verdict(
    roster: &Roster,
    options: &Options,
    memory: &Memory,
    longest: Option<&&Stall>,
) -> Verdict {
    let n = memory.stalls.len();
    let stalled = total(memory.stalls.iter().map(Stall::length));
    let kswapd = total(memory.kswapd.values().flatten().copied());
    let mut reason = match longest {
        Some(longest) => format!(
            "{} a thread looked for pages to evict, for {stalled} in all; the longest: {}, {}",
            counted(n, "time", "times"),
            roster.thread_label(longest.thread),
            longest.length()
        ),
        None => {
            "no thread looked for pages to evict, or vmscan/mm_vmscan_direct_reclaim_begin and \
                 _end were not recorded"
                .to_owned()
        }
    };
    if kswapd > Nanos::ZERO {
        reason = format!("{reason}; kswapd had a CPU for {kswapd}");
    }
    // The recording does not say which events were enabled.
    let answer = if n > 0 { Answer::No } else { Answer::CannotTell };
    let question = "Did threads get memory without looking for pages to evict?";
    let mut verdict = Verdict::new("swap/trace", question, answer, reason);
    verdict.measured = longest.map(|longest| Quantity {
        name: "longest direct reclaim".to_owned(),
        value: longest.length().get() as f64,
        unit: Unit::Nanoseconds,
        interval: None,
        at_least: None,
        n: n as u64,
    });
    verdict.next = longest.zip(options.why.as_ref()).map(|(stall, why)| {
        format!("{why} {}", roster.why_options(stall.thread, stall.from, stall.to))
    });
    verdict
}

fn time(time: Nanos) -> Shown {
    Shown::number(time.get() as f64)
}

fn count(number: u64) -> Shown {
    Shown::number(number as f64)
}

fn limited(mut table: Table, all: usize, limit: usize, what: [&str; 2]) -> Table {
    let rest = all.saturating_sub(limit);
    if rest > 0 {
        let [one, many] = what;
        table.notes.push(format!("{}: --limit all.", counted(rest, one, many)));
    }
    table
}

const THREADS: [&str; 2] = ["more thread", "more threads"];

fn reclaim_table(roster: &Roster, options: &Options, memory: &Memory) -> Table {
    let mut threads: BTreeMap<ThreadId, Vec<Nanos>> = BTreeMap::new();
    for stall in &memory.stalls {
        threads.entry(stall.thread).or_default().push(stall.length());
    }
    let threads = threads.into_iter();
    let mut threads: Vec<(ThreadId, ExactTimes)> =
        threads.map(|(thread, times)| (thread, times.into_iter().collect())).collect();
    threads.sort_by_key(|(_, times)| Reverse(times.total()));
    let columns = [
        Column::text("thread"),
        Column::text("process"),
        Column::of("stalls", Unit::Count),
        Column::of("total", Unit::Nanoseconds),
        Column::of("p50", Unit::Nanoseconds),
        Column::of("longest", Unit::Nanoseconds),
    ];
    let rows = threads.iter().take(options.limit).map(|(thread, times)| {
        [
            roster.thread_label(*thread).into(),
            roster.process_label(*thread).unwrap_or_default().into(),
            count(times.n()),
            time(times.total()),
            Shown::maybe(times.quantile(0.5).map(|(median, _)| time(median))),
            time(times.longest()),
        ]
    });
    let title = "Threads that looked for pages to evict (direct reclaim)";
    let table = Table::new("swap/trace/reclaim", title, columns).with_rows(rows);
    limited(table, threads.len(), options.limit, THREADS)
}

fn longest_table(roster: &Roster, longest: &[&Stall]) -> Table {
    let columns =
        [Column::text("from"), Column::text("thread"), Column::of("lasted", Unit::Nanoseconds)];
    let rows = longest.iter().map(|stall| {
        [seconds(stall.from).into(), roster.thread_label(stall.thread).into(), time(stall.length())]
    });
    Table::new("swap/trace/longest", "The longest of these", columns).with_rows(rows)
}

/// `None` if kswapd had no CPU.
fn kswapd_table(roster: &Roster, options: &Options, memory: &Memory) -> Option<Table> {
    let (from, to) = options.window;
    let whole = (to.since(from).get() as f64).max(1.0);
    let columns = [
        Column::text("thread"),
        Column::of("runs", Unit::Count),
        Column::of("CPU time", Unit::Nanoseconds),
        Column::of("share of the time", Unit::Ratio),
        Column::of("longest run", Unit::Nanoseconds),
    ];
    let rows = memory.kswapd.iter().map(|(thread, runs)| {
        let runs: ExactTimes = runs.iter().copied().collect();
        [
            roster.thread_label(*thread).into(),
            count(runs.n()),
            time(runs.total()),
            Shown::number(runs.total().get() as f64 / whole),
            time(runs.longest()),
        ]
    });
    let table = Table::new("swap/trace/kswapd", "Eviction in the background", columns);
    (!memory.kswapd.is_empty()).then(|| table.with_rows(rows))
}

/// `None` if no page entered the page cache.
fn files_table(roster: &Roster, options: &Options, memory: &Memory) -> Option<Table> {
    let columns =
        [Column::text("file"), Column::of("pages", Unit::Pages), Column::text("most for")];
    let mut files: Vec<_> = memory.files.iter().collect();
    files.sort_by_key(|(_, threads)| Reverse(threads.values().sum::<u64>()));
    let rows = files.iter().take(options.limit).map(|(file, threads)| {
        let most = threads.iter().max_by_key(|(_, pages)| **pages);
        let path = options.paths.get(file).cloned();
        [
            path.unwrap_or_else(|| file.to_string()).into(),
            count(threads.values().sum()),
            most.map(|(thread, _)| roster.thread_label(*thread)).unwrap_or_default().into(),
        ]
    });
    let title = "Files whose pages entered the page cache";
    let table = Table::new("swap/trace/files", title, columns).with_rows(rows);
    let table = limited(table, files.len(), options.limit, ["more file", "more files"]);
    (!files.is_empty()).then_some(table)
}

/// `None` if no page entered the page cache.
fn readers_table(roster: &Roster, options: &Options, memory: &Memory) -> Option<Table> {
    let columns = [
        Column::text("thread"),
        Column::text("process"),
        Column::of("pages", Unit::Pages),
        Column::of("files", Unit::Count),
    ];
    let mut readers: Vec<_> = memory.readers.iter().collect();
    readers.sort_by_key(|(_, read)| Reverse(read.pages));
    let rows = readers.iter().take(options.limit).map(|(thread, read)| {
        [
            roster.thread_label(**thread).into(),
            roster.process_label(**thread).unwrap_or_default().into(),
            count(read.pages),
            count(read.files.len() as u64),
        ]
    });
    let title = "Threads for which pages entered the page cache";
    let table = Table::new("swap/trace/readers", title, columns).with_rows(rows);
    let table = limited(table, readers.len(), options.limit, THREADS);
    (!readers.is_empty()).then_some(table)
}
