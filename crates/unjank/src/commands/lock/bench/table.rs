//! What people read of a comparison: each strategy in each cell, and where each
//! of them loses.

use unjank_host::Nanos;
use unjank_lock::bench::{Arm, CellResult, Compared, Outcome, Overall, Ratio, Results, paper};

use crate::output::columns;

/// What the marks and columns mean.
const LEGEND: [&str; 7] = [
    "+ won, − lost: the 95 % interval over rounds does not hold 1.",
    "ceiling: what no lock can exceed, because threads without a lock do no more, or because",
    "sections follow each other.",
    "no lock: the longest time between two operations of threads that take none, on a CPU or",
    "waiting for one. Waits up to that are the scheduler's.",
    "Wasted: what exceeds the CPU time of the same work without a lock, and of a lock that nobody",
    "else wants.",
];

/// Tables of each environment, and the cells that each strategy loses.
pub(super) fn text(results: &Results, is_paper: bool) -> String {
    let mut lines = Vec::new();
    for environment in results.environments() {
        let cells: Vec<&CellResult> =
            results.cells.iter().filter(|cell| cell.environment == environment).collect();
        let against = results.against.join(" and ");
        let rival = match results.against.len() {
            1 => against,
            _ => format!("the better of {against}"),
        };
        lines.push(format!(
            "{environment}: operations per second relative to {rival} (CPU time per operation)"
        ));
        lines.extend(relative(results, &cells, is_paper));
        lines.push(String::new());
        lines.push(format!("{environment}: longest wait (99.9th percentile)"));
        lines.extend(waits(results, &cells, is_paper));
        lines.push(String::new());
        lines.push(format!("{environment}: CPU time wasted (Jain's index of fairness)"));
        lines.extend(shares(results, &cells, is_paper));
        lines.push(String::new());
        for strategy in results.strategies() {
            let overall = results.overall(environment, strategy);
            let rivals = |overall: &&Overall<'_>| {
                overall.cells.iter().any(|cell| !cell.is_own(overall.strategy))
            };
            lines.extend(overall.iter().filter(rivals).flat_map(lost));
        }
        lines.push(String::new());
    }
    if !lines.is_empty() {
        lines.extend(LEGEND.map(str::to_owned));
    }
    lines.join("\n")
}

/// Cells down, strategies across: ratios.
fn relative(results: &Results, cells: &[&CellResult], is_paper: bool) -> Vec<String> {
    let strategies = results.strategies();
    let rows = cells.iter().map(|cell| {
        let yardstick = cell.yardstick(&results.against).map_or_else(String::new, |arm| {
            let rate = arm.mean(|round| round.operations);
            format!("{} {}", arm.strategy.name, rate_text(rate))
        });
        let ratios = strategies.iter().map(|strategy| {
            let compared = results.compare(cell, strategy);
            compared.map_or_else(String::new, |compared| ratio_text(&compared, strategy))
        });
        let ceiling = results.ceiling(cell).map(times).unwrap_or_default();
        place(cell, is_paper).into_iter().chain([yardstick, ceiling]).chain(ratios).collect()
    });
    let rows: Vec<Vec<String>> = rows.collect();
    columns(&rows, &header(&["1 is", "ceiling"], &strategies))
}

/// Cells down, strategies across: waits.
fn waits(results: &Results, cells: &[&CellResult], is_paper: bool) -> Vec<String> {
    let strategies = results.strategies();
    let wait = |nanos: Option<f64>| nanos.map(|nanos| Nanos(nanos as u64).to_string());
    let rows = cells.iter().map(|cell| {
        let floor = wait(cell.control.wait(1.0)).unwrap_or_default();
        let waits = strategies.iter().map(|strategy| {
            let arm = cell.arm(strategy);
            let ends = arm.and_then(|arm| Some((wait(arm.wait(1.0))?, wait(arm.wait(0.999))?)));
            ends.map_or_else(String::new, |(longest, tail)| format!("{longest} ({tail})"))
        });
        place(cell, is_paper).into_iter().chain([floor]).chain(waits).collect()
    });
    let rows: Vec<Vec<String>> = rows.collect();
    columns(&rows, &header(&["no lock"], &strategies))
}

/// Cells down, strategies across: how CPU time was used, and by whom.
fn shares(results: &Results, cells: &[&CellResult], is_paper: bool) -> Vec<String> {
    let strategies = results.strategies();
    let rows = cells.iter().map(|cell| {
        let shares = strategies.iter().map(|strategy| {
            let arm = cell.arm(strategy);
            let cost = results.uncontended.get(strategy);
            let wasted = arm.zip(cost).and_then(|(arm, &cost)| cell.wasted(arm, cost));
            let Some(wasted) = wasted else { return String::new() };
            let fairness = arm.and_then(Arm::fairness).map(|fairness| format!("{fairness:.2}"));
            format!("{:.0} % ({})", wasted * 100.0, fairness.as_deref().unwrap_or("–"))
        });
        place(cell, is_paper).into_iter().chain(shares).collect()
    });
    let rows: Vec<Vec<String>> = rows.collect();
    columns(&rows, &header(&[], &strategies))
}

fn header(before: &[&str], strategies: &[&str]) -> Vec<String> {
    let places = ["threads", "held", "outside"];
    let names = places.iter().chain(before).chain(strategies);
    names.map(|name| (*name).to_owned()).collect()
}

/// Which cell it is.
fn place(cell: &CellResult, is_paper: bool) -> [String; 3] {
    let cell = cell.cell;
    let outside = if is_paper {
        format!("{} {}", paper::grain(cell.outside), cell.outside)
    } else {
        cell.outside.to_string()
    };
    [cell.threads.to_string(), cell.section.to_string(), outside]
}

/// `1.31+ (0.88)`: operations and whether they are won, CPU time.
fn ratio_text(compared: &Compared<'_>, strategy: &str) -> String {
    if compared.is_own(strategy) {
        return "1".to_owned();
    }
    let mark = match compared.operations.outcome() {
        Outcome::Won => "+",
        Outcome::Lost => "−",
        Outcome::CannotTell => " ",
    };
    let (operations, cpu) = (compared.operations.value, compared.cpu_time.value);
    format!("{}{mark} ({})", times(operations), times(cpu))
}

/// Three significant digits, however small.
fn times(ratio: f64) -> String {
    match ratio {
        100.0.. => format!("{ratio:.0}"),
        10.0.. => format!("{ratio:.1}"),
        0.1.. => format!("{ratio:.2}"),
        0.001.. => format!("{ratio:.3}"),
        _ => format!("{ratio:.0e}"),
    }
}

/// `12.3 M/s`.
fn rate_text(rate: f64) -> String {
    let (scaled, prefix) = match rate {
        1e6.. => (rate / 1e6, " M"),
        1e3.. => (rate / 1e3, " k"),
        _ => (rate, " "),
    };
    format!("{scaled:.1}{prefix}/s")
}

/// A strategy's sum, and the cells that it loses, the worst first.
fn lost(overall: &Overall<'_>) -> Vec<String> {
    let mut lost: Vec<&Compared<'_>> = overall.with(Outcome::Lost).collect();
    let count = |outcome| overall.with(outcome).count();
    let (won, open) = (count(Outcome::Won), count(Outcome::CannotTell));
    let own = overall.cells.iter().filter(|cell| cell.is_own(overall.strategy)).count();
    let own = if own > 0 { format!(", is the yardstick of {own}") } else { String::new() };
    let mut lines = vec![format!(
        "{}, {}: {} ({}), CPU time {} ({}); {won} won, {} lost, {open} cannot tell{own}",
        overall.strategy,
        overall.environment,
        times(overall.operations.value),
        interval(overall.operations),
        times(overall.cpu_time.value),
        interval(overall.cpu_time),
        lost.len()
    )];
    lost.sort_by(|one, other| one.operations.value.total_cmp(&other.operations.value));
    for compared in lost {
        lines.push(format!(
            "  lost: {} ({}) to {} with {}",
            times(compared.operations.value),
            interval(compared.operations),
            compared.yardstick.strategy.name,
            compared.cell.cell
        ));
    }
    lines
}

fn interval(ratio: Ratio) -> String {
    let ends = ratio.interval.map(|ends| ends.map(times).join("–"));
    ends.unwrap_or_else(|| "too few rounds for an interval".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_keep_their_digits() {
        let shown: Vec<String> =
            [123.4, 12.34, 1.234, 0.1234, 0.01234, 0.000_123_4].into_iter().map(times).collect();
        assert_eq!(shown, ["123", "12.3", "1.23", "0.12", "0.012", "1e-4"]);
        assert_eq!(rate_text(12_345_678.0), "12.3 M/s");
        assert_eq!(rate_text(1_234.0), "1.2 k/s");
        assert_eq!(rate_text(7.0), "7.0 /s");
    }

    #[test]
    fn nothing_measured_leaves_nothing() {
        let results = Results {
            against: vec!["std", "parking_lot"],
            cells: Vec::new(),
            uncontended: std::collections::BTreeMap::new(),
            seed: 1,
        };
        assert_eq!(text(&results, false), "");
    }
}
