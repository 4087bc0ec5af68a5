//! Measurements of thread pools, with their table and verdicts.

use unjank_host::Nanos;
use unjank_measure::experiment::{Question, Trials, family};
use unjank_measure::record::Verdict;
use unjank_measure::stats::order;
use unjank_measure::{
    Answer, Cell as Shown, Column, Direction, Fact, Findings, Number, Plan, Series, Table, Unit,
};

use super::options::Options;
use super::pool::PoolKind;

/// The beginning of the subjects of verdicts, and what they are about.
const NAME: &str = "lock/pool/";
const SPAWN_TO_START: &str = "spawn_to_start";
const CPUS: &str = "cpus";

/// The result of one trial.
pub(super) struct TrialResult {
    /// Times from giving work until it begins.
    pub(super) latencies: Series,
    /// CPU time of the pool per second.
    pub(super) cpus: f64,
    /// Power of the machine, if there is a meter.
    pub(super) watts: Option<f64>,
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
    watts: Vec<Vec<(usize, f64)>>,
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
                    self.question(cell, other, SPAWN_TO_START, Unit::Nanoseconds),
                ));
                asked.push((
                    Trials::of_rounds(self.plan, &cell.cpus, other, 0),
                    self.question(cell, other, CPUS, Unit::Ratio),
                ));
            }
        }
        let before = findings.verdicts.len();
        for outcome in family(&asked, 0.0) {
            outcome.note(findings);
        }
        findings.headline = headline(self.pools[0].name(), &findings.verdicts[before..]);
    }

    /// The table, with a line for each gap and pool.
    fn table(&self) -> Table {
        let mut columns = vec![
            Column::of("work every", Unit::Nanoseconds),
            Column::text("pool"),
            Column::of("median", Unit::Nanoseconds),
            Column::of("p99", Unit::Nanoseconds),
            Column::of("longest", Unit::Nanoseconds),
            Column::of("CPUs used", Unit::Count),
        ];
        let metered =
            self.cells.iter().any(|cell| cell.watts.iter().any(|round| !round.is_empty()));
        columns.extend(metered.then(|| Column::of("power", Unit::Watts)));
        let title = "From giving work until it begins, and CPUs that the pool uses";
        let row = |cell: &Cell, place: usize, pool: PoolKind| {
            let (cpus, interval) = cell.cpus(place)?;
            let latency = |q| cell.latency(place, q).map(|latency| latency.get() as f64);
            let [median, tail, longest] = [0.5, 0.99, 1.0].map(latency).map(Shown::maybe);
            let gap = Shown::number(cell.gap.get() as f64);
            let cpus = Number::new(cpus).within(interval).into();
            let mut row = vec![gap, pool.name().into(), median, tail, longest, cpus];
            if metered {
                let power = cell.power(place);
                let power = power.map(|(watts, interval)| Number::new(watts).within(interval));
                row.push(Shown::maybe(power));
            }
            Some(row)
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
            subject: format!("{NAME}{what}/{} against {theirs}", cell.gap),
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
        let [medians, cpus, watts] = [const { Vec::new() }; 3];
        Self { gap, latencies, medians, cpus, watts }
    }

    /// Adds one round, with the results of the pools that it measured.
    pub(super) fn add(&mut self, round: Vec<(usize, TrialResult)>) {
        let mut medians = Vec::new();
        let mut cpus = Vec::new();
        let mut watts = Vec::new();
        for (place, seen) in round {
            medians.push((place, seen.latencies.quantile(0.5) as f64));
            cpus.push((place, seen.cpus));
            watts.extend(seen.watts.map(|watts| (place, watts)));
            self.latencies[place].absorb(&seen.latencies);
        }
        self.medians.push(medians);
        self.cpus.push(cpus);
        self.watts.push(watts);
    }

    /// A quantile of the times from giving work until it begins.
    pub fn latency(&self, pool: usize, q: f64) -> Option<Nanos> {
        let series = self.latencies.get(pool)?;
        (series.n() > 0).then(|| Nanos(series.quantile(q)))
    }

    /// The median over rounds of the CPUs that a pool used, with its interval.
    pub fn cpus(&self, pool: usize) -> Option<(f64, Option<[f64; 2]>)> {
        median_of(&self.cpus, pool)
    }

    /// The median over rounds of the machine's power while a pool was measured, in watts, with
    /// its interval; `None` without a meter.
    pub fn power(&self, pool: usize) -> Option<(f64, Option<[f64; 2]>)> {
        median_of(&self.watts, pool)
    }

    /// The number of rounds with a result.
    pub fn rounds(&self) -> u64 {
        self.cpus.iter().filter(|round| !round.is_empty()).count() as u64
    }

    /// How many times as long as `other` a pool takes until work begins: the median over
    /// rounds, with its interval and the number of rounds.
    pub fn later(&self, pool: usize, other: usize) -> Option<(f64, Option<[f64; 2]>, u64)> {
        compared(&self.medians, pool, other, ratio)
    }

    /// How many times the CPUs of `other` a pool uses: likewise.
    pub fn busier(&self, pool: usize, other: usize) -> Option<(f64, Option<[f64; 2]>, u64)> {
        compared(&self.cpus, pool, other, ratio)
    }

    /// How many watts more than with `other` the machine takes: likewise.
    pub fn more_power(&self, pool: usize, other: usize) -> Option<(f64, Option<[f64; 2]>, u64)> {
        compared(&self.watts, pool, other, |one, other| Some(one - other))
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
            let bounded = |fact: Fact, interval: Option<[f64; 2]>| match interval {
                Some(interval) => fact.with_interval(interval, rounds),
                None => fact,
            };
            findings.facts.push(bounded(fact, interval));
            if let Some((watts, interval)) = self.power(place) {
                let name = format!("lock/pool/{}/power", pool.name());
                let fact = Fact::new(name, watts, Unit::Watts);
                findings
                    .facts
                    .push(bounded(fact.with_label("gap", self.gap.to_string()), interval));
            }
        }
    }
}

/// How often `pool` does better and worse than the others; `None` without others.
fn headline(pool: &str, verdicts: &[Verdict]) -> Option<String> {
    let number = |what: &str, answer: Answer| {
        let asked = verdicts.iter().filter(|it| it.subject.starts_with(&format!("{NAME}{what}/")));
        asked.filter(|verdict| verdict.answer == answer).count()
    };
    let [sooner, later] = [Answer::Better, Answer::Worse].map(|it| number(SPAWN_TO_START, it));
    let [less, more] = [Answer::Better, Answer::Worse].map(|it| number(CPUS, it));
    (!verdicts.is_empty()).then(|| {
        let comparisons = verdicts.len() / 2;
        if [sooner, later, less, more] == [0; 4] {
            return format!("no certain difference between {pool} and other pools");
        }
        format!(
            "of {comparisons} comparisons with other pools, {pool} begins work sooner in {sooner} \
             and later in {later}, and uses less CPU time in {less} and more in {more}"
        )
    })
}

/// The median over rounds of one pool's value.
fn median_of(rounds: &[Vec<(usize, f64)>], pool: usize) -> Option<(f64, Option<[f64; 2]>)> {
    let of_pool = rounds.iter().flatten().filter(|(place, _)| *place == pool);
    order::median(&mut of_pool.map(|(_, value)| *value).collect::<Vec<f64>>())
}

/// The median over rounds of one pool's value compared with another's.
fn compared(
    rounds: &[Vec<(usize, f64)>],
    pool: usize,
    other: usize,
    compare: fn(f64, f64) -> Option<f64>,
) -> Option<(f64, Option<[f64; 2]>, u64)> {
    let of = |round: &[(usize, f64)], wanted: usize| {
        round.iter().find(|(place, _)| *place == wanted).map(|(_, value)| *value)
    };
    let values = rounds.iter().filter_map(|round| compare(of(round, pool)?, of(round, other)?));
    let mut values: Vec<f64> = values.collect();
    let n = values.len() as u64;
    let (value, interval) = order::median(&mut values)?;
    Some((value, interval, n))
}

/// One value divided by another, if both are above zero.
fn ratio(one: f64, other: f64) -> Option<f64> {
    (one > 0.0 && other > 0.0).then(|| one / other)
}

#[cfg(test)]
mod tests {
    use unjank_measure::Series;

    use super::*;

    fn trial(watts: Option<f64>) -> TrialResult {
        let mut latencies = Series::new("lock/pool/spawn_to_start");
        latencies.record(Nanos(100));
        TrialResult { latencies, cpus: 1.0, watts }
    }

    fn results(watts: Option<f64>) -> Results {
        let options = Options {
            pools: PoolKind::ALL[..2].to_vec(),
            gaps: vec![Nanos::from_millis(1)],
            ..Options::usual(2)
        };
        let mut results = Results::new(&options, Plan { pairs: 6, warm_up: 0, seed: 1 });
        for _ in 0..options.rounds {
            let more = watts.map(|watts| watts + 0.5);
            results.cells[0].add(vec![(0, trial(watts)), (1, trial(more))]);
        }
        results
    }

    #[test]
    fn power_is_shown_where_it_was_measured() {
        let results = results(Some(3.0));
        assert_eq!(results.cells[0].more_power(1, 0), Some((0.5, Some([0.5, 0.5]), 6)));
        let mut findings = Findings::default();
        results.note(&mut findings);
        let names: Vec<&str> = findings.facts.iter().map(|fact| fact.name.as_str()).collect();
        assert!(names.contains(&"lock/pool/rayon/power"), "{names:?}");
        assert_eq!(findings.tables[0].columns.last().unwrap().name, "power");
    }

    #[test]
    fn without_a_meter_there_is_no_power() {
        let results = results(None);
        assert_eq!(results.cells[0].more_power(1, 0), None);
        assert_eq!(results.cells[0].busier(1, 0), Some((1.0, Some([1.0, 1.0]), 6)));
        let mut findings = Findings::default();
        results.note(&mut findings);
        assert!(!findings.facts.iter().any(|fact| fact.unit == Unit::Watts));
        assert_eq!(findings.tables[0].columns.last().unwrap().name, "CPUs used");
    }

    #[test]
    fn the_headline_counts_what_is_decided() {
        let verdict = |what: &str, answer| {
            Verdict::new(format!("{NAME}{what}/1.00 ms against rayon"), "", answer, "")
        };
        let verdicts = [
            verdict(SPAWN_TO_START, Answer::Better),
            verdict(CPUS, Answer::Worse),
            verdict(SPAWN_TO_START, Answer::Better),
            verdict(CPUS, Answer::CannotTell),
        ];
        assert_eq!(
            headline("unjank", &verdicts).unwrap(),
            "of 2 comparisons with other pools, unjank begins work sooner in 2 and later in 0, and \
             uses less CPU time in 0 and more in 1"
        );
        let open = [verdict(SPAWN_TO_START, Answer::Same), verdict(CPUS, Answer::CannotTell)];
        let said = headline("unjank", &open).unwrap();
        assert_eq!(said, "no certain difference between unjank and other pools");
        assert_eq!(headline("unjank", &[]), None);
    }
}
