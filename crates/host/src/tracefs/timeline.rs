//! What one thread did, from the events of all CPUs: asleep, ready, running.

use super::event::{Event, EventKind};
use super::trace::{CpuTrace, Trace};
use crate::clock::Timestamp;
use crate::sched::ThreadId;
use unjank_units::Nanos;

/// What a thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It sleeps. `woken_on`: the CPU that woke it in the end, where a timer
    /// that woke it had fired.
    Asleep {
        /// `None` if it is still asleep at the end.
        woken_on: Option<usize>,
    },
    /// It is ready to run, and has no CPU.
    Ready {
        /// In whose queue it is.
        cpu: usize,
    },
    /// It has a CPU.
    Running {
        /// Which one.
        cpu: usize,
    },
}

/// A state and how long it lasted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// When the state began, or the window.
    pub from: Timestamp,
    /// When it ended, or the window.
    pub to: Timestamp,
    /// What the thread did.
    pub state: State,
}

impl Span {
    /// How long it lasted.
    pub fn length(&self) -> Nanos {
        self.to.since(self.from)
    }
}

/// The states of a thread within a window.
#[derive(Debug, PartialEq, Eq)]
pub struct Timeline {
    /// They fill the window, in order.
    pub spans: Vec<Span>,
    /// Whether the trace has every switch to the thread. Without one of them
    /// a span that it was ready for is too long.
    pub switch_seen: bool,
}

impl Timeline {
    /// Whether the thread sleeps at the end of the window.
    pub fn ends_asleep(&self) -> bool {
        matches!(self.spans.last(), Some(Span { state: State::Asleep { woken_on: None }, .. }))
    }
}

/// Follows a thread through the window between two moments. The trace needs
/// `sched_switch` and `sched_waking`.
///
/// # Errors
/// The reason why the trace does not tell.
pub fn follow(
    trace: &Trace,
    thread: ThreadId,
    from: Timestamp,
    to: Timestamp,
) -> Result<Timeline, String> {
    if trace.has_gap(from, to) {
        return Err("the trace lost events here".to_owned());
    }
    let mut life = Life { from, spans: Vec::new(), state: None, since: from, switch_seen: true };
    for note in notes(trace, thread, known_since(trace, from), to) {
        life.apply(note);
    }
    life.end(thread, to)
}

/// The moment since which no CPU lacks events, at most `from`.
fn known_since(trace: &Trace, from: Timestamp) -> Timestamp {
    let gaps = trace.cpus.iter().flat_map(|cpu| &cpu.gaps).filter(|gap| gap.to <= from);
    gaps.map(|gap| gap.to).max().unwrap_or(Timestamp::from_nanos(0))
}

/// One thing that an event says about the thread.
#[derive(Debug, Clone, Copy)]
struct Note {
    at: Timestamp,
    /// The CPU on which the event was recorded.
    cpu: usize,
    what: What,
}

#[derive(Debug, Clone, Copy)]
enum What {
    /// It got the CPU.
    In,
    /// It lost the CPU.
    Out { runnable: bool },
    /// It was woken, and is in the queue of this CPU.
    Woken { queue: usize },
    /// It came into the queue of this CPU.
    Moved { queue: usize },
    /// Something else happened while it had the CPU.
    Seen,
}

/// What the trace says about `thread`, in the order of time.
fn notes(trace: &Trace, thread: ThreadId, from: Timestamp, to: Timestamp) -> Vec<Note> {
    let of_cpu = |trace: &CpuTrace| {
        let note = |event: &Event| {
            Some(Note { at: event.at, cpu: trace.cpu, what: about(thread, event)? })
        };
        trace.events_in(from, to).iter().filter_map(note).collect::<Vec<Note>>()
    };
    let mut notes: Vec<Note> = trace.cpus.iter().flat_map(of_cpu).collect();
    notes.sort_by_key(|note| note.at);
    notes
}

fn about(thread: ThreadId, event: &Event) -> Option<What> {
    match event.kind {
        EventKind::Switch { prev, prev_runnable, .. } if prev.tid == thread => {
            Some(What::Out { runnable: prev_runnable })
        }
        EventKind::Switch { next, .. } if next.tid == thread => Some(What::In),
        EventKind::Waking { task, cpu } | EventKind::Wakeup { task, cpu } if task.tid == thread => {
            Some(What::Woken { queue: cpu })
        }
        EventKind::Migrate { task, to, .. } if task.tid == thread => {
            Some(What::Moved { queue: to })
        }
        _ if event.current == thread => Some(What::Seen),
        _ => None,
    }
}

/// The thread at one event. Before the first one its state is unknown; what
/// that event ends tells what it was.
struct Life {
    from: Timestamp,
    spans: Vec<Span>,
    state: Option<State>,
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
    /// (1) its wake-up is not in the trace; (2) the switch to it is not. A
    /// running thread is woken when it was about to sleep; if it falls asleep
    /// first, the second of the kernel's two events still comes.
    fn apply(&mut self, note: Note) {
        let Note { at, cpu, what } = note;
        let next = match (self.state, what) {
            (_, What::In | What::Seen) => State::Running { cpu },
            (_, What::Out { runnable: true }) => State::Ready { cpu },
            (_, What::Out { runnable: false }) => State::Asleep { woken_on: None },
            (Some(State::Running { .. }), _)
            | (Some(State::Asleep { .. }) | None, What::Moved { .. }) => return,
            (_, What::Woken { queue } | What::Moved { queue }) => State::Ready { cpu: queue },
        };
        let before = match (self.state, what) {
            (Some(State::Asleep { .. }) | None, What::Woken { .. }) => {
                Some(State::Asleep { woken_on: Some(cpu) })
            }
            (None, What::Out { .. } | What::Seen) => Some(State::Running { cpu }),
            (state, _) => state,
        };
        let ready = matches!(before, Some(State::Ready { .. }));
        if ready && matches!(what, What::Seen | What::Out { .. }) && at > self.from {
            self.switch_seen = false;
        }
        if before != Some(next) {
            self.close(at, before);
            self.state = Some(next);
        }
    }

    /// Ends the present span at `at`.
    fn close(&mut self, at: Timestamp, state: Option<State>) {
        let at = at.max(self.from);
        if let Some(state) = state.filter(|_| self.since < at) {
            self.spans.push(Span { from: self.since, to: at, state });
        }
        self.since = at;
    }

    fn end(mut self, thread: ThreadId, to: Timestamp) -> Result<Timeline, String> {
        match self.state {
            None => return Err(format!("the trace does not show {thread} here")),
            Some(State::Ready { .. }) => self.switch_seen = false,
            Some(_) => {}
        }
        self.close(to, self.state);
        let never_woken =
            |span: &Span| span.state == State::Asleep { woken_on: None } && span.to < to;
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

    fn followed(script: &Script, from: u64, to: u64) -> Result<Vec<(u64, State)>, String> {
        let timeline = follow(&script.trace(), VICTIM, at(from), at(to))?;
        assert_eq!(timeline.spans.first().map(|span| span.from), Some(at(from)));
        assert_eq!(timeline.spans.last().map(|span| span.to), Some(at(to)));
        assert!(timeline.switch_seen);
        Ok(timeline.spans.iter().map(|span| (span.to.as_nanos(), span.state)).collect())
    }

    const fn asleep(cpu: usize) -> State {
        State::Asleep { woken_on: Some(cpu) }
    }

    #[test]
    fn asleep_then_ready_then_running() {
        let script = Script::new().sleeps(1, 5, 7, 0).wakes(0, 120, 7, 1).runs(1, 150, 0, 7);
        let states = followed(&script, 100, 160).unwrap();
        let running = State::Running { cpu: 1 };
        assert_eq!(states, [(120, asleep(0)), (150, State::Ready { cpu: 1 }), (160, running)]);
        assert_eq!(followed(&script, 155, 160).unwrap(), [(160, running)]);
        assert_eq!(followed(&script, 130, 160).unwrap()[0].1, State::Ready { cpu: 1 });
    }

    #[test]
    fn a_migration_changes_the_queue() {
        let script = Script::new()
            .sleeps(1, 5, 7, 0)
            .wakes(0, 110, 7, 1)
            .migrates(0, 120, 7, 1, 2)
            .runs(2, 150, 0, 7);
        let states = followed(&script, 100, 160).unwrap();
        let queues: Vec<State> = states.iter().map(|(_, state)| *state).skip(1).collect();
        let ready = |cpu| State::Ready { cpu };
        assert_eq!(queues, [ready(1), ready(2), State::Running { cpu: 2 }]);
    }

    #[test]
    fn preempted_is_ready_not_asleep() {
        let script = Script::new().runs(1, 5, 0, 7).runs(1, 110, 7, 9).runs(1, 140, 9, 7);
        let states = followed(&script, 100, 160).unwrap();
        let running = State::Running { cpu: 1 };
        assert_eq!(states, [(110, running), (140, State::Ready { cpu: 1 }), (160, running)]);
    }

    #[test]
    fn a_wake_up_in_the_middle_of_falling_asleep_is_not_lost() {
        let script = Script::new()
            .runs(1, 5, 0, 7)
            .wakes_late(0, 10, 7, 1)
            .sleeps(1, 12, 7, 0)
            .wakes(1, 14, 7, 1)
            .runs(1, 20, 0, 7);
        let states = followed(&script, 11, 30).unwrap();
        assert_eq!(states[1], (14, asleep(1)));
        assert_eq!(states[2], (20, State::Ready { cpu: 1 }));
    }

    #[test]
    fn the_reason_says_what_the_trace_lacks() {
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
        assert_eq!(timeline.spans[1].state, State::Asleep { woken_on: None });
        assert_eq!(timeline.spans[1].length(), Nanos(40));
        assert!(timeline.ends_asleep());
    }

    #[test]
    fn what_came_before_a_gap_says_nothing() {
        // Running before the gap, asleep after it.
        let script =
            Script::new().runs(1, 5, 0, 7).loses(1, 50, 60).wakes(0, 120, 7, 1).runs(1, 150, 0, 7);
        assert_eq!(followed(&script, 100, 160).unwrap()[0], (120, asleep(0)));
    }

    #[test]
    fn a_switch_that_was_not_recorded_is_admitted() {
        let script = Script::new().sleeps(1, 5, 7, 0).wakes(0, 120, 7, 1).sleeps(1, 170, 7, 0);
        let timeline = follow(&script.trace(), VICTIM, at(100), at(160)).unwrap();
        assert!(!timeline.switch_seen);
        assert_eq!(timeline.spans[1].state, State::Ready { cpu: 1 });
        assert_eq!(timeline.spans[1].to, at(160));
    }
}
