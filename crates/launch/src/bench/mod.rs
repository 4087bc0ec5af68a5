//! `unjank launch bench`: the launch time of any program under two or more
//! conditions, in alternating pairs.
//!
//! | module | subject |
//! |---|---|
//! | `options` | programs, how they report that they are ready, and the plan |
//! | `condition` | conditions of a launch: knobs, a service |
//! | [`conditions`] | conditions as users write them |
//! | `shorthand` | short names of knobs of all clocks |
//! | `applied` | applying a condition, and ending it |
//! | `ready` | the ways of being ready, and their detection |
//! | `started` | one program from its start until it is ready, ends or times out |
//! | `pause` | the idle time before a launch |
//! | `launcher` | one launch: pause, start, end |
//! | `running` | the medians so far |
//! | `findings` | from launches to answers |
//! | `metric` | the values in which launches are compared |
//! | `alone` | the launch time under one condition, without a comparison |
//! | `rows`, `tables` | the answers as rows of a table |

mod alone;
mod applied;
mod condition;
pub mod conditions;
mod findings;
mod launcher;
mod metric;
mod options;
mod pause;
mod ready;
mod rows;
mod running;
pub(crate) mod shorthand;
mod started;
mod tables;

pub use condition::{Condition, Service};
pub use findings::any_condition_failed;
pub use options::{Options, Program, ReadyMeans, Workload};
#[cfg(fuzzing)]
pub use ready::shows_window_for_fuzzing;
pub use ready::{Patience, Ready};
pub use rows::{Row, rows};
pub use started::{Ending, Started, WaitResult};
pub(crate) use tables::{change, median};

use unjank_host::energy::Meter;
use unjank_host::journal::Session;
use unjank_host::{Error, Result, Root};
use unjank_measure::experiment::{Arm, Plan};
use unjank_measure::monitor::Part;
use unjank_measure::{Findings, Monitor};

use crate::power::notes;
use findings::Comparison;
use launcher::{Launch, LaunchEnd, Launcher};
use running::RunningMedians;

/// Launches every workload under the baseline and each of the other conditions,
/// in alternating pairs, and compares them.
///
/// `session` restores the conditions' knobs; it is needed if there are any. With
/// a `meter`, the energy of each launch is measured, too.
///
/// Series: `launch/bench/…/total`, and `launch/bench/…/basic` for programs
/// that report the time of their generated load; each with the label `arm`.
/// Facts: the medians, and the differences within pairs as shares; the same for
/// `launch/bench/…/energy`. For a condition that is compared with itself
/// ([`Condition::again`]), `launch/bench/…/noise_floor`. If the baseline is
/// [only measured](Options::is_alone), there are one series, a table with its
/// median, the noise floor and a headline.
///
/// # Errors
/// `Invalid` options; a program that does not start, or ends before it is
/// ready, the first time; knobs that cannot be changed.
pub fn run(
    options: &Options,
    session: Option<&Session>,
    root: &Root,
    mut meter: Option<&mut dyn Meter>,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<Findings> {
    options.check()?;
    let mut findings = Findings::default();
    let origin = meter.as_ref().map(|meter| meter.about().origin);
    if let Some(meter) = &meter {
        notes::about(meter.about(), &mut findings);
    }
    let plans = options.workloads.len() * options.others.len();
    let mut plan_number = 0;
    for other in &options.others {
        let mut comparison = Comparison::new(options, other, origin, seed);
        for (place, workload) in options.workloads.iter().enumerate() {
            let part = Part::of_equal(monitor, &workload.name, plan_number, plans);
            plan_number += 1;
            // Another seed for each workload: another order of conditions.
            let plan =
                Plan { pairs: options.pairs, warm_up: options.warm_up, seed: seed ^ place as u64 };
            let lent = meter.as_mut().map(|meter| &mut **meter as &mut dyn Meter);
            let mut launcher = Launcher::new(options, workload, session, root, lent, plan.seed);
            let running = RunningMedians::new(&part, other.is_baseline);
            let mut trials = plan.run(&running, |arm| {
                let condition = if arm == Arm::A { &options.baseline } else { other };
                let launch = launcher.launch(condition, &part)?;
                check_first(&launch, launcher.launches(), options, workload)?;
                let counts = launch.end != LaunchEnd::Interrupted;
                if counts && launcher.launches() > 2 * options.warm_up {
                    running.add(arm, launch.total);
                }
                Ok::<_, Error>(launch)
            })?;
            // Ctrl-C in the middle of a launch leaves half a pair.
            trials.pairs.retain(|pair| {
                [&pair.a, &pair.b].iter().all(|launch| launch.end != LaunchEnd::Interrupted)
            });
            comparison.add(workload, trials);
        }
        comparison.note(&mut findings);
    }
    let is_cold = options.others.iter().chain([&options.baseline]).any(|it| it.is_cold);
    if options.drop_caches || is_cold {
        findings.warn(
            "before each launch all files were written to storage and dropped from memory \
             (drop_caches); other programs had to read them again",
        );
    }
    let tables = tables::tables(&findings);
    findings.tables.extend(tables);
    Ok(findings)
}

/// Fails if the very first launch is not ready: a wrong option is likelier than
/// a slow program.
fn check_first(
    launch: &Launch,
    launches: usize,
    options: &Options,
    workload: &Workload,
) -> Result<()> {
    let said =
        |text: &str| if text.is_empty() { String::new() } else { format!("; it said: {text}") };
    match &launch.end {
        LaunchEnd::Died { status, stderr } if launches == 1 => Err(Error::Invalid(format!(
            "{} ended ({status}) before it was ready ({}){}",
            workload.program.name(),
            workload.program.ready,
            said(stderr)
        ))),
        LaunchEnd::TimedOut { stderr } if launches == 1 => Err(Error::Invalid(format!(
            "{} was not ready ({}) within {} when launched for the first time{}",
            workload.program.name(),
            workload.program.ready,
            options.timeout,
            said(stderr)
        ))),
        _ => Ok(()),
    }
}
