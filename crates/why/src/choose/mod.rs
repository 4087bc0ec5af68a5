//! Chooses the thread and the window of a recording that are explained.

#[cfg(test)]
mod tests;
mod threads;

use std::fmt;

use unjank_host::Timestamp;
use unjank_host::input::{Stop, Stopped};
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{Moment, Trace, seconds};
use unjank_units::Nanos;

use crate::exec::first_exec;
use threads::Threads;

/// The user's options for the thread and the window. If unjank made the recording, the recorded
/// thread and window are the defaults.
#[derive(Debug, Clone, Default)]
pub struct ChoiceOptions {
    /// The process, by its name or number.
    pub process: Option<String>,
    /// The thread, by its name or number; by default the first one of the process.
    pub thread: Option<String>,
    /// The beginning of the window; by default the first exec of the process, or
    /// its call if that was recorded.
    pub from: Option<Moment>,
    /// The end of the window; by default the end of the thread.
    pub to: Option<Moment>,
}

/// The chosen thread and window, with the reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chosen {
    /// The thread to explain.
    pub thread: ThreadId,
    /// The first thread of its program, if unjank recorded it for this thread; otherwise the
    /// thread.
    pub first: ThreadId,
    /// The beginning of the window, and why it is there.
    pub from: (Timestamp, Edge),
    /// The end of the window, and why it is there.
    pub to: (Timestamp, Edge),
}

/// Why a window begins or ends where it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    /// The user says so: `--since`.
    Since,
    /// The user says so: `--until`.
    Until,
    /// It is the window of unjank's own recording.
    Recorded,
    /// There is the first exec of the process.
    FirstExec,
    /// There is the end of the thread.
    ThreadEnd,
    /// There the recording begins.
    RecordingBegin,
    /// There the recording ends.
    RecordingEnd,
    /// There the recording ends, before `--until`.
    RecordingEndBeforeUntil,
}

impl fmt::Display for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Since => "--since",
            Self::Until => "--until",
            Self::Recorded => "as it was recorded",
            Self::FirstExec => "the first exec of the process",
            Self::ThreadEnd => "the end of the thread",
            Self::RecordingBegin => "the beginning of the recording",
            Self::RecordingEnd => "the end of the recording",
            Self::RecordingEndBeforeUntil => "the end of the recording, which is before --until",
        })
    }
}

/// The thread and window that a recording of unjank's own was made for.
#[derive(Debug, Clone, Copy)]
pub struct OwnRecording {
    /// The thread to explain.
    pub thread: ThreadId,
    /// The first thread of its program.
    pub first: ThreadId,
    /// Beginning and end of the window, by the clock of the trace.
    pub window: (Timestamp, Timestamp),
}

/// The furthest that a recorded window reaches beyond the events. While unjank records, it wakes
/// forty times a second, which is an event each time.
const FURTHEST: Nanos = Nanos::from_millis(60_000);

/// Chooses thread and window.
///
/// # Errors
/// A message for the user: the recording does not have the process, the thread or the window, or
/// has several by that name. After a stop request, the message of [`Stopped`].
pub fn choose(
    trace: &Trace,
    wanted: &ChoiceOptions,
    own: Option<OwnRecording>,
    stop: &Stop,
) -> Result<Chosen, String> {
    let threads = Threads::until(trace, stop).ok_or_else(|| Stopped.to_string())?;
    let process = match (&wanted.process, own) {
        (Some(process), _) => threads.process(process)?,
        (None, Some(own)) => own.first,
        (None, None) => {
            return Err(format!("name a process with --process: {}", threads.list()));
        }
    };
    let thread = match (&wanted.thread, own) {
        (Some(thread), _) => threads.thread_of(process, thread)?,
        (None, Some(own)) if own.first == process => own.thread,
        (None, _) => process,
    };
    let (begin, end) = trace.span().unwrap_or_default();
    let own = own.filter(|own| own.thread == thread);
    let (window, first) = own.map(|own| (own.window, own.first)).unzip();
    let at = |moment: Moment| moment.in_trace(begin);
    let from = match (wanted.from, window, first_exec(trace, process)) {
        (Some(from), ..) => (at(from), Edge::Since),
        (None, Some((from, _)), _) => (from, Edge::Recorded),
        (None, None, Some(exec)) => (exec, Edge::FirstExec),
        (None, None, None) => (begin, Edge::RecordingBegin),
    };
    let to = match (wanted.to, window, threads.ended(thread)) {
        (Some(to), ..) if at(to) > end => (end, Edge::RecordingEndBeforeUntil),
        (Some(to), ..) => (at(to), Edge::Until),
        (None, Some((_, to)), _) => (to, Edge::Recorded),
        (None, None, Some(ended)) => (ended, Edge::ThreadEnd),
        (None, None, None) => (end, Edge::RecordingEnd),
    };
    let is_forged = from.1 == Edge::Recorded && begin.since(from.0) > FURTHEST
        || to.1 == Edge::Recorded && to.0.since(end) > FURTHEST;
    if is_forged {
        return Err(format!(
            "the recording claims to be of {} to {}, but its events are from {} to {}",
            seconds(from.0),
            seconds(to.0),
            seconds(begin),
            seconds(end)
        ));
    }
    if from.0 >= to.0 || from.0 >= end || to.0 <= begin {
        return Err(format!(
            "there is nothing from {} to {}; the recording covers {} to {}",
            seconds(from.0),
            seconds(to.0),
            seconds(begin),
            seconds(end)
        ));
    }
    Ok(Chosen { thread, first: first.unwrap_or(thread), from, to })
}
