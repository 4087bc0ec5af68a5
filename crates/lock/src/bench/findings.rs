//! Turns results into findings: facts and series of every cell, heat maps,
//! verdicts.

use std::collections::BTreeMap;

use unjank_host::Nanos;
use unjank_measure::record::{Axis, Curve, Direction, Point};
use unjank_measure::{Answer, Fact, Findings, Quantity, Unit, Verdict};

use super::comparison::{self, ComparisonOutcome, Overall, Ratio};
use super::grid::{Cell, Environment};
use super::headline::headline;
use super::results::{Arm, CellResult, Results, Round};

/// A quantity that is averaged over rounds: name, unit, better direction, value.
type Averaged = (&'static str, Unit, Direction, fn(&Round) -> Option<f64>);

const AVERAGED: [Averaged; 6] = [
    ("operations", Unit::PerSecond, Direction::Larger, |round| Some(round.operations)),
    ("cpu_time", Unit::Nanoseconds, Direction::Smaller, |round| Some(round.cpu_time)),
    ("fairness", Unit::Ratio, Direction::Larger, |round| round.fairness),
    ("switches/voluntary", Unit::PerSecond, Direction::Smaller, |round| Some(round.voluntary)),
    ("switches/involuntary", Unit::PerSecond, Direction::Smaller, |round| Some(round.involuntary)),
    ("energy", Unit::Joules, Direction::Smaller, |round| round.energy),
];

/// Adds all facts, series, curves and verdicts.
pub(super) fn note(results: &Results, findings: &mut Findings) {
    for (&strategy, &cost) in &results.uncontended {
        let fact = Fact::new("lock/bench/uncontended", cost, Unit::Nanoseconds);
        findings.facts.push(fact.with_label("strategy", strategy));
    }
    for cell in &results.cells {
        for arm in cell.arms.iter().chain([&cell.control]).filter(|arm| !arm.rounds.is_empty()) {
            note_arm(results, cell, arm, findings);
        }
    }
    let rival = rival(&results.against);
    let mut all = Vec::new();
    for environment in results.environments() {
        note_maps(results, environment, findings);
        let ceiling = results.overall_ceiling(environment);
        if let Some(ceiling) = ceiling {
            let fact = Fact::new("lock/bench/overall/ceiling", ceiling, Unit::Ratio);
            findings.facts.push(fact.with_label("environment", environment.name()));
        }
        for strategy in results.strategies() {
            // The better of two baselines in each cell is no fair rival to either.
            let judged = !results.against.contains(&strategy);
            if let Some(overall) = results.overall(environment, strategy) {
                note_overall(&overall, findings);
                if judged {
                    findings.verdicts.extend(verdicts(&overall, &rival, ceiling));
                    all.push(overall);
                }
            }
        }
    }
    findings.headline = headline(&all, &rival);
}

/// The baselines in words.
fn rival(against: &[&str]) -> String {
    match against {
        [only] => (*only).to_owned(),
        several => format!("the better of {}", several.join(" and ")),
    }
}

/// The labels of a cell's facts.
fn labels(environment: Environment, cell: Cell, strategy: &str) -> BTreeMap<String, String> {
    [
        ("environment", environment.to_string()),
        ("outside", cell.outside.to_string()),
        ("section", cell.section.to_string()),
        ("strategy", strategy.to_owned()),
        ("threads", cell.threads.to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

fn note_arm(results: &Results, cell: &CellResult, arm: &Arm, findings: &mut Findings) {
    let name = arm.strategy.name;
    let labels = labels(cell.environment, cell.cell, name);
    let mut add = |mut fact: Fact| {
        fact.labels.clone_from(&labels);
        findings.facts.push(fact);
    };
    for (what, unit, better, of) in AVERAGED {
        if arm.rounds.values().any(|round| of(round).is_none()) {
            continue;
        }
        let stream = format!("{what} {name} {} {}", cell.environment, cell.cell);
        let of = |round: &Round| of(round).unwrap_or_default();
        let (value, interval) = comparison::mean(arm, of, results.seed, &stream);
        let mut fact = Fact::new(format!("lock/bench/{what}"), value, unit).with_better(better);
        fact.n = Some(arm.rounds.len() as u64);
        fact.interval = interval;
        add(fact);
    }
    let uncontended = results.uncontended.get(name);
    if let Some(wasted) = uncontended.and_then(|&cost| cell.wasted(arm, cost)) {
        let fact = Fact::new("lock/bench/wasted", wasted, Unit::Ratio);
        add(fact.with_better(Direction::Smaller));
    }
    if let Some(compared) = results.compare(cell, name) {
        add(ratio("lock/bench/relative/operations", compared.operations, Direction::Larger));
        add(ratio("lock/bench/relative/cpu_time", compared.cpu_time, Direction::Smaller));
    }
    if let Some(mut waits) = arm.waits.clone().map(unjank_measure::Series::finish) {
        waits.labels = labels;
        findings.series.push(waits);
    }
}

fn ratio(name: &str, ratio: Ratio, better: Direction) -> Fact {
    let mut fact = Fact::new(name, ratio.value, Unit::Ratio).with_better(better);
    fact.n = Some(ratio.rounds as u64);
    fact.interval = ratio.interval;
    fact
}

/// A heat map: name, title, unit, better direction, value of a strategy in a cell.
type HeatMapOf =
    (&'static str, &'static str, Unit, Direction, fn(&Results, &CellResult, &str) -> Option<Point>);

const MAPS: [HeatMapOf; 3] = [
    (
        "lock/bench/map/operations",
        "operations per second, relative",
        Unit::Ratio,
        Direction::Larger,
        |results, cell, strategy| Some(point(cell, results.compare(cell, strategy)?.operations)),
    ),
    (
        "lock/bench/map/cpu_time",
        "CPU time per operation, relative",
        Unit::Ratio,
        Direction::Smaller,
        |results, cell, strategy| Some(point(cell, results.compare(cell, strategy)?.cpu_time)),
    ),
    (
        "lock/bench/map/wait",
        "99.9th percentile of waits",
        Unit::Nanoseconds,
        Direction::Smaller,
        |_, cell, strategy| {
            let wait = cell.arm(strategy)?.wait(0.999)?;
            Some(Point { x: cell.cell.threads as f64, y: wait, interval: None })
        },
    ),
];

fn point(cell: &CellResult, Ratio { value, interval, .. }: Ratio) -> Point {
    Point { x: cell.cell.threads as f64, y: value, interval }
}

/// Adds heat maps, one for each section and outside: strategies down, threads
/// across.
fn note_maps(results: &Results, environment: Environment, findings: &mut Findings) {
    let cells: Vec<&CellResult> =
        results.cells.iter().filter(|cell| cell.environment == environment).collect();
    let mut works: Vec<[Nanos; 2]> =
        cells.iter().map(|cell| [cell.cell.outside, cell.cell.section]).collect();
    works.sort_unstable();
    works.dedup();
    for (name, what, unit, better, of) in MAPS {
        for &[outside, section] in &works {
            for strategy in results.strategies() {
                let of_work = cells
                    .iter()
                    .filter(|one| [one.cell.outside, one.cell.section] == [outside, section]);
                let mut points: Vec<Point> =
                    of_work.filter_map(|cell| of(results, cell, strategy)).collect();
                points.sort_by(|one, other| one.x.total_cmp(&other.x));
                let mut labels =
                    labels(environment, Cell { threads: 0, section, outside }, strategy);
                labels.remove("threads");
                let curve = Curve {
                    name: name.to_owned(),
                    x: Axis::new("threads", Unit::Count),
                    y: Axis::new(what, unit),
                    labels,
                    points,
                };
                findings.curves.push(curve.in_map("strategy", Some(better)));
            }
        }
    }
}

/// Adds the geometric means, and the numbers of cells won and lost.
fn note_overall(overall: &Overall<'_>, findings: &mut Findings) {
    let mut add = |fact: Fact| {
        let fact = fact.with_label("environment", overall.environment.name());
        findings.facts.push(fact.with_label("strategy", overall.strategy));
    };
    add(ratio("lock/bench/overall/operations", overall.operations, Direction::Larger));
    add(ratio("lock/bench/overall/cpu_time", overall.cpu_time, Direction::Smaller));
    for (name, outcome) in [
        ("won", ComparisonOutcome::Won),
        ("lost", ComparisonOutcome::Lost),
        ("cannot_tell", ComparisonOutcome::CannotTell),
    ] {
        let count = overall.with(outcome).count() as f64;
        add(Fact::new(format!("lock/bench/overall/{name}"), count, Unit::Count));
    }
}

/// Two verdicts: whether a strategy gets more done, and with less CPU time.
fn verdicts(overall: &Overall<'_>, rival: &str, ceiling: Option<f64>) -> [Verdict; 2] {
    let Overall { environment, strategy, .. } = overall;
    let [won, lost, open] =
        [ComparisonOutcome::Won, ComparisonOutcome::Lost, ComparisonOutcome::CannotTell]
            .map(|outcome| overall.with(outcome).count());
    let all = overall.cells.len();
    let subject = match environment {
        Environment::Idle => format!("lock/{strategy}"),
        environment => format!("lock/{environment}/{strategy}"),
    };
    let mut reason = format!("of {all} cells {won} won, {lost} lost, {open} cannot tell");
    let worst = overall
        .with(ComparisonOutcome::Lost)
        .min_by(|one, other| one.operations.value.total_cmp(&other.operations.value));
    if let Some(worst) = worst {
        let share = Unit::Ratio.show(worst.operations.value);
        reason = format!("{reason}; least: {share} with {}", worst.cell.cell);
    }
    if let Some(ceiling) = ceiling {
        reason = format!("{reason}; no lock can exceed about {}", Unit::Ratio.show(ceiling));
    }
    let verdict =
        |question: String, [path, what]: [&str; 2], ratio: Ratio, answer, reason| Verdict {
            measured: Some(Quantity {
                name: format!("{what}, relative to {rival}, geometric mean of {all} cells"),
                value: ratio.value,
                unit: Unit::Ratio,
                interval: ratio.interval,
                at_least: None,
                n: ratio.rounds as u64,
            }),
            ..Verdict::new(format!("{subject}{path}"), question, answer, reason)
        };
    let (operations, cpu_time) = (overall.operations, overall.cpu_time);
    let rivals = || overall.cells.iter().filter(|one| !one.is_own(strategy));
    let [more, less, open] =
        [ComparisonOutcome::Won, ComparisonOutcome::Lost, ComparisonOutcome::CannotTell]
            .map(|outcome| rivals().filter(|one| one.cpu_time.outcome() == outcome).count());
    [
        verdict(
            format!("Does {strategy} get more done than {rival}? ({environment})"),
            ["", "operations per second"],
            operations,
            answer(operations.outcome(), Direction::Larger),
            reason,
        ),
        verdict(
            format!("Does {strategy} take less CPU time than {rival}? ({environment})"),
            ["/cpu", "CPU time per operation"],
            cpu_time,
            answer(cpu_time.outcome(), Direction::Smaller),
            format!("of {all} cells {less} take less, {more} more, {open} cannot tell"),
        ),
    ]
}

/// `Won` means that the ratio lies above 1.
fn answer(outcome: ComparisonOutcome, better: Direction) -> Answer {
    match (outcome, better) {
        (ComparisonOutcome::CannotTell, _) => Answer::CannotTell,
        (ComparisonOutcome::Won, Direction::Larger)
        | (ComparisonOutcome::Lost, Direction::Smaller) => Answer::Better,
        (ComparisonOutcome::Lost, Direction::Larger)
        | (ComparisonOutcome::Won, Direction::Smaller) => Answer::Worse,
    }
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::cell;
    use super::*;

    fn found() -> Findings {
        let std = [10.0, 10.1, 9.9, 10.0, 10.1, 9.9];
        let [twice, a_fifth] = [2.0, 0.2].map(|factor| std.map(|value| value * factor));
        let cells = vec![
            cell(2, &[("std", &std), ("spin", &twice)]),
            cell(8, &[("std", &std), ("spin", &a_fifth)]),
        ];
        let uncontended = [("std", 10.0), ("spin", 8.0)].into();
        let results = Results { against: vec!["std", "parking_lot"], cells, uncontended, seed: 1 };
        let mut findings = Findings::default();
        note(&results, &mut findings);
        findings
    }

    #[test]
    fn every_cell_has_its_facts() {
        let found = found();
        let of = |name: &str, strategy: &str, threads: &str| {
            let is = |fact: &&Fact| {
                fact.name == name
                    && fact.labels["strategy"] == strategy
                    && fact.labels.get("threads").is_none_or(|n| n == threads)
            };
            found.facts.iter().find(is).map(|fact| fact.value)
        };
        assert!((of("lock/bench/operations", "spin", "8").unwrap() - 2.0).abs() < 1e-9);
        assert!((of("lock/bench/relative/operations", "spin", "2").unwrap() - 2.0).abs() < 0.01);
        assert_eq!(of("lock/bench/overall/lost", "spin", ""), Some(1.0));
        assert_eq!(of("lock/bench/uncontended", "spin", ""), Some(8.0));
        assert_eq!(of("lock/bench/energy", "spin", "2"), None, "nothing measured it");
    }

    #[test]
    fn strategies_are_rows_and_threads_are_columns() {
        let found = found();
        let rows: Vec<_> = found.curves.iter().map(|curve| (&*curve.name, curve.row())).collect();
        assert_eq!(rows[0], ("lock/bench/map/operations", Some(("strategy", "std"))));
        assert_eq!(rows[1], ("lock/bench/map/operations", Some(("strategy", "spin"))));
        let x: Vec<f64> = found.curves[1].points.iter().map(|point| point.x).collect();
        assert_eq!(x, [2.0, 8.0]);
        assert_eq!(found.curves.len(), 6);
    }

    #[test]
    fn a_strategy_is_judged_and_its_worst_cell_named() {
        let found = found();
        let [operations, cpu_time] = &*found.verdicts else { panic!("{:?}", found.verdicts) };
        assert_eq!((operations.answer, cpu_time.answer), (Answer::Worse, Answer::CannotTell));
        assert_eq!(
            operations.reason,
            "of 2 cells 1 won, 1 lost, 0 cannot tell; least: 20 % with 8 threads, 100 ns held, \
             200 ns outside"
        );
        assert!(operations.question.contains("the better of std and parking_lot"));
        assert_eq!(
            found.headline.unwrap(),
            "against the better of std and parking_lot: less done by spin"
        );
    }
}
