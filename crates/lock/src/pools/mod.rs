//! `unjank lock bench --pool`: thread pools against each other, for work that
//! comes one piece at a time.
//!
//! | module | subject |
//! |---|---|
//! | [`peers`] | what is compared: one table |
//! | [`options`] | what is varied, and how long that takes |
//! | `visit` | a thread that gives work to a pool, in steady gaps |
//! | [`results`] | what was measured, and what it says |

pub mod options;
pub mod peers;
pub mod results;
mod visit;

use unjank_measure::experiment::rounds;
use unjank_measure::{Findings, Monitor, Plan};

use crate::error::Result;
pub use options::Options;
pub use peers::Kind;
pub use results::{Cell, Results};

/// Visits every pool with every gap, round by round, each round in an order
/// that chance has drawn and every second one backwards. A request to stop ends
/// it after the visit under way.
///
/// # Errors
/// `Invalid` options; a thread that cannot be started.
pub fn run(options: &Options, seed: u64, monitor: &dyn Monitor) -> Result<Findings> {
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
                round.push((place, visit::run(pool, options.threads, cell.gap, options.visit)?));
                done += 1;
            }
            cell.add(round);
        }
    }
    let mut findings = Findings::default();
    if monitor.stop_requested() {
        findings.warn("interrupted: gaps may have fewer rounds than were asked for, or none");
    }
    results.note(&mut findings);
    Ok(findings)
}
