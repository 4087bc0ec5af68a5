//! `unjank lock bench --pool`: thread pools against each other.

use std::cell::RefCell;
use std::process::ExitCode;

use anyhow::Result;
use unjank_host::sched::CpuSet;
use unjank_lock::pools::{self, Cell, Options, Results};
use unjank_report::Detail;

use super::{Args, replace};
use crate::commands::measured::{self, Settings};
use crate::output::{self, columns};

/// Measures and prints.
pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let options = options(args)?;
    options.check()?;
    output::remark(&format!(
        "{} pools of {} threads, {} gaps, {} rounds: about {}",
        options.pools.len(),
        options.threads,
        options.gaps.len(),
        options.rounds,
        options.duration()
    ));
    let gaps: Vec<u64> = options.gaps.iter().map(|gap| gap.get()).collect();
    let command = measured::Command {
        name: "lock bench",
        output: &args.output,
        settings: Settings::default()
            .with("pool", true)
            .with("threads", options.threads)
            .with("gap", gaps)
            .with("rounds", options.rounds)
            .with("cell", options.visit.get()),
        detail: Detail::Answers,
    };
    let table = RefCell::new(String::new());
    let code = command.run_and_print(
        |_, seed, monitor| {
            let (results, findings) = pools::run(&options, seed, monitor)?;
            *table.borrow_mut() = text(&results);
            Ok(findings)
        },
        |record| {
            let answers = unjank_report::terminal(record, &output::terminal_style(Detail::Answers));
            Some(format!("{}\n\n{}", answers.trim_end(), table.borrow()))
        },
    )?;
    Ok(ExitCode::from(code))
}

fn options(args: &Args) -> Result<Options> {
    let cpus = CpuSet::allowed()?.len();
    let mut options = if args.quick { Options::quick(cpus) } else { Options::usual(cpus) };
    replace(&mut options.gaps, &args.gap);
    options.rounds = args.rounds.unwrap_or(options.rounds);
    options.visit = args.cell.unwrap_or(options.visit);
    Ok(options)
}

/// A line for each gap and pool.
fn text(results: &Results) -> String {
    let rows: Vec<Vec<String>> = results
        .cells
        .iter()
        .flat_map(|cell| {
            results.pools.iter().enumerate().filter_map(|(place, pool)| {
                let [median, tail, longest] = [0.5, 0.99, 1.0].map(|q| shown(cell, place, q));
                let (cpus, interval) = cell.cpus(place)?;
                let cpus = interval.map_or_else(
                    || format!("{cpus:.3}"),
                    |[low, high]| format!("{cpus:.3} ({low:.3}–{high:.3})"),
                );
                Some(vec![
                    cell.gap.to_string(),
                    pool.name().to_owned(),
                    median,
                    tail,
                    longest,
                    cpus,
                ])
            })
        })
        .collect();
    let header = ["work every", "pool", "median", "p99", "longest", "CPUs used"].map(str::to_owned);
    let mut lines =
        vec!["From giving work until it begins, and CPUs that the pool uses:".to_owned()];
    lines.extend(columns(&rows, &header));
    lines.join("\n")
}

fn shown(cell: &Cell, pool: usize, q: f64) -> String {
    cell.latency(pool, q).map_or_else(String::new, |latency| latency.to_string())
}
