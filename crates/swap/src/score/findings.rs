//! Standings as findings of a run record.

use std::collections::BTreeMap;

use unjank_measure::record::Axis;
use unjank_measure::{Cell, Column, Curve, Fact, Findings, Mark, Number, Point, Table, Unit};

use super::excess::{Excess, FEWEST_TRACES, Standing, standings};
use super::trace::TraceMisses;
use unjank_cachesim::mrc::Algorithm;

/// The standings of `algorithms` at these sizes, which are shares of a trace's different pages.
pub fn findings(
    traces: &[TraceMisses],
    algorithms: &[Algorithm],
    shares: &[f64],
    seed: u64,
) -> Findings {
    let mut findings = Findings::default();
    let count = |name: &str, sum: u64| Fact::new(name, sum as f64, Unit::Count);
    findings.facts.extend([
        count("swap/score/traces", traces.len() as u64),
        count("swap/score/requests", traces.iter().map(|trace| trace.requests).sum()),
    ]);
    let standings = standings(traces, algorithms, seed);
    findings.headline = headline(&standings, seed);
    findings.tables.push(table(traces, &standings, shares));
    findings.curves = standings.iter().map(|standing| curve(standing, shares)).collect();
    for warning in warnings(traces) {
        findings.warn(warning);
    }
    findings
}

/// Warnings about what was read, and about the limits of the numbers.
fn warnings(traces: &[TraceMisses]) -> Vec<String> {
    let mut warnings = Vec::new();
    let inputs = || traces.iter().flat_map(|trace| &trace.inputs);
    let mut guessed: BTreeMap<&str, usize> = BTreeMap::new();
    for input in inputs().filter(|input| input.is_guessed) {
        *guessed.entry(input.format.name()).or_default() += 1;
    }
    for (format, count) in guessed {
        warnings.push(format!(
            "{count} of {} traces are read as {format}, which is a guess; confirm it with --format \
             {format}, or name another format",
            traces.len()
        ));
    }
    let mut skipped: BTreeMap<&str, (u64, usize)> = BTreeMap::new();
    for skip in inputs().flat_map(|input| input.skipped.all()) {
        let (lines, traces) = skipped.entry(skip.reason).or_default();
        *lines += skip.count;
        *traces += 1;
    }
    for (reason, (lines, traces)) in skipped {
        warnings.push(format!("skipped in {traces} traces: {lines} lines or records: {reason}"));
    }
    let small = traces.iter().filter(|trace| trace.sizes.contains(&None)).count();
    if small > 0 {
        warnings.push(format!(
            "{small} of {} traces have too few pages for the smallest sizes, or the same number of \
             pages at two sizes, and do not count there",
            traces.len()
        ));
    }
    if traces.len() < FEWEST_TRACES {
        warnings.push(format!(
            "intervals need at least {FEWEST_TRACES} traces; this run has {}",
            traces.len()
        ));
    }
    if traces.iter().any(|trace| trace.rate < 1.0) {
        warnings.push(
            "the numbers of single traces are estimates from samples; the intervals over traces \
             include that only in part"
                .to_owned(),
        );
    }
    warnings
}

/// The policy nearest to the optimum, and how many others may be as near.
fn headline(standings: &[Standing], seed: u64) -> Option<String> {
    let online: Vec<&Standing> =
        standings.iter().filter(|standing| !standing.algorithm.is_offline()).collect();
    let (best, others) = online.split_first()?;
    let value = Unit::Ratio.show(best.overall?.value);
    let compared: Option<Vec<bool>> =
        others.iter().map(|other| best.may_equal(other, seed)).collect();
    let open = compared.map(|near| near.into_iter().filter(|near| *near).count());
    let open = match open {
        Some(0) => String::new(),
        Some(1) => "; one other may be as near".to_owned(),
        Some(open) => format!("; {open} others may be as near"),
        None => "; too few traces to tell it from the others".to_owned(),
    };
    Some(format!("Nearest to the optimum: {}, {value} more misses{open}", best.algorithm))
}

fn table(traces: &[TraceMisses], standings: &[Standing], shares: &[f64]) -> Table {
    let sizes = shares.iter().map(|share| Column::of(Unit::Ratio.show(*share), Unit::Ratio));
    let columns = std::iter::once(Column::text("policy"))
        .chain(sizes)
        .chain([Column::of("all sizes", Unit::Ratio), Column::of("fewest misses at", Unit::Count)]);
    let lowest = |of: &dyn Fn(&Standing) -> Option<Excess>| {
        let online = standings.iter().filter(|standing| !standing.algorithm.is_offline());
        online.filter_map(of).map(|excess| excess.value).fold(f64::INFINITY, f64::min)
    };
    let cell = |standing: &Standing, of: &dyn Fn(&Standing) -> Option<Excess>| {
        let excess = of(standing)?;
        let wins = !standing.algorithm.is_offline() && excess.value <= lowest(of);
        let best = wins.then_some(Mark::Best);
        Some(Number::new(excess.value).within(excess.interval).marked(best))
    };
    let rows = standings.iter().map(|standing| {
        let sizes = (0..shares.len()).map(|size| cell(standing, &|it: &Standing| it.sizes[size]));
        let overall = cell(standing, &|it: &Standing| it.overall);
        let sizes = sizes.chain([overall]).map(Cell::maybe);
        let best = Cell::maybe(standing.best.map(|best| Number::new(best as f64)));
        std::iter::once(standing.algorithm.to_string().into())
            .chain(sizes)
            .chain([best])
            .collect::<Vec<_>>()
    });
    Table::new("swap/score/excess", "Misses above the optimum, by size of the cache", columns)
        .with_rows(rows)
        .with_note(format!(
            "geometric means over {} traces of misses in relation to those of Belady's optimum with \
             bypass; sizes are shares of a trace's different pages; ± is a 95 % interval over \
             traces",
            traces.len()
        ))
        .with_note("fewest misses at: sizes of traces at which no other policy has fewer")
}

fn curve(standing: &Standing, shares: &[f64]) -> Curve {
    let point = |(share, excess): (&f64, &Option<Excess>)| {
        excess.map(|excess| Point { x: *share, y: excess.value, interval: excess.interval })
    };
    let mut points: Vec<Point> = shares.iter().zip(&standing.sizes).filter_map(point).collect();
    points.sort_by(|one, other| one.x.total_cmp(&other.x));
    Curve {
        name: "swap/score/excess".to_owned(),
        x: Axis::new("size of the cache in relation to the trace's pages", Unit::Ratio),
        y: Axis::new("misses above the optimum", Unit::Ratio),
        labels: [("policy".to_owned(), standing.algorithm.to_string())].into(),
        points,
    }
}
