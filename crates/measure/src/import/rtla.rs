//! The histograms of `rtla timerlat hist` and `rtla osnoise hist`: a column for each CPU and
//! context, a row for each latency, and a summary below them.
//!
//! Source: `tools/tracing/rtla/src/timerlat_hist.c` and `osnoise_hist.c` of the kernel.

use unjank_host::Nanos;

use super::foreign::{Foreign, count};
use crate::findings::Findings;
use crate::record::SeriesRecord;
use crate::series::Series;

const HEAD: &str = "# RTLA ";

/// A column.
struct Column {
    /// `IRQ`, `Thr` or `Usr`; for osnoise `CPU`.
    context: &'static str,
    cpu: String,
    /// Latencies, and how often each was seen.
    counts: Vec<(u64, u64)>,
    /// Samples beyond the last row.
    over: u64,
    max: Option<u64>,
}

pub(super) fn is(text: &str) -> bool {
    tracer(text).is_some()
}

/// `timerlat` or `osnoise`.
fn tracer(text: &str) -> Option<&str> {
    let line = text.trim_start().lines().next()?;
    line.strip_prefix(HEAD)?.trim_end().strip_suffix(" histogram")
}

pub(super) fn read(text: &str) -> Result<Foreign, String> {
    let tracer = tracer(text).ok_or("the header line is missing")?;
    let mut lines = text.lines();
    let unit = lines.by_ref().find_map(|line| line.strip_prefix("# Time unit is "));
    let unit = match unit.map(str::trim_end) {
        Some("microseconds (us)") => 1_000,
        Some("nanoseconds (ns)") => 1,
        other => return Err(format!("the unit {other:?} is not known")),
    };
    let elapsed = text.lines().find_map(|line| line.strip_prefix("# Duration:")).and_then(length);
    let mut columns = Vec::new();
    for line in lines {
        let mut words = line.split_whitespace();
        match words.next() {
            None | Some("#") => {}
            Some("Index") => columns = words.map(Column::parse).collect::<Result<_, _>>()?,
            // What follows adds up all CPUs.
            Some("ALL:") => break,
            Some("over:") => each(&mut columns, words, |column, n| column.over = n)?,
            Some("max:") => each(&mut columns, words, |column, n| column.max = Some(n))?,
            Some(word) => {
                if let Ok(latency) = word.parse() {
                    each(&mut columns, words, |column, n| column.counts.push((latency, n)))?;
                }
            }
        }
    }
    let mut findings = Findings::default();
    for column in columns {
        let over = column.over;
        let series = column.series(tracer, unit)?;
        if over > 0 {
            findings.warn(format!(
                "{over} samples of CPU {} are beyond the last row: they count as long as the \
                 longest",
                series.labels["cpu"]
            ));
        }
        findings.series.push(series);
    }
    Ok(Foreign {
        tool: format!("rtla {tracer}"),
        version: None,
        began: None,
        elapsed: elapsed.unwrap_or(Nanos::ZERO),
        findings,
    })
}

/// Days and hours, minutes and seconds: `0 00:10:00`.
fn length(text: &str) -> Option<Nanos> {
    let (days, clock) = text.trim().split_once(' ')?;
    let mut seconds: u64 = days.parse().ok()?;
    for (part, base) in clock.trim().splitn(3, ':').zip([24, 60, 60]) {
        seconds = seconds.checked_mul(base)?.checked_add(part.parse().ok()?)?;
    }
    Some(Nanos(seconds.checked_mul(1_000_000_000)?))
}

/// Passes the numbers of a row to their columns. A dash stands for none.
fn each<'a>(
    columns: &mut [Column],
    words: impl Iterator<Item = &'a str>,
    mut take: impl FnMut(&mut Column, u64),
) -> Result<(), String> {
    let mut words = words.fuse();
    for column in columns {
        match words.next() {
            Some("-") => {}
            Some(word) => {
                take(column, word.parse().map_err(|_| format!("{word:?} is not a count"))?);
            }
            None => return Err("a row has fewer numbers than columns".to_owned()),
        }
    }
    Ok(())
}

impl Column {
    fn parse(name: &str) -> Result<Self, String> {
        let (context, cpu) = name.split_once('-').unwrap_or((name, ""));
        let context = ["IRQ", "Thr", "Usr", "CPU"].into_iter().find(|known| *known == context);
        let cpu: u32 = cpu.parse().map_err(|_| format!("the column {name:?} is not known"))?;
        Ok(Self {
            context: context.ok_or_else(|| format!("the column {name:?} is not known"))?,
            cpu: cpu.to_string(),
            counts: Vec::new(),
            over: 0,
            max: None,
        })
    }

    fn series(self, tracer: &str, unit: u64) -> Result<SeriesRecord, String> {
        let what = match self.context {
            "IRQ" => "irq",
            "Thr" => "thread",
            "Usr" => "user",
            _ => "noise",
        };
        let mut series = Series::new(format!("rtla/{tracer}/{what}")).with_label("cpu", self.cpu);
        let time = |value: u64| Nanos(value.saturating_mul(unit));
        let last = self.counts.iter().map(|&(latency, _)| latency).max().unwrap_or(0);
        let counted = self.counts.into_iter().chain([(self.max.unwrap_or(last), self.over)]);
        for (latency, times) in counted {
            count(&mut series, time(latency), times)?;
        }
        Ok(series.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_become_series() {
        let foreign = read(include_str!("fixtures/timerlat.txt")).unwrap();
        assert_eq!(foreign.elapsed, Nanos(62_000_000_000));
        let all: Vec<_> = foreign
            .findings
            .series
            .iter()
            .map(|one| (one.name.as_str(), one.labels["cpu"].as_str(), one.n))
            .collect();
        assert_eq!(
            all,
            [
                ("rtla/timerlat/irq", "1", 1_000),
                ("rtla/timerlat/thread", "1", 1_001),
                ("rtla/timerlat/user", "1", 0),
                ("rtla/timerlat/irq", "12", 998),
                ("rtla/timerlat/thread", "12", 999),
                ("rtla/timerlat/user", "12", 0),
            ]
        );
        let thread = foreign.findings.series[1].summary.unwrap();
        assert_eq!((thread.min, thread.p50 / 1_000), (0, 3), "whole microseconds");
        assert!((290_000..=291_000).contains(&thread.max), "{}", thread.max);
        assert_eq!(foreign.findings.warnings.len(), 1, "{:?}", foreign.findings.warnings);
    }

    #[test]
    fn damage_is_named() {
        let read = |rows: &str| {
            read(&format!("# RTLA osnoise histogram\n# Time unit is nanoseconds (ns)\n{rows}"))
        };
        assert_eq!(
            read("Index CPU-000 CPU-001\n1 2\n").unwrap_err(),
            "a row has fewer numbers than columns"
        );
        assert_eq!(read("Index CPU-000\n1 x\n").unwrap_err(), "\"x\" is not a count");
        assert_eq!(read("Index GPU-000\n").unwrap_err(), "the column \"GPU-000\" is not known");
        let noise = read("Index CPU-003\n7 2\nover: 0\n").unwrap();
        assert_eq!(noise.findings.series[0].summary.unwrap().max, 7);
        assert_eq!(noise.findings.series[0].name, "rtla/osnoise/noise");
    }
}
