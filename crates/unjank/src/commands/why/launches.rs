//! Launches of a program: recorded and explained, or counted only.

use anyhow::Result;
use unjank_host::files::Destination;
use unjank_host::process::usage::Usage;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::Tracefs;
use unjank_host::{Nanos, Root, Timestamp, clock, page_cache, threads};
use unjank_measure::{Findings, Monitor};
use unjank_why::cost::{self, Trial};
use unjank_why::live::{RecordedLaunch, StateReader};
use unjank_why::record::{Recording, RecordingOptions, StacksOf};
use unjank_why::report::{About, Launches};
use unjank_why::unrecorded::{self, Counted};

use super::launch::{self, Plan};
use crate::interrupt;

/// Launches the program as often as asked, unless interrupted. Each recording is
/// explained before the next launch. The recording of the first launch is kept in a
/// file.
pub(crate) fn record(
    plan: &Plan,
    about: &About,
    root: &Root,
    tracefs: &Tracefs,
    mut keep: Option<Destination>,
    monitor: &dyn Monitor,
) -> Result<Launches> {
    let machine = StateReader::new(root);
    let mut launches = Launches::new(plan.memory, about).until(interrupt::stop());
    let mut longest = Nanos::ZERO;
    for number in 0..plan.launches {
        monitor.progress(f64::from(number) / f64::from(plan.launches), "launching");
        let end = Timestamp::now() + plan.gap + longest;
        if plan.until.is_some_and(|until| !until.allows(number, end)) {
            break;
        }
        if number > 0 && !plan.is_cold && !launch::pause(plan, monitor) {
            break;
        }
        let begun = Timestamp::now();
        let recording = start(plan, root, tracefs)?;
        // After the start: the recording has every later change of a clock.
        let before = machine.read();
        if plan.is_cold {
            // Starting a recording reads libraries that the program needs as well.
            page_cache::drop_clean(root)?;
            if !launch::pause(plan, monitor) {
                break;
            }
        }
        let ready = launch::once(plan, monitor, |_| {
            if keep.is_none() {
                return Ok((recording.finish()?, None));
            }
            let (recorded, kept) = recording.finish_keeping()?;
            Ok((recorded, Some(kept)))
        })?;
        let Some((launch, (recorded, kept))) = ready else { break };
        let kept = kept.zip(keep.take());
        let size = recorded.size;
        let recorded = RecordedLaunch { launch, recorded, before, memory: plan.memory };
        let Some(explained) = recorded.explain(kept, root, &interrupt::stop())? else { break };
        launches.add(explained, size);
        if launch.is_unended {
            // Others would take as long.
            break;
        }
        longest = longest.max(Timestamp::now().since(begun));
    }
    Ok(launches)
}

/// Launches the program in pairs, with and without a recording.
pub(super) fn cost(
    plan: &Plan,
    root: &Root,
    tracefs: &Tracefs,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<Findings> {
    cost::measure(plan.launches as usize, seed, monitor, |is_recorded| {
        if !launch::pause(plan, monitor) {
            return Ok(None);
        }
        let launched = if is_recorded {
            let recording = start(plan, root, tracefs)?;
            launch::once(plan, monitor, |_| Ok(recording.finish()?.trace.len()))?
        } else {
            launch::once(plan, monitor, |_| Ok(0))?
        };
        Ok(launched.map(|(launch, events)| Trial { took: launch.took, events }))
    })
}

/// Launches the program as often as asked; `reason` is why nothing is recorded.
pub(super) fn count(
    plan: &Plan,
    root: &Root,
    reason: &str,
    monitor: &dyn Monitor,
) -> Result<Findings> {
    let mut launches = Vec::new();
    let mut warnings = Vec::new();
    for number in 0..plan.launches {
        monitor.progress(f64::from(number) / f64::from(plan.launches), "launching");
        if number > 0 && !launch::pause(plan, monitor) {
            break;
        }
        let before = Usage::of_ended_children()?;
        let delay = |process: ThreadId| Ok(threads::run_delay(root, process.0, process));
        let Some((launch, delay)) = launch::once(plan, monitor, delay)? else { break };
        let used = Usage::of_ended_children()?.since(before);
        warnings.extend(launch.warnings());
        launches.push(Counted { took: launch.took, used, delay });
    }
    let mut findings = unrecorded::launches(launches, clock::tick(), reason);
    for warning in warnings {
        findings.warn(warning);
    }
    Ok(findings)
}

/// Begins to record what this thread launches.
fn start(plan: &Plan, root: &Root, tracefs: &Tracefs) -> Result<Recording> {
    let threads = &[ThreadId::current()];
    let memory = plan.memory;
    let stacks = if plan.stacks { StacksOf::NextPrograms } else { StacksOf::Nobody };
    Ok(Recording::start(tracefs, root, &RecordingOptions { threads, memory, stacks })?)
}
