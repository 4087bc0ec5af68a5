//! The cells of a sweep as findings.

use std::collections::BTreeMap;

use unjank_host::Bytes;
use unjank_measure::record::{Axis, Curve, Direction, Point};
use unjank_measure::{Fact, Findings, Unit};

use super::cell::{Cell, Combination};
use super::compare::{cheapest, pareto_front, policies};
use super::means::Means;
use super::tables::{headline, tables};

/// The most traces and sizes of memory that are shown one by one.
const DETAILED: usize = 12;

/// A value of a cell in a heat map: its name, its description and how to compute it.
type HeatMapOf = (&'static str, &'static str, fn(&Cell) -> Option<f64>);

const IOS: HeatMapOf =
    ("swap/sweep/storage_ios", "storage I/O relative to no tier", Cell::relative_ios);
const WRITES: HeatMapOf =
    ("swap/sweep/tier_writes", "tier writes per evicted page", Cell::relative_writes);
const OVER_BUDGET: HeatMapOf = (
    "swap/sweep/over_budget",
    "pages that the budget kept out per evicted page",
    Cell::relative_over_budget,
);

/// For each trace and size of memory: heat maps of storage I/O, writes of the tier and rejections
/// by a budget, with policies down and sizes of the tier across; and the Pareto front. Of many
/// traces, only the means.
pub fn findings(cells: &[Cell], write_cost: Option<f64>, seed: u64) -> Findings {
    let mut findings = Findings::default();
    findings.facts.push(Fact::new("swap/sweep/cells", cells.len() as f64, Unit::Count));
    let mut together: BTreeMap<(&str, u64), Vec<&Cell>> = BTreeMap::new();
    for cell in cells {
        together.entry((&cell.combination.trace, cell.combination.memory)).or_default().push(cell);
    }
    let groups: Vec<&[&Cell]> = together.values().map(Vec::as_slice).collect();
    findings.headline = headline(&groups, write_cost);
    if groups.len() > 1 {
        let means = Means::new(cells, seed);
        findings.tables.push(means.table());
        findings.facts.extend(means.facts());
    }
    if groups.len() > DETAILED {
        findings.warn(format!(
            "only means are shown for {} traces and sizes of memory; --out writes every number",
            groups.len()
        ));
        return findings;
    }
    for cells in groups {
        findings.tables.extend(tables(cells, write_cost));
        note(&mut findings, cells);
        if let Some(cost) = write_cost {
            note_cheapest(&mut findings, cells, cost);
        }
    }
    findings
}

/// Facts about the cheapest cells of one trace and size of memory.
fn note_cheapest(findings: &mut Findings, cells: &[&Cell], write_cost: f64) {
    for cell in cheapest(cells.iter().copied(), write_cost) {
        let mut fact = Fact::new("swap/sweep/cheapest", cell.cost(write_cost), Unit::Pages);
        fact.labels = labels(&cell.combination, &cell.combination.policy);
        fact.labels.insert("tier".to_owned(), Bytes(cell.combination.tier).to_string());
        findings.facts.push(fact);
    }
}

/// The trace, memory and policy of a number as labels.
fn labels(combination: &Combination, policy: &str) -> BTreeMap<String, String> {
    let mut labels: BTreeMap<String, String> = [
        ("trace".to_owned(), combination.trace.clone()),
        ("policy".to_owned(), policy.to_owned()),
        ("origin".to_owned(), "modelled".to_owned()),
    ]
    .into();
    if combination.memory > 0 {
        labels.insert("memory".to_owned(), Bytes(combination.memory).to_string());
    }
    labels
}

/// Facts and curves of one trace and size of memory.
fn note(findings: &mut Findings, cells: &[&Cell]) {
    let Some(combination) = cells.first().map(|cell| &cell.combination) else { return };
    let labels = |policy: &str| labels(combination, policy);
    let over_budget = cells.iter().any(|cell| cell.over_budget > 0);
    for shown in [Some(IOS), Some(WRITES), over_budget.then_some(OVER_BUDGET)].into_iter().flatten()
    {
        for policy in policies(cells) {
            findings.curves.push(row(shown, policy, cells, labels(policy)));
        }
    }
    let without = cells.first().map_or(0, |cell| cell.without_tier);
    let mut fact = Fact::new("swap/sweep/storage_ios", without as f64, Unit::Pages);
    fact.labels = labels("no tier");
    findings.facts.push(fact);
    let best = pareto_front(cells.iter().copied());
    for cell in &best {
        let policy = format!("{} {}", cell.combination.policy, Bytes(cell.combination.tier));
        for (name, value) in
            [("storage_ios", cell.settled_ios()), ("tier_writes", cell.tier_writes)]
        {
            let mut fact =
                Fact::new(format!("swap/sweep/pareto/{name}"), value as f64, Unit::Pages);
            fact.labels = labels(&policy);
            findings.facts.push(fact);
        }
    }
    let point = |cell: &&Cell| {
        Some(Point { x: cell.relative_writes()?, y: cell.relative_ios()?, interval: None })
    };
    for (which, cells) in [("front", &*best), ("all", cells)] {
        let mut labels = labels("");
        labels.remove("policy");
        labels.insert("points".to_owned(), which.to_owned());
        let mut points: Vec<Point> = cells.iter().filter_map(point).collect();
        points.sort_by(|one, other| one.x.total_cmp(&other.x));
        findings.curves.push(Curve {
            name: "swap/sweep/pareto".to_owned(),
            x: Axis::new(WRITES.1, Unit::Ratio),
            y: Axis::new(IOS.1, Unit::Ratio),
            labels,
            points,
        });
    }
}

fn row(
    (name, what, value): HeatMapOf,
    policy: &str,
    cells: &[&Cell],
    labels: BTreeMap<String, String>,
) -> Curve {
    let mut of_policy: Vec<&&Cell> =
        cells.iter().filter(|cell| cell.combination.policy == policy).collect();
    of_policy.sort_by_key(|cell| cell.combination.tier);
    let point = |cell: &&&Cell| {
        Some(Point { x: cell.combination.tier as f64, y: value(cell)?, interval: None })
    };
    let curve = Curve {
        name: name.to_owned(),
        x: Axis::new("size of the tier", Unit::Bytes),
        y: Axis::new(what, Unit::Ratio),
        labels,
        points: of_policy.iter().filter_map(point).collect(),
    };
    curve.in_map("policy", Some(Direction::Smaller))
}

#[cfg(test)]
mod tests {
    use super::super::cell::tests::cell;
    use super::*;

    #[test]
    fn each_policy_is_a_row_the_best_first() {
        let of = |policy, tier, ios, writes| Cell {
            without_tier: 100,
            page_outs: 40,
            clean_drops: 10,
            ..cell(policy, tier, ios, writes)
        };
        let cells = [of("a", 1, 90, 5), of("a", 2, 80, 10), of("b", 1, 95, 0), of("b", 2, 60, 25)];
        let found = findings(&cells, Some(10.0), 1);
        let rows: Vec<_> =
            found.curves.iter().filter_map(|curve| Some((curve, curve.row()?))).collect();
        let names: Vec<_> = rows.iter().map(|(curve, (_, name))| (&*curve.name, *name)).collect();
        let ios = "swap/sweep/storage_ios";
        let writes = "swap/sweep/tier_writes";
        assert_eq!(names, [(ios, "b"), (ios, "a"), (writes, "b"), (writes, "a")]);
        let values = |row: usize| rows[row].0.points.iter().map(|p| (p.x, p.y)).collect::<Vec<_>>();
        assert_eq!(values(0), [(1.0, 0.95), (2.0, 0.6)]);
        assert_eq!(values(3), [(1.0, 0.1), (2.0, 0.2)]);
        let [.., front, all] = &*found.curves else { panic!("there is a front") };
        assert_eq!((front.labels["points"].as_str(), all.points.len()), ("front", 4));
        let points: Vec<_> = front.points.iter().map(|point| (point.x, point.y)).collect();
        assert_eq!(points, [(0.0, 0.95), (0.1, 0.9), (0.2, 0.8), (0.5, 0.6)]);
        let cheap = found.facts.iter().filter(|fact| fact.name == "swap/sweep/cheapest");
        let cheap: Vec<_> = cheap.map(|fact| (&*fact.labels["policy"], fact.value)).collect();
        assert_eq!(cheap, [("b", 95.0), ("a", 180.0)]);
    }
}
