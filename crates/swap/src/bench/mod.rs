//! `unjank swap bench`: the experiment of Bahn & Kim with real memory. The apps of a trace are real
//! processes that touch their pages, under a memory limit, with and without swap; and the same trace
//! goes through the model.
//!
//! | module | subject |
//! |---|---|
//! | [`options`] | what it is made with |
//! | [`arm`] | what is compared: swap, no swap, zram, tiers |
//! | `plan` | who touches which pages, in batches |
//! | [`app`] | an app: a process that touches its pages as it is told |
//! | `message` | what the bench and its apps tell each other |
//! | `stage` | the apps in their control group, and the one to kill |
//! | `surroundings` | swap areas and settings of an arm |
//! | `run` | one run of an arm |
//! | `modelled` | the same through the model |
//! | `skew` | reads of the hottest pages, and of the rest |
//! | `runs` | all runs of an arm, and medians over them |
//! | [`experiment`] | all runs of all arms |
//! | `report`, `charts` | findings |

pub mod app;
pub mod arm;
mod charts;
pub mod experiment;
#[cfg(test)]
mod fixture;
mod message;
mod modelled;
pub mod options;
mod plan;
mod report;
mod run;
mod runs;
mod skew;
mod stage;
mod surroundings;

pub use arm::Arm;
pub use experiment::Experiment;
pub use options::{Options, Programs};

use unjank_cachesim::workload::Workload;
use unjank_host::journal::Session;
use unjank_host::memory::page_size;
use unjank_host::{Error, Result, Root, Support};
use unjank_measure::{Findings, Monitor};

use crate::trace::PAGE;
use plan::Plan;
use run::Measured;

/// Runs all arms in turns, and each through the model.
///
/// # Errors
/// `Unsupported` if an arm is not possible here, or memory cannot be limited; `Permission`; a page
/// that came back with another content.
pub fn run<'a>(
    workload: &'a Workload,
    options: &'a Options,
    programs: &Programs,
    session: &Session,
    root: &Root,
    monitor: &dyn Monitor,
) -> Result<Experiment<'a>> {
    if workload.launches.is_empty() {
        return Err(Error::Invalid("the trace launches no app".to_owned()));
    }
    if page_size().get() != PAGE {
        let why = format!("the trace has pages of {PAGE} bytes, and this kernel others");
        return Err(Error::Unsupported(why));
    }
    for arm in &options.arms {
        options.memory_in(*arm)?;
    }
    let plan = Plan::new(workload);
    if plan.footprint() > message::LAST_PAGE.into() {
        return Err(Error::Invalid("the trace has too many different pages".to_owned()));
    }
    let mut missing = Findings::default();
    let mut measured: Vec<(Arm, Vec<Measured>)> = Vec::new();
    let total = options.arms.len() * options.runs as usize;
    for turn in 0..total {
        let (repeat, place) = (turn / options.arms.len(), turn % options.arms.len());
        // Each arm is first, second … equally often.
        let arm = options.arms[(place + repeat) % options.arms.len()];
        if monitor.stop_requested() {
            break;
        }
        let tell = |share: f64| {
            let done = (turn as f64 + share) / total as f64;
            monitor.progress(done, &format!("{arm}: run {} of {}", repeat + 1, options.runs));
        };
        let place = run::Place { plan: &plan, options, programs, session, root };
        match place.run(arm, &tell, &|| monitor.stop_requested())? {
            Support::Yes(Some(one)) => match measured.iter_mut().find(|(known, _)| *known == arm) {
                Some((_, all)) => all.push(one),
                None => measured.push((arm, vec![one])),
            },
            Support::Yes(None) => break,
            Support::No(reason) if repeat == 0 => {
                missing.not_supported(report::missing(arm), reason);
            }
            Support::No(reason) => missing.warn(format!("a run of {arm} is missing: {reason}")),
        }
    }
    measured.sort_by_key(|(arm, _)| options.arms.iter().position(|wanted| wanted == arm));
    monitor.progress(1.0, "the same through the model");
    let modelled = modelled::all(workload, options, root)?;
    Ok(Experiment { plan, options, measured, modelled, missing })
}
