//! `unjank lock bench --pool`: compares thread pools for work that comes one
//! piece at a time.
//!
//! | module | subject |
//! |---|---|
//! | [`pool`], [`sleep_loops`] | the compared pools |
//! | [`options`] | options, and how long a run takes |
//! | `work` | a piece of work |
//! | `trial` | one measurement: a thread gives work to a pool in steady gaps |
//! | [`results`] | measurements, table and verdicts |
//! | [`paper`] | the idle workers of Olivas and Chynoweth |

pub mod options;
pub mod paper;
pub mod pool;
pub mod results;
pub mod sleep_loops;
mod trial;
mod work;

use unjank_measure::experiment::rounds;
use unjank_measure::{Findings, Monitor, Plan};

use crate::energy::TrialMeter;
use crate::error::Result;
pub use options::Options;
pub use pool::PoolKind;
pub use results::{Cell, Results};

/// Runs a trial of every pool with every gap, round by round. The order is random,
/// and reversed in every second round. `meter` measures the power of trials. A request to stop ends the run after the
/// current trial.
///
/// # Errors
/// `Invalid` options; a thread that cannot be started.
pub fn run(
    options: &Options,
    meter: &TrialMeter,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<(Results, Findings)> {
    options.check()?;
    let plan = Plan { pairs: options.rounds, warm_up: 0, seed };
    let mut results = Results::new(options, plan);
    let all = options.gaps.len() * options.rounds * options.pools.len();
    let mut done = 0_usize;
    for cell in &mut results.cells {
        for order in rounds(options.pools.len(), &plan) {
            let mut round = Vec::new();
            for place in order {
                if monitor.stop_requested() {
                    break;
                }
                let pool = options.pools[place];
                let progress = done as f64 / all as f64;
                monitor.progress(progress, &format!("{} every {}", pool.name(), cell.gap));
                let energy = || meter.read();
                let trial = trial::run(pool, options.threads, cell.gap, options.trial, &energy)?;
                round.push((place, trial));
                done += 1;
            }
            cell.add(round);
        }
    }
    let mut findings = Findings::default();
    if monitor.stop_requested() {
        findings.warn("interrupted: gaps may have fewer rounds than requested, or none");
    }
    results.note(&mut findings);
    Ok((results, findings))
}
