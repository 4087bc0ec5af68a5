//! The states of one thread, from the events of all CPUs: asleep, ready,
//! running.

use super::event::{Event, EventKind};
use super::trace::{CpuTrace, Trace};
use crate::clock::Timestamp;
use crate::sched::ThreadId;
use unjank_units::Nanos;

/// The state of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThreadState {
    /// It sleeps.
    Asleep {
        /// The CPU that woke it: for a timer, the CPU on which the timer fired.
        /// `None` if the thread is still asleep at the end.
        woken_on: Option<usize>,
    },
    /// It is runnable, but has no CPU.
    Ready {
        /// The CPU of its queue.
        cpu: usize,
    },
    /// It has a CPU.
    Running {
        /// The CPU.
        cpu: usize,
    },
}

/// A state with its start and end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The start of the state, or of the window.
    pub from: Timestamp,
    /// The end of the state, or of the window.
    pub to: Timestamp,
    /// Asleep, ready or running.
    pub state: ThreadState,
}

impl Span {
    /// The time from start to end.
    pub fn length(&self) -> Nanos {
        self.to.since(self.from)
    }
}

/// The states of a thread within a window.
#[derive(Debug, PartialEq, Eq)]
pub struct Timeline {
    /// The states in order, which together cover the window.
    pub spans: Vec<Span>,
    /// Whether the trace has every switch to the thread. If one is missing, a
    /// ready span is too long.
    pub switch_seen: bool,
}

impl Timeline {
    /// Whether the thread sleeps at the end of the window.
    pub fn ends_asleep(&self) -> bool {
        matches!(
            self.spans.last(),
            Some(Span { state: ThreadState::Asleep { woken_on: None }, .. })
        )
    }
}

/// Follows a thread between two moments. The trace needs `sched_switch` and
/// `sched_waking`.
///
/// # Errors
/// The reason why its states cannot be determined.
pub fn follow(
    trace: &Trace,
    thread: ThreadId,
    from: Timestamp,
    to: Timestamp,
) -> Result<Timeline, String> {
    follow_since(trace, thread, known_since(trace, from), (from, to))
}

/// As [`follow`], for a thread that slept until it was woken at `from`. It need not search the
/// trace for the state before.
///
/// # Errors
/// As `follow`.
pub fn follow_woken(
    trace: &Trace,
    thread: ThreadId,
    from: Timestamp,
    to: Timestamp,
) -> Result<Timeline, String> {
    follow_since(trace, thread, from, (from, to))
}

fn follow_since(
    trace: &Trace,
    thread: ThreadId,
    since: Timestamp,
    (from, to): (Timestamp, Timestamp),
) -> Result<Timeline, String> {
    if trace.has_gap(from, to) {
        return Err("the trace lost events here".to_owned());
    }
    let mut life = Life { from, spans: Vec::new(), state: None, since: from, switch_seen: true };
    for note in notes(trace, thread, since, to) {
        life.apply(note);
    }
    life.end(thread, to)
}

/// The moment since which all CPUs' events are complete, at most `from`.
fn known_since(trace: &Trace, from: Timestamp) -> Timestamp {
    let gaps = trace.cpus.iter().flat_map(|cpu| &cpu.gaps).filter(|gap| gap.to <= from);
    gaps.map(|gap| gap.to).max().unwrap_or(Timestamp::from_nanos(0))
}

/// A change of the thread's state in an event.
#[derive(Debug, Clone, Copy)]
struct Note {
    at: Timestamp,
    /// The CPU on which the event was recorded.
    cpu: usize,
    what: NoteKind,
}

#[derive(Debug, Clone, Copy)]
enum NoteKind {
    /// It got the CPU.
    In,
    /// It lost the CPU.
    Out { runnable: bool },
    /// It was woken into the queue of this CPU.
    Woken { queue: usize },
    /// It was moved to the queue of this CPU.
    Moved { queue: usize },
    /// Another event occurred while it had the CPU.
    Seen,
}

/// The changes of `thread` in the trace, in order of time.
fn notes(trace: &Trace, thread: ThreadId, from: Timestamp, to: Timestamp) -> Vec<Note> {
    let of_cpu = |trace: &CpuTrace| {
        let note = |event: Event| {
            Some(Note { at: event.at, cpu: trace.cpu, what: about(thread, &event)? })
        };
        trace.events_in(from, to).filter_map(note).collect::<Vec<Note>>()
    };
    let mut notes: Vec<Note> = trace.cpus.iter().flat_map(of_cpu).collect();
    notes.sort_by_key(|note| note.at);
    notes
}

fn about(thread: ThreadId, event: &Event) -> Option<NoteKind> {
    match event.kind {
        EventKind::Switch { prev, prev_state, .. } if prev.tid == thread => {
            Some(NoteKind::Out { runnable: prev_state.is_runnable() })
        }
        EventKind::Switch { next, .. } if next.tid == thread => Some(NoteKind::In),
        EventKind::Waking { task, cpu } | EventKind::Wakeup { task, cpu } if task.tid == thread => {
            Some(NoteKind::Woken { queue: cpu })
        }
        EventKind::Migrate { task, to, .. } if task.tid == thread => {
            Some(NoteKind::Moved { queue: to })
        }
        _ if event.current == thread => Some(NoteKind::Seen),
        _ => None,
    }
}

/// The thread's state as the events are replayed. Before the first event it is
/// unknown; that event also shows the state before it.
struct Life {
    from: Timestamp,
    spans: Vec<Span>,
    state: Option<ThreadState>,
    since: Timestamp,
    switch_seen: bool,
}

impl Life {
    /// | state | switched in | switched out | woken | moved | seen |
    /// |---|---|---|---|---|---|
    /// | asleep | running (1) | ready or asleep (1) | ready | – | running (1) |
    /// | ready | running | ready or asleep (2) | queue | queue | running (2) |
    /// | running | CPU | ready or asleep | – | – | CPU |
    ///
    /// (1) the trace lacks its wake-up; (2) the trace lacks the switch to it. A
    /// running thread may be woken while it is about to sleep. If it falls
    /// asleep first, `sched_wakeup` still follows that `sched_waking`.
    fn apply(&mut self, note: Note) {
        let Note { at, cpu, what } = note;
        let next = match (self.state, what) {
            (_, NoteKind::In | NoteKind::Seen) => ThreadState::Running { cpu },
            (_, NoteKind::Out { runnable: true }) => ThreadState::Ready { cpu },
            (_, NoteKind::Out { runnable: false }) => ThreadState::Asleep { woken_on: None },
            (Some(ThreadState::Running { .. }), _)
            | (Some(ThreadState::Asleep { .. }) | None, NoteKind::Moved { .. }) => return,
            (_, NoteKind::Woken { queue } | NoteKind::Moved { queue }) => {
                ThreadState::Ready { cpu: queue }
            }
        };
        let before = match (self.state, what) {
            (Some(ThreadState::Asleep { .. }) | None, NoteKind::Woken { .. }) => {
                Some(ThreadState::Asleep { woken_on: Some(cpu) })
            }
            (None, NoteKind::Out { .. } | NoteKind::Seen) => Some(ThreadState::Running { cpu }),
            (state, _) => state,
        };
        let ready = matches!(before, Some(ThreadState::Ready { .. }));
        if ready && matches!(what, NoteKind::Seen | NoteKind::Out { .. }) && at > self.from {
            self.switch_seen = false;
        }
        if before != Some(next) {
            self.close(at, before);
            self.state = Some(next);
        }
    }

    /// Ends the current span at `at`.
    fn close(&mut self, at: Timestamp, state: Option<ThreadState>) {
        let at = at.max(self.from);
        if let Some(state) = state.filter(|_| self.since < at) {
            self.spans.push(Span { from: self.since, to: at, state });
        }
        self.since = at;
    }

    fn end(mut self, thread: ThreadId, to: Timestamp) -> Result<Timeline, String> {
        match self.state {
            None => return Err(format!("the trace does not show {thread} here")),
            Some(ThreadState::Ready { .. }) => self.switch_seen = false,
            Some(_) => {}
        }
        self.close(to, self.state);
        let never_woken =
            |span: &Span| span.state == ThreadState::Asleep { woken_on: None } && span.to < to;
        let filled = self
            .spans
            .iter()
            .fold(self.from, |end, span| if span.from == end { span.to } else { end });
        if filled != to || self.spans.iter().any(never_woken) {
            return Err(format!("the trace has no wake-up of {thread}"));
        }
        Ok(Timeline { spans: self.spans, switch_seen: self.switch_seen })
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::{Script, at};
    use super::*;

    const VICTIM: ThreadId = ThreadId(7);

    fn followed(script: &Script, from: u64, to: u64) -> Result<Vec<(u64, ThreadState)>, String> {
        let timeline = follow(&script.trace(), VICTIM, at(from), at(to))?;
        assert_eq!(timeline.spans.first().map(|span| span.from), Some(at(from)));
        assert_eq!(timeline.spans.last().map(|span| span.to), Some(at(to)));
        assert!(timeline.switch_seen);
        Ok(timeline.spans.iter().map(|span| (span.to.as_nanos(), span.state)).collect())
    }

    const fn asleep(cpu: usize) -> ThreadState {
        ThreadState::Asleep { woken_on: Some(cpu) }
    }

    #[test]
    fn asleep_then_ready_then_running() {
        let script = Script::new().sleeps(1, 5, 7, 0).wakes(0, 120, 7, 1).runs(1, 150, 0, 7);
        let states = followed(&script, 100, 160).unwrap();
        let running = ThreadState::Running { cpu: 1 };
        assert_eq!(
            states,
            [(120, asleep(0)), (150, ThreadState::Ready { cpu: 1 }), (160, running)]
        );
        assert_eq!(followed(&script, 155, 160).unwrap(), [(160, running)]);
        assert_eq!(followed(&script, 130, 160).unwrap()[0].1, ThreadState::Ready { cpu: 1 });
    }

    #[test]
    fn a_migration_changes_the_queue() {
        let script = Script::new()
            .sleeps(1, 5, 7, 0)
            .wakes(0, 110, 7, 1)
            .migrates(0, 120, 7, 1, 2)
            .runs(2, 150, 0, 7);
        let states = followed(&script, 100, 160).unwrap();
        let queues: Vec<ThreadState> = states.iter().map(|(_, state)| *state).skip(1).collect();
        let ready = |cpu| ThreadState::Ready { cpu };
        assert_eq!(queues, [ready(1), ready(2), ThreadState::Running { cpu: 2 }]);
    }

    #[test]
    fn preempted_is_ready_not_asleep() {
        let script = Script::new().runs(1, 5, 0, 7).runs(1, 110, 7, 9).runs(1, 140, 9, 7);
        let states = followed(&script, 100, 160).unwrap();
        let running = ThreadState::Running { cpu: 1 };
        assert_eq!(states, [(110, running), (140, ThreadState::Ready { cpu: 1 }), (160, running)]);
    }

    #[test]
    fn a_wake_up_while_falling_asleep_is_not_lost() {
        let script = Script::new()
            .runs(1, 5, 0, 7)
            .wakes_late(0, 10, 7, 1)
            .sleeps(1, 12, 7, 0)
            .wakes(1, 14, 7, 1)
            .runs(1, 20, 0, 7);
        let states = followed(&script, 11, 30).unwrap();
        assert_eq!(states[1], (14, asleep(1)));
        assert_eq!(states[2], (20, ThreadState::Ready { cpu: 1 }));
    }

    #[test]
    fn the_reason_names_what_the_trace_lacks() {
        let refused = |script: &Script| follow(&script.trace(), VICTIM, at(100), at(160));
        let no_wake_up = Script::new().sleeps(1, 5, 7, 0).runs(1, 150, 0, 7);
        let reason = "the trace has no wake-up of thread 7";
        assert_eq!(refused(&no_wake_up), Err(reason.to_owned()));
        let only_switched_in = Script::new().runs(1, 150, 0, 7);
        assert_eq!(refused(&only_switched_in), Err(reason.to_owned()));
        let absent = Script::new().runs(1, 150, 0, 9);
        assert_eq!(refused(&absent), Err("the trace does not show thread 7 here".to_owned()));
        let lost = Script::new().wakes(0, 120, 7, 1).runs(1, 150, 0, 7).loses(0, 90, 101);
        assert_eq!(refused(&lost), Err("the trace lost events here".to_owned()));
    }

    #[test]
    fn a_thread_may_be_asleep_at_the_end() {
        let script = Script::new().runs(1, 5, 0, 7).sleeps(1, 120, 7, 0);
        let timeline = follow(&script.trace(), VICTIM, at(100), at(160)).unwrap();
        assert_eq!(timeline.spans[1].state, ThreadState::Asleep { woken_on: None });
        assert_eq!(timeline.spans[1].length(), Nanos(40));
        assert!(timeline.ends_asleep());
    }

    #[test]
    fn events_before_a_gap_are_ignored() {
        // Running before the gap, asleep after it.
        let script =
            Script::new().runs(1, 5, 0, 7).loses(1, 50, 60).wakes(0, 120, 7, 1).runs(1, 150, 0, 7);
        assert_eq!(followed(&script, 100, 160).unwrap()[0], (120, asleep(0)));
    }

    #[test]
    fn a_missing_switch_is_reported() {
        let script = Script::new().sleeps(1, 5, 7, 0).wakes(0, 120, 7, 1).sleeps(1, 170, 7, 0);
        let timeline = follow(&script.trace(), VICTIM, at(100), at(160)).unwrap();
        assert!(!timeline.switch_seen);
        assert_eq!(timeline.spans[1].state, ThreadState::Ready { cpu: 1 });
        assert_eq!(timeline.spans[1].to, at(160));
    }
}
