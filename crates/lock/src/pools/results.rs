//! Measurements of thread pools, with their table and verdicts.

use unjank_host::Nanos;
use unjank_measure::experiment::{Question, Trials, family};
use unjank_measure::stats::order;
use unjank_measure::{
    Cell as Shown, Column, Direction, Fact, Findings, Number, Plan, Series, Table, Unit,
};

use super::options::Options;
use super::pool::PoolKind;

/// The result of one trial.
pub(super) struct TrialResult {
    /// Times from giving work until it begins.
    pub(super) latencies: Series,
    /// CPU time of the pool per second.
    pub(super) cpus: f64,
}

/// The results of all trials.
pub struct Results {
    /// The pools; the first is compared with each of the others.
    pub pools: Vec<PoolKind>,
    /// Gap by gap.
    pub cells: Vec<Cell>,
    plan: Plan,
}

/// The results of all trials with one gap.
pub struct Cell {
    /// Time from one piece of work to the next.
    pub gap: Nanos,
    latencies: Vec<Series>,
    medians: Vec<Vec<(usize, f64)>>,
    cpus: Vec<Vec<(usize, f64)>>,
}

impl Results {
    pub(super) fn new(options: &Options, plan: Plan) -> Self {
        let cells = options.gaps.iter().map(|&gap| Cell::new(gap, &options.pools)).collect();
        Self { pools: options.pools.clone(), cells, plan }
    }

    /// Adds series and facts of each pool. For each gap, adds verdicts on whether
    /// work begins sooner, and with less CPU time, in the first pool than in each
    /// other one.
    pub(super) fn note(&self, findings: &mut Findings) {
        for cell in &self.cells {
            cell.note(&self.pools, findings);
        }
        findings.tables.push(self.table());
        let mut asked = Vec::new();
        for cell in &self.cells {
            for other in 1..self.pools.len() {
                asked.push((
                    Trials::of_rounds(self.plan, &cell.medians, other, 0),
                    self.question(cell, other, "spawn_to_start", Unit::Nanoseconds),
                ));
                asked.push((
                    Trials::of_rounds(self.plan, &cell.cpus, other, 0),
                    self.question(cell, other, "cpus", Unit::Ratio),
                ));
            }
        }
        for outcome in family(&asked, 0.0) {
            outcome.note(findings);
        }
    }

    /// The table, with a line for each gap and pool.
    fn table(&self) -> Table {
        let columns = [
            Column::of("work every", Unit::Nanoseconds),
            Column::text("pool"),
            Column::of("median", Unit::Nanoseconds),
            Column::of("p99", Unit::Nanoseconds),
            Column::of("longest", Unit::Nanoseconds),
            Column::of("CPUs used", Unit::Count),
        ];
        let title = "From giving work until it begins, and CPUs that the pool uses";
        let row = |cell: &Cell, place: usize, pool: PoolKind| {
            let (cpus, interval) = cell.cpus(place)?;
            let latency = |q| cell.latency(place, q).map(|latency| latency.get() as f64);
            let [median, tail, longest] = [0.5, 0.99, 1.0].map(latency).map(Shown::maybe);
            let gap = Shown::number(cell.gap.get() as f64);
            let cpus = Number::new(cpus).within(interval).into();
            Some([gap, pool.name().into(), median, tail, longest, cpus])
        };
        let rows = self.cells.iter().flat_map(|cell| {
            let pools = self.pools.iter().enumerate();
            pools.filter_map(|(place, &pool)| row(cell, place, pool)).collect::<Vec<_>>()
        });
        Table::new("lock/pool/summary", title, columns).with_rows(rows)
    }

    fn question(&self, cell: &Cell, other: usize, what: &str, unit: Unit) -> Question {
        let (ours, theirs) = (self.pools[0].name(), self.pools[other].name());
        let does = match unit {
            Unit::Nanoseconds => "begin work sooner than",
            _ => "use less CPU time than",
        };
        Question {
            text: format!("Given work every {}, does {ours} {does} {theirs}?", cell.gap),
            subject: format!("lock/pool/{what}/{} against {theirs}", cell.gap),
            unit,
            better: Direction::Smaller,
            min_effect: 0.0,
        }
    }
}

impl Cell {
    fn new(gap: Nanos, pools: &[PoolKind]) -> Self {
        let series = |pool: &PoolKind| {
            Series::new(format!("lock/pool/{}/spawn_to_start", pool.name()))
                .with_label("gap", gap.to_string())
        };
        let latencies = pools.iter().map(series).collect();
        Self { gap, latencies, medians: Vec::new(), cpus: Vec::new() }
    }

    /// Adds one round, with the results of the pools that it measured.
    pub(super) fn add(&mut self, round: Vec<(usize, TrialResult)>) {
        let mut medians = Vec::new();
        let mut cpus = Vec::new();
        for (place, seen) in round {
            medians.push((place, seen.latencies.quantile(0.5) as f64));
            cpus.push((place, seen.cpus));
            self.latencies[place].absorb(&seen.latencies);
        }
        self.medians.push(medians);
        self.cpus.push(cpus);
    }

    /// A quantile of the times from giving work until it begins.
    pub fn latency(&self, pool: usize, q: f64) -> Option<Nanos> {
        let series = self.latencies.get(pool)?;
        (series.n() > 0).then(|| Nanos(series.quantile(q)))
    }

    /// The median over rounds of the CPUs that a pool used, with its interval.
    pub fn cpus(&self, pool: usize) -> Option<(f64, Option<[f64; 2]>)> {
        let of_pool = self.cpus.iter().flatten().filter(|(place, _)| *place == pool);
        order::median(&mut of_pool.map(|(_, cpus)| *cpus).collect::<Vec<f64>>())
    }

    /// The number of rounds with a result.
    pub fn rounds(&self) -> u64 {
        self.cpus.iter().filter(|round| !round.is_empty()).count() as u64
    }

    /// How many times as long as `other` a pool takes until work begins: the median over
    /// rounds, with its interval and the number of rounds.
    pub fn later(&self, pool: usize, other: usize) -> Option<(f64, Option<[f64; 2]>, u64)> {
        relative(&self.medians, pool, other)
    }

    /// How many times the CPUs of `other` a pool uses: likewise.
    pub fn busier(&self, pool: usize, other: usize) -> Option<(f64, Option<[f64; 2]>, u64)> {
        relative(&self.cpus, pool, other)
    }

    fn note(&self, pools: &[PoolKind], findings: &mut Findings) {
        for (place, pool) in pools.iter().enumerate() {
            let series = self.latencies[place].clone();
            if series.n() > 0 {
                findings.series.push(series.finish());
            }
            let Some((cpus, interval)) = self.cpus(place) else { continue };
            let fact = Fact::new(format!("lock/pool/{}/cpus", pool.name()), cpus, Unit::Ratio)
                .with_label("gap", self.gap.to_string());
            let rounds = self.rounds();
            findings.facts.push(match interval {
                Some(interval) => fact.with_interval(interval, rounds),
                None => fact,
            });
        }
    }
}

/// The median over rounds of one pool's value divided by another's.
fn relative(
    rounds: &[Vec<(usize, f64)>],
    pool: usize,
    other: usize,
) -> Option<(f64, Option<[f64; 2]>, u64)> {
    let of = |round: &[(usize, f64)], wanted: usize| {
        let found = round.iter().find(|(place, _)| *place == wanted)?;
        (found.1 > 0.0).then_some(found.1)
    };
    let ratios = rounds.iter().filter_map(|round| Some(of(round, pool)? / of(round, other)?));
    let mut ratios: Vec<f64> = ratios.collect();
    let n = ratios.len() as u64;
    let (value, interval) = order::median(&mut ratios)?;
    Some((value, interval, n))
}
