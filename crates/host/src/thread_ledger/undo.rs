//! Putting threads back.

use std::fmt;

use serde::Serialize;

use super::contents::{Contents, HeldLimit, HeldThread};
use super::entry::{Entry, ThreadState};
use super::other_ledgers::OtherLedgers;
use super::scheduler::Scheduler;
use crate::error::Result;
use crate::journal::{Action, ChangeKind, CurrentState, Held, Mode, RestoreOutcome, decide};
use crate::sched::{RunLimit, ThreadId};
use unjank_units::Nanos;

/// The result of putting back one thread, or the limit of a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ThreadReport {
    /// Id of the process (TGID).
    pub process: u32,
    /// The thread; `None` for `RLIMIT_RTTIME` of the process.
    pub thread: Option<ThreadId>,
    /// Its name at the time of the change; `RLIMIT_RTTIME` for the limit.
    pub name: String,
    /// Its state or limit before the change.
    pub before: String,
    /// The state or limit that it was given.
    pub during: String,
    /// Its state or limit now; `None` if it is gone or cannot be read.
    pub after: Option<String>,
    /// Whether it was put back, and if not, why.
    #[serde(flatten)]
    pub outcome: RestoreOutcome,
}

impl ThreadReport {
    pub(super) fn waits(&self) -> bool {
        matches!(self.outcome, RestoreOutcome::Waits { .. })
    }

    /// Whether it is about the same thread or limit.
    pub(super) fn is_about_the_same(&self, other: &Self) -> bool {
        (self.process, self.thread) == (other.process, other.thread)
    }
}

/// One line without a full stop: `meas (thread 79): fifo:80 → other, as it was`.
impl fmt::Display for ThreadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, before, during, .. } = self;
        match self.thread {
            Some(thread) => write!(f, "{name} ({thread}): ")?,
            None => write!(f, "{name} of process {}: ", self.process)?,
        }
        match &self.outcome {
            RestoreOutcome::PutBack => write!(f, "{during} → {before}, as it was"),
            RestoreOutcome::AlreadyBack => write!(f, "already back at {before}"),
            RestoreOutcome::LeftToOthers => {
                let now = self.after.as_deref().unwrap_or("another value");
                let other = "another program or another unjank";
                write!(f, "left at {now}, which {other} set after our {during}")
            }
            RestoreOutcome::Gone => write!(f, "has ended; nothing to put back"),
            RestoreOutcome::ResetByBoot => write!(f, "ended by a boot; nothing to put back"),
            RestoreOutcome::WouldPutBack => write!(f, "would be put back: {during} → {before}"),
            RestoreOutcome::Waits { reason } => write!(f, "not put back yet: {reason}"),
            RestoreOutcome::Failed { reason, .. } => {
                write!(f, "not put back to {before}: {reason}")
            }
        }
    }
}

/// Puts back all changes in `contents` but those that `others` have changed later.
/// Calls `over` with an entry for each change that is done with.
pub(super) fn put_back_all(
    contents: &Contents,
    others: &OtherLedgers,
    scheduler: &dyn Scheduler,
    mode: Mode,
    mut over: impl FnMut(Entry),
) -> Vec<ThreadReport> {
    let mut reports = Vec::new();
    for (&thread, held) in &contents.threads {
        let report = put_back(held, others, scheduler, mode);
        if !report.outcome.is_open() {
            over(Entry::Restored { thread });
        }
        reports.push(report);
    }
    for limit in &contents.limits {
        let report = put_limit_back(limit, others, scheduler, mode);
        if !report.outcome.is_open() {
            over(Entry::LimitRestored { process: limit.process });
        }
        reports.push(report);
    }
    reports
}

/// Puts one thread back, if the rule of the journal says so and none of the
/// `others` has changed it later. In a dry run, `scheduler` is a
/// [`Rehearsal`](super::rehearsal::Rehearsal).
pub(super) fn put_back(
    held: &HeldThread,
    others: &OtherLedgers,
    scheduler: &dyn Scheduler,
    mode: Mode,
) -> ThreadReport {
    let intent = &held.intent;
    let look = || match scheduler.look(intent.process, intent.thread) {
        // A later thread with the same number is not touched.
        Ok(Some((began, state))) if began == intent.began => CurrentState::Reads(state.to_string()),
        Ok(_) => CurrentState::Missing,
        Err(error) => CurrentState::Unreadable(RestoreOutcome::from_error(&error)),
    };
    let (before, during) = (intent.before.to_string(), held.during().to_string());
    let rule = as_held(held);
    let mut seen = look();
    let mut outcome = match (decide(&rule, &seen), others.later_than_thread(held)) {
        (Action::Leave(RestoreOutcome::Gone), _) => RestoreOutcome::Gone,
        (_, Some(must_wait)) => must_wait,
        (Action::Leave(outcome), None) => outcome,
        (Action::Undo, None) => give(intent.thread, intent.before, scheduler),
    };
    if outcome == RestoreOutcome::PutBack {
        if mode == Mode::DryRun {
            outcome = RestoreOutcome::WouldPutBack;
        } else {
            seen = look();
            if seen == CurrentState::Missing {
                outcome = RestoreOutcome::Gone;
            }
        }
    }
    let after = if let CurrentState::Reads(state) = seen { Some(state) } else { None };
    ThreadReport {
        process: intent.process,
        thread: Some(intent.thread),
        name: intent.name.clone(),
        before,
        during,
        after,
        outcome,
    }
}

fn give(thread: ThreadId, state: ThreadState, scheduler: &dyn Scheduler) -> RestoreOutcome {
    // Only CAP_SYS_NICE may clear SCHED_RESET_ON_FORK; without it the flag
    // stays, which does no harm to a thread that is ordinary again.
    let set = scheduler.set(thread, state).or_else(|error| {
        let with_flag = ThreadState { reset_on_fork: true, ..state };
        if state.reset_on_fork { Err(error) } else { scheduler.set(thread, with_flag) }
    });
    match set {
        Ok(()) => RestoreOutcome::PutBack,
        Err(error) if error.is_not_found() => RestoreOutcome::Gone,
        Err(error) => RestoreOutcome::from_error(&error),
    }
}

fn put_limit_back(
    held: &HeldLimit,
    others: &OtherLedgers,
    scheduler: &dyn Scheduler,
    mode: Mode,
) -> ThreadReport {
    let first = ThreadId(held.process);
    let now = match scheduler.look(held.process, first) {
        Ok(Some((began, _))) if began == held.began => scheduler.run_limit(held.process).map(Some),
        Ok(_) => Ok(None),
        Err(error) => Err(error),
    };
    let ours = |now: RunLimit| {
        // The kernel itself adds a second to the soft limit with each SIGXCPU
        // (check_thread_timers in kernel/time/posix-cpu-timers.c).
        let raised = |during: &RunLimit| {
            now.soft.zip(during.soft).is_some_and(|(now, during)| {
                now >= during && (now - during).get().is_multiple_of(1_000_000_000)
            })
        };
        held.ours.iter().any(|during| raised(during) && now.hard == during.hard)
    };
    let outcome = match (&now, others.later_than_limit(held)) {
        (Err(error), _) if error.is_not_found() => RestoreOutcome::Gone,
        (Err(error), _) => RestoreOutcome::from_error(error),
        (Ok(None), _) => RestoreOutcome::Gone,
        (Ok(Some(_)), Some(must_wait)) => must_wait,
        (Ok(Some(now)), None) if *now == held.before => RestoreOutcome::AlreadyBack,
        (Ok(Some(now)), None) if !ours(*now) && held.doubtful => {
            RestoreOutcome::failed("a damaged line of the ledger may say which program set it")
        }
        (Ok(Some(now)), None) if !ours(*now) => RestoreOutcome::LeftToOthers,
        (Ok(Some(now)), None) => match raise(held, *now, scheduler) {
            Ok(()) if mode == Mode::DryRun => RestoreOutcome::WouldPutBack,
            Ok(()) => RestoreOutcome::PutBack,
            Err(error) if error.is_not_found() => RestoreOutcome::Gone,
            Err(error) => RestoreOutcome::from_error(&error),
        },
    };
    let text =
        |limit: RunLimit| limit.soft.map_or("unlimited".to_owned(), |n: Nanos| n.to_string());
    let after = match outcome {
        RestoreOutcome::PutBack => scheduler.run_limit(held.process).ok(),
        _ => now.ok().flatten(),
    };
    ThreadReport {
        process: held.process,
        thread: None,
        name: "RLIMIT_RTTIME".to_owned(),
        before: text(held.before),
        during: text(held.during()),
        after: after.map(text),
        outcome,
    }
}

/// Puts a limit back. Raising a hard limit needs `CAP_SYS_RESOURCE`; without
/// it, the soft limit is raised to the hard one.
fn raise(held: &HeldLimit, now: RunLimit, scheduler: &dyn Scheduler) -> Result<()> {
    scheduler.set_run_limit(held.process, held.before).or_else(|error| {
        if held.before.hard == now.hard {
            return Err(error);
        }
        scheduler.set_run_limit(held.process, RunLimit { soft: now.hard, hard: now.hard })
    })
}

/// A thread in the form that the journal's rule takes.
fn as_held(held: &HeldThread) -> Held {
    let &HeldThread { settled, doubtful, .. } = held;
    let (before, during) = (held.intent.before.to_string(), held.during().to_string());
    let (path, ours) = (String::new(), held.ours.iter().map(ToString::to_string).collect());
    let (kind, dependant) = (ChangeKind::File, false);
    Held { seq: 0, path, kind, before, during, ours, settled, doubtful, dependant }
}
