//! Launches of a program, recorded and explained.

use anyhow::Result;
use unjank_host::files::Destination;
use unjank_host::sched::ThreadId;
use unjank_host::swap_area::Area;
use unjank_host::tracefs::Tracefs;
use unjank_host::tracefs::trace_file::Annex;
use unjank_host::{Nanos, Root, Timestamp, page_cache};
use unjank_launch::bench::Ready;
use unjank_measure::Monitor;
use unjank_why::history::History;
use unjank_why::record::{Kept, Recorded, Recording, StacksOf, Wanted};
use unjank_why::report::{self, About, Clocks, Explained, Family, Launches};

use super::about::know_server;
use super::clocks::ClockReader;
use super::launch::{self, Launch, Plan};
use super::window::{FOREIGN, memory_was_full};
use super::{files, kernel};
use crate::interrupt;

/// The end of a program is worth a warning from this time on, and from this part of the launch on.
const NOTABLE: Nanos = Nanos::from_millis(2);
const NOTABLE_SHARE: u64 = 20;

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
    let clocks = ClockReader::new(root);
    let mut launches = Launches::new(plan.memory, about).until(interrupt::stop());
    let mut longest = Nanos::ZERO;
    for number in 0..plan.launches {
        monitor.progress(f64::from(number) / f64::from(plan.launches), "launching");
        let end = Timestamp::now() + plan.gap + longest;
        if plan.until.is_some_and(|until| !until.allows(number, end)) {
            break;
        }
        if plan.is_cold {
            page_cache::drop_clean(root)?;
        }
        if number > 0 && !launch::pause(plan, monitor) {
            break;
        }
        let begun = Timestamp::now();
        let clocks = clocks.read();
        let swap = files::swap(root);
        let recording = start(plan, root, tracefs)?;
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
        let explained = explain(plan, root, &launch, recorded, (clocks, swap), kept)?;
        let Some(explained) = explained else { break };
        launches.add(explained, size);
        longest = longest.max(Timestamp::now().since(begun));
    }
    Ok(launches)
}

/// Begins to record what this thread launches.
pub(super) fn start(plan: &Plan, root: &Root, tracefs: &Tracefs) -> Result<Recording> {
    let threads = &[ThreadId::current()];
    let memory = plan.memory;
    let stacks = if plan.stacks { StacksOf::NextPrograms } else { StacksOf::Nobody };
    Ok(Recording::start(tracefs, root, &Wanted { threads, memory, stacks })?)
}

/// Explains a launch; `None` if the user wants to stop.
fn explain(
    plan: &Plan,
    root: &Root,
    launch: &Launch,
    recorded: Recorded,
    (clocks, swap): (Clocks, Vec<Area>),
    kept: Option<(Kept, Destination)>,
) -> Result<Option<Explained>> {
    let Recorded { trace, full_at, stacks, .. } = recorded;
    let process = launch.process;
    let family = Family::of(&trace, process, launch.ready());
    let from = report::first_exec(&trace, process).unwrap_or(launch.began);
    let asked_to_end = interrupt::stop();
    let Some(history) = History::until(&trace, &asked_to_end) else {
        // What was recorded is whole.
        if let Some((kept, to_file)) = kept {
            let window = (from, launch.ready());
            kept.write(to_file, &trace, annex((process, process), window, &clocks))?;
        }
        return Ok(None);
    };
    let is_whole = full_at.is_none_or(|full| full >= launch.ready());
    let step = launch.noticed.filter(|_| is_whole).and_then(|noticed| {
        report::last_step(&trace, &history, &family, noticed, (from, launch.ready()))
    });
    // Without a step the program is explained up to its end, or until it was ready.
    let last = family.last_of_process().unwrap_or(process);
    let end = (last, family.end_of(last).unwrap_or(launch.ready()));
    let (thread, ready) = step.map_or(end, |step| (step.thread, step.at));
    let to = full_at.map_or(ready, |full| full.min(ready)).max(from);
    let annex = annex((process, thread), (from, to), &clocks);
    let at_exit = matches!(plan.program.ready, Ready::Exit);
    let (threads, window) = ((process, thread), (from, to));
    let explained = Explained::of_program(trace, history, threads, window, clocks, &asked_to_end);
    let mut explained = match explained {
        Ok(explained) => explained,
        Err(trace) => {
            if let Some((kept, to_file)) = kept {
                kept.write(to_file, &trace, annex)?;
            }
            return Ok(None);
        }
    };
    explained.know_swap(swap);
    explained.name_functions(kernel::names(root, &explained));
    explained.name_files(files::names(root, &explained));
    know_server(&mut explained, root);
    if let Some(stacks) = stacks {
        let threads = explained.threads_on_path();
        explained.add_stacks(stacks.map(|records| records.stacks_of(root, &threads)));
    }
    if let Some((kept, to_file)) = kept {
        let annex = Annex {
            functions: explained.functions().clone(),
            swap: explained.swap().to_vec(),
            files: explained.files().clone().into_iter().collect(),
            ..annex
        };
        kept.write(to_file, explained.trace(), annex)?;
    }
    if let Some(failure) = launch.failure() {
        explained.warn(failure);
    }
    if launch.is_foreign {
        explained.warn(FOREIGN);
    }
    if to < ready {
        explained.cut_short(memory_was_full(plan.memory, to.since(from)));
    }
    match step {
        Some(step) => {
            if let Some(rest) = step.rest(&explained, launch.ready()) {
                explained.warn(rest);
            }
        }
        None if thread != process && !family.first_has_left() => {
            explained.warn("another thread than the first one ended the program, and is explained");
        }
        None if thread != process => explained.warn(format!(
            "the program's first thread ended {} before its last one, which is explained",
            family.end_of(thread).unwrap_or(to).since(family.end_of(process).unwrap_or(to))
        )),
        None if !at_exit && is_whole => explained.warn(format!(
            "the recording does not show what made the program ready: its first thread is \
             explained{}",
            match launch.ready().since(ready) {
                Nanos::ZERO => String::new(),
                rest => format!(", which ended {rest} before"),
            }
        )),
        None if at_exit && is_whole => {
            if let Some(rest) = rest_of_end(&explained, launch.ready().since(ready)) {
                explained.warn(rest);
            }
        }
        None => {}
    }
    let running = family.running_elsewhere();
    if at_exit && full_at.is_none() && running > 0 {
        explained.warn(format!(
            "processes that it started ran on after its end (threads: {running}); to explain the \
             time until a service is ready, use --ready"
        ));
    }
    Ok(Some(explained))
}

/// A warning if a program that ended needed much longer until all of it was gone.
fn rest_of_end(explained: &Explained, rest: Nanos) -> Option<String> {
    let notable = rest >= NOTABLE && rest.get() >= explained.total().get() / NOTABLE_SHARE;
    notable.then(|| {
        format!("it took another {rest} until its end was seen: its memory was freed, files closed")
    })
}

/// What an explanation needs beyond the events.
fn annex(
    (first, thread): (ThreadId, ThreadId),
    (from, to): (Timestamp, Timestamp),
    clocks: &Clocks,
) -> Annex {
    Annex {
        thread: thread.0,
        first: first.0,
        window: [from, to].map(Timestamp::as_nanos),
        highest_khz: clocks.highest.clone(),
        start_khz: clocks.at_start.clone(),
        ..Annex::default()
    }
}
