//! All cells in turn, in an order drawn by chance.

use unjank_host::{Error, Result, Root};
use unjank_measure::experiment::{Plan, rounds};
use unjank_measure::{Findings, Monitor};

use super::judge::judge;
use super::report;
use super::tables::tables;
use super::visit::Visit;

pub use super::options::Options;

/// Measures all cells, in each round one after the other. A cell that cannot be
/// had here is noted as unsupported, with what is missing: the collector in its
/// JVM, the privilege of this user, or an application that came to its end. The
/// others are still measured.
///
/// Series: `jitter/jvm/wakeup`, with the labels of [`Cell::labels`](super::cell::Cell::labels).
///
/// # Errors
/// That of the first cell, if not one could be measured.
pub fn run(options: &Options, root: &Root, monitor: &dyn Monitor) -> Result<Findings> {
    let mut findings = Findings::default();
    let mut visits: Vec<Vec<Visit>> = options.cells.iter().map(|_| Vec::new()).collect();
    visit_all(options, root, monitor, &mut visits, &mut findings)?;
    for (cell, visits) in options.cells.iter().zip(&visits) {
        report::note(cell, visits, &options.load, &mut findings);
    }
    judge(options.seed, &mut findings).map_err(|error| Error::Invalid(error.to_string()))?;
    findings.tables = tables(&findings);
    Ok(findings)
}

fn visit_all(
    options: &Options,
    root: &Root,
    monitor: &dyn Monitor,
    visits: &mut [Vec<Visit>],
    findings: &mut Findings,
) -> Result<()> {
    let dir = tempfile::tempdir().map_err(|error| Error::file("make", "a directory", error))?;
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
        match Visit::to(cell, options, dir.path(), root, monitor, &mut progress) {
            Ok(Some(visit)) => visits[place].push(visit),
            Ok(None) => break,
            Err(error) => refused.push((place, error)),
        }
    }
    if visits.iter().all(Vec::is_empty) && !refused.is_empty() {
        return Err(refused.swap_remove(0).1);
    }
    for (place, error) in refused {
        findings.not_supported(options.cells[place].to_string(), error.to_string());
    }
    Ok(())
}
