//! A launch of a program, explained.

use std::process::ExitStatus;

use unjank_host::files::Destination;
use unjank_host::input::Stop;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::Trace;
use unjank_host::tracefs::trace_file::Annex;
use unjank_host::{Bytes, Nanos, Result, Root, Timestamp};

use super::machine::{FOREIGN, State, memory_was_full, name, stolen, throttled};
use crate::exec::first_exec;
use crate::history::History;
use crate::record::{CapturedTraces, Recorded};
use crate::report::{Clocks, Explained, Family, LastStep, Noticed, last_step};

/// A warning is given if the end of a program is noticed at least this long after its exit, and if
/// that time is at least one part in `NOTABLE_SHARE` of the launch.
const NOTABLE: Nanos = Nanos::from_millis(2);
const NOTABLE_SHARE: u64 = 20;

/// A launch that became ready, or was given up.
#[derive(Debug, Clone, Copy)]
pub struct Launch {
    /// Id of its first process.
    pub process: ThreadId,
    /// Just before fork and exec.
    pub began: Timestamp,
    /// From then until it was ready, or was given up.
    pub took: Nanos,
    /// Whether it was given up, as it had not ended.
    pub is_unended: bool,
    /// Whether it was ready when it ended.
    pub at_exit: bool,
    /// How it was noticed that the program was ready, if that was not its end and is known.
    pub noticed: Option<Noticed>,
    /// The status with which its first process exited, unless unjank ended it.
    pub status: Option<ExitStatus>,
    /// How long after SIGTERM its processes were killed, if they had not ended by then.
    pub killed_after: Option<Nanos>,
    /// Whether its system calls have the numbers of another architecture.
    pub is_foreign: bool,
}

impl Launch {
    /// When it was ready, or was given up.
    pub fn ready(&self) -> Timestamp {
        self.began + self.took
    }

    /// Warnings if it ended by itself with a failure, or did not end when it was asked to.
    pub fn warnings(&self) -> impl Iterator<Item = String> + use<> {
        let failed = self.status.filter(|status| !status.success());
        let failed = failed.map(|status| format!("the launch ended with a failure ({status})"));
        let killed = self.killed_after.map(|grace| {
            format!("the launched program did not end within {grace} of SIGTERM, and was killed")
        });
        failed.into_iter().chain(killed)
    }
}

/// A launch with its recording.
#[derive(Debug)]
pub struct RecordedLaunch {
    /// When it began, how long it took, and how it ended.
    pub launch: Launch,
    /// What was recorded of it.
    pub recorded: Recorded,
    /// The state of the machine before it.
    pub before: State,
    /// The memory that the events could take.
    pub memory: Bytes,
}

/// The thread and the window of a launch that are explained.
struct Subject {
    family: Family,
    thread: ThreadId,
    to: Timestamp,
    /// When the thread made the program ready, or ended.
    ready: Timestamp,
    /// The step that made the program ready, if the recording has it.
    step: Option<LastStep>,
}

impl RecordedLaunch {
    /// Explains the launch, from exec until the program was ready. Also writes the recording
    /// to the file of `keep`. `None` if a stop was requested.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn explain(
        self,
        keep: Option<(CapturedTraces, Destination)>,
        root: &Root,
        stop: &Stop,
    ) -> Result<Option<Explained>> {
        let Self { launch, recorded, before, memory } = self;
        let Recorded { trace, full_at, stacks, .. } = recorded;
        // The program began in the groups of this process.
        let throttled = throttled(&before, std::process::id(), root);
        let State { clocks, swap, cpu_time, .. } = before;
        let stolen = stolen(cpu_time, root);
        let process = launch.process;
        let from = first_exec(&trace, process).unwrap_or(launch.began);
        let Some(history) = History::until(&trace, stop) else {
            // The recording is complete, so it is written without an explanation.
            if let Some((kept, to_file)) = keep {
                let window = (from, recorded_until(launch.ready(), from, full_at));
                kept.write(to_file, &trace, annex((process, process), window, &clocks))?;
            }
            return Ok(None);
        };
        let subject = Subject::of(&launch, &trace, &history, (from, full_at));
        let &Subject { thread, to, .. } = &subject;
        let annex = annex((process, thread), (from, to), &clocks);
        let threads = (process, thread);
        let explained = Explained::of_program(trace, history, threads, (from, to), clocks, stop);
        let mut explained = match explained {
            Ok(explained) => explained,
            Err(trace) => {
                if let Some((kept, to_file)) = keep {
                    kept.write(to_file, &trace, annex)?;
                }
                return Ok(None);
            }
        };
        name(&mut explained, swap, stacks, root);
        explained.know_throttled(throttled);
        if let Some((kept, to_file)) = keep {
            let annex = Annex {
                functions: explained.functions().clone(),
                swap: explained.swap().to_vec(),
                throttled: explained.throttled().to_vec(),
                files: explained.files().clone().into_iter().collect(),
                ..annex
            };
            kept.write(to_file, explained.trace(), annex)?;
        }
        for warning in launch.warnings() {
            explained.warn(warning);
        }
        if launch.is_foreign {
            explained.warn(FOREIGN);
        }
        if let Some(stolen) = stolen {
            explained.warn(stolen);
        }
        if to < subject.ready {
            explained.cut_short(memory_was_full(memory, to.since(from)));
        } else if launch.is_unended {
            explained.cut_short(format!(
                "the program had not ended within {} (--timeout): the recording ended then",
                launch.took
            ));
        }
        if let Some(warning) = subject.warning(&launch, &explained, full_at) {
            explained.warn(warning);
        }
        let running = subject.family.running_elsewhere();
        if launch.at_exit && full_at.is_none() && running > 0 {
            explained.warn(format!(
                "processes that it started ran on after its end (threads: {running}); to explain \
                 the time until a service is ready, use --ready"
            ));
        }
        Ok(Some(explained))
    }
}

impl Subject {
    /// The thread that made the program ready, and the window from `from` until it did. The
    /// recording ended early at `full_at`.
    fn of(
        launch: &Launch,
        trace: &Trace,
        history: &History,
        (from, full_at): (Timestamp, Option<Timestamp>),
    ) -> Self {
        let process = launch.process;
        let family = Family::of(trace, process, launch.ready());
        let noticed = launch.noticed.filter(|_| is_whole(launch, full_at));
        let step = noticed.and_then(|noticed| {
            last_step(trace, history, &family, noticed, (from, launch.ready()))
        });
        // Without a step the program is explained up to its end, or until it was ready.
        let last = family.last_of_process().unwrap_or(process);
        let end = (last, family.end_of(last).unwrap_or(launch.ready()));
        let (thread, ready) = step.map_or(end, |step| (step.thread, step.at));
        let to = recorded_until(ready, from, full_at);
        Self { family, thread, to, ready, step }
    }

    /// A warning about the choice of the thread or about the end of the window, if there is need.
    fn warning(
        &self,
        launch: &Launch,
        explained: &Explained,
        full_at: Option<Timestamp>,
    ) -> Option<String> {
        let &Self { ref family, thread, to, ready, step } = self;
        let rest = launch.ready().since(ready);
        if let Some(step) = step {
            return step.rest(explained, launch.ready());
        }
        if thread != launch.process {
            if !family.first_has_left() {
                let what = "a thread other than the first ended the program; it is explained";
                let rest = rest_of_end(explained, rest).filter(|_| launch.at_exit);
                return Some(
                    rest.map_or_else(|| what.to_owned(), |rest| format!("{what}; {rest}")),
                );
            }
            let end_of = |thread| family.end_of(thread).unwrap_or(to);
            return Some(format!(
                "the program's first thread ended {} before its last one; the last is explained",
                end_of(thread).since(end_of(launch.process))
            ));
        }
        if launch.is_unended || !is_whole(launch, full_at) {
            return None;
        }
        if launch.at_exit {
            return rest_of_end(explained, rest);
        }
        let before = match rest {
            Nanos::ZERO => String::new(),
            rest => format!(", which ended {rest} before"),
        };
        Some(format!(
            "the recording does not show what made the program ready: its first thread is \
             explained{before}"
        ))
    }
}

/// The end of the window of a launch that was ready at `ready`; the recording may have ended before.
fn recorded_until(ready: Timestamp, from: Timestamp, full_at: Option<Timestamp>) -> Timestamp {
    full_at.map_or(ready, |full| full.min(ready)).max(from)
}

/// Whether the launch was recorded until it was ready.
fn is_whole(launch: &Launch, full_at: Option<Timestamp>) -> bool {
    full_at.is_none_or(|full| full >= launch.ready())
}

/// A warning if the end of a program was noticed much later than its last thread ended.
fn rest_of_end(explained: &Explained, rest: Nanos) -> Option<String> {
    let notable = rest >= NOTABLE && rest.get() >= explained.total().get() / NOTABLE_SHARE;
    notable.then(|| {
        format!("its end was seen {rest} later: the kernel freed its memory and closed its files")
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
