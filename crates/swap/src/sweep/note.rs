//! What came of all cells, as findings.

use std::collections::BTreeMap;

use unjank_measure::record::{Axis, Curve, Point};
use unjank_measure::{Fact, Findings, Unit};

use super::cell::Cell;
use super::front::front;

/// Curves of storage I/O over the size of the tier, one for each trace, memory
/// and policy; and the Pareto front of each trace and memory.
pub fn findings(cells: &[Cell]) -> Findings {
    let mut findings = Findings::default();
    findings.facts.push(Fact::new("swap/sweep/cells", cells.len() as f64, Unit::Count));
    let mut together: BTreeMap<(&str, u64), Vec<&Cell>> = BTreeMap::new();
    for cell in cells {
        together.entry((&cell.place.trace, cell.place.memory)).or_default().push(cell);
    }
    for ((trace, memory), cells) in together {
        let labels = |policy: &str| {
            let mut labels: BTreeMap<String, String> = [
                ("trace".to_owned(), trace.to_owned()),
                ("policy".to_owned(), policy.to_owned()),
                ("origin".to_owned(), "modelled".to_owned()),
            ]
            .into();
            if memory > 0 {
                labels.insert("memory".to_owned(), unjank_host::Bytes(memory).to_string());
            }
            labels
        };
        let mut policies: Vec<&str> = cells.iter().map(|cell| &*cell.place.policy).collect();
        policies.sort_unstable();
        policies.dedup();
        for policy in policies {
            let mut of_policy: Vec<&&Cell> =
                cells.iter().filter(|cell| cell.place.policy == policy).collect();
            of_policy.sort_by_key(|cell| cell.place.tier);
            let points = of_policy.iter().map(|cell| Point {
                x: cell.place.tier as f64,
                y: cell.storage_ios() as f64,
                interval: None,
            });
            findings.curves.push(Curve {
                name: "swap/sweep/storage_ios".to_owned(),
                x: Axis::new("size of the tier", Unit::Bytes),
                y: Axis::new("storage reads and writes", Unit::Pages),
                labels: labels(policy),
                points: points.collect(),
            });
        }
        let best = front(cells.iter().copied());
        for cell in &best {
            let policy = format!("{} {}", cell.place.policy, unjank_host::Bytes(cell.place.tier));
            for (name, value) in
                [("storage_ios", cell.storage_ios()), ("tier_writes", cell.tier_writes)]
            {
                let name = format!("swap/sweep/pareto/{name}");
                let mut fact = Fact::new(name, value as f64, Unit::Pages);
                fact.labels = labels(&policy);
                findings.facts.push(fact);
            }
        }
        let point = |cell: &&Cell| Point {
            x: cell.tier_writes as f64,
            y: cell.storage_ios() as f64,
            interval: None,
        };
        findings.curves.push(Curve {
            name: "swap/sweep/pareto".to_owned(),
            x: Axis::new("writes of the tier", Unit::Pages),
            y: Axis::new("storage reads and writes", Unit::Pages),
            labels: labels("the best of all"),
            points: best.iter().map(point).collect(),
        });
    }
    findings
}
