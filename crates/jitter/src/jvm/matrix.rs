//! Measures all cells in random order.

use unjank_host::{Error, Result, Root};
use unjank_measure::experiment::{Plan, rounds};
use unjank_measure::{Findings, Monitor};

use super::report;
use super::tables::tables;
use super::trial::Trial;
use super::verdicts::add_verdicts;

pub use super::options::{Options, PATIENCE};

/// Measures every cell once in each round. A cell that cannot be measured is
/// noted as unsupported, with the reason: no such collector in the JVM, a missing
/// privilege, or a failed application. The others are still measured.
///
/// Series: `jitter/jvm/wakeup`, each round a start, with the labels of [`Cell::labels`](super::cell::Cell::labels).
///
/// # Errors
/// The error of the first cell, if no cell could be measured.
pub fn run(options: &Options, root: &Root, monitor: &dyn Monitor) -> Result<Findings> {
    let mut findings = Findings::default();
    let mut trials: Vec<Vec<Trial>> = options.cells.iter().map(|_| Vec::new()).collect();
    run_all(options, root, monitor, &mut trials, &mut findings)?;
    let damaged = |error: unjank_measure::Error| Error::Invalid(error.to_string());
    for (cell, trials) in options.cells.iter().zip(&trials) {
        report::note(cell, trials, &options.load, &mut findings).map_err(damaged)?;
    }
    add_verdicts(options.seed, &mut findings).map_err(damaged)?;
    findings.tables = tables(&findings);
    Ok(findings)
}

fn run_all(
    options: &Options,
    root: &Root,
    monitor: &dyn Monitor,
    trials: &mut [Vec<Trial>],
    findings: &mut Findings,
) -> Result<()> {
    let plan = Plan { pairs: options.rounds, warm_up: 0, seed: options.seed };
    let order: Vec<usize> = rounds(options.cells.len(), &plan).concat();
    let mut refused: Vec<(usize, Error)> = Vec::new();
    for (done, &place) in order.iter().enumerate() {
        let cell = &options.cells[place];
        if monitor.stop_requested() {
            break;
        }
        if refused.iter().any(|(known, _)| *known == place) {
            continue;
        }
        let mut progress = |fraction: f64| {
            let done = (done as f64 + fraction.clamp(0.0, 1.0)) / order.len() as f64;
            monitor.progress(done, &cell.to_string());
        };
        progress(0.0);
        match Trial::run(cell, options, root, monitor, &mut progress) {
            Ok(Some(trial)) => trials[place].push(trial),
            Ok(None) => break,
            Err(error) => refused.push((place, error)),
        }
    }
    if trials.iter().all(Vec::is_empty) && !refused.is_empty() {
        return Err(refused.swap_remove(0).1);
    }
    for (place, error) in refused {
        findings.not_supported(options.cells[place].to_string(), error.to_string());
    }
    Ok(())
}
