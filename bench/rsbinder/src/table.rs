//! A table of many runs.

use std::collections::BTreeMap;
use std::io::{self, BufRead};

use crate::Outcome;
use crate::run::{Estimate, Run};

/// Reads runs from standard input, one to a line, and prints a row for each
/// choice of CPUs and devices.
pub fn print() -> Outcome {
    let mut rows: BTreeMap<(bool, String), Vec<Run>> = BTreeMap::new();
    for line in io::stdin().lock().lines() {
        let run: Run = serde_json::from_str(&line?)?;
        let two = run.cpus[0] != run.cpus[1];
        for which in ["both", &run.unjank.device] {
            rows.entry((two, which.to_owned())).or_default().push(run.clone());
        }
    }
    println!(
        "{:4}  {:15}  {:4}  {:>12}  {:>12}  {:22}{:22}p99 ratio",
        "CPUs", "unjank's device", "runs", "rsbinder p50", "unjank p50", "unjank/rsbinder", "floor"
    );
    for ((two, which), runs) in rows {
        let all = |of: &dyn Fn(&Run) -> f64| Estimate::of(runs.iter().map(of).collect());
        println!(
            "{:4}  {which:15}  {:4}  {:>9.1} µs  {:>9.1} µs  {:22}{:22}{}",
            if two { "two" } else { "one" },
            runs.len(),
            all(&|run| run.rsbinder.p50 as f64)?.median / 1e3,
            all(&|run| run.unjank.p50 as f64)?.median / 1e3,
            cell(all(&|run| run.ratio.median)?),
            cell(all(&|run| run.floor.median)?),
            cell(all(&|run| run.unjank.p99 as f64 / run.rsbinder.p99 as f64)?),
        );
    }
    Ok(())
}

fn cell(estimate: Estimate) -> String {
    let interval =
        estimate.interval.map_or("–".to_owned(), |[from, to]| format!("{from:.3}–{to:.3}"));
    format!("{:.3} ({interval})", estimate.median)
}
