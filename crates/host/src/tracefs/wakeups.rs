//! The time from each wake-up of a thread to its run.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::event::{Context, Event, EventKind};
use crate::clock::Timestamp;
use crate::sched::ThreadId;
use unjank_units::Nanos;

/// A wake-up of a thread that slept, and the run that followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WakeUp {
    /// The thread.
    pub thread: ThreadId,
    /// When it was woken.
    pub woken: Timestamp,
    /// When it got a CPU.
    pub ran: Timestamp,
    /// The index of that CPU in the trace.
    pub place: usize,
    /// Whether the trace has the switch to the thread. Without it, `ran` is the first moment at
    /// which the thread is seen to run: it got the CPU then or before.
    pub switch_seen: bool,
}

impl WakeUp {
    /// The time from the wake-up to the run.
    pub fn latency(&self) -> Nanos {
        self.ran.since(self.woken)
    }
}

/// Finds wake-ups in events that come [in order](super::in_order). It knows a wake-up by
/// `sched_waking`, or by `sched_wakeup` where the trace lacks the former; a new thread is woken for
/// the first time when it is made.
///
/// A thread that is woken again before it ran has run and slept in between, because only a sleeper
/// is woken (`ttwu_state_match` of `kernel/sched/core.c`): the trace lacks that, so the first of
/// both wake-ups does not count. A thread that is woken before it fell asleep never slept, or is
/// woken by the `sched_wakeup` that follows.
#[derive(Debug, Default)]
pub struct WakeUps(HashMap<ThreadId, State, RandomState>);

#[derive(Debug, Clone, Copy)]
enum State {
    Running,
    /// It lost its CPU to another thread, and could run.
    Preempted,
    Asleep,
    Woken(Timestamp),
}

impl WakeUps {
    /// Follows an event that was recorded on the CPU with this index. Returns the wake-ups of the
    /// threads that are seen to run from now on: at a switch, up to two.
    pub fn see(&mut self, place: usize, event: &Event) -> impl Iterator<Item = WakeUp> + use<> {
        let Event { at, current, context, kind } = *event;
        let mut found = [None, None];
        let unseen = match kind {
            EventKind::Switch { prev, .. } => Some(prev.tid),
            // The current thread of an event runs.
            _ => (context == Context::Thread && current != IDLE).then_some(current),
        };
        if let Some(thread) = unseen
            && let Some(state) = self.0.get_mut(&thread)
            && let State::Woken(woken) = *state
        {
            *state = State::Running;
            found[0] = Some(WakeUp { thread, woken, ran: at, place, switch_seen: false });
        }
        match kind {
            EventKind::Waking { task, .. } if !task.is_idle() => {
                let state = self.0.entry(task.tid).or_insert(State::Asleep);
                if matches!(state, State::Asleep | State::Woken(_)) {
                    *state = State::Woken(at);
                }
            }
            EventKind::Wakeup { task, .. } if !task.is_idle() => {
                let state = self.0.entry(task.tid).or_insert(State::Asleep);
                if matches!(state, State::Asleep) {
                    *state = State::Woken(at);
                }
            }
            EventKind::Switch { prev, prev_state, next } => {
                if !prev.is_idle() {
                    let could_run = prev_state.is_runnable();
                    let state = if could_run { State::Preempted } else { State::Asleep };
                    self.0.insert(prev.tid, state);
                }
                let thread = next.tid;
                if !next.is_idle()
                    && let Some(State::Woken(woken)) = self.0.insert(thread, State::Running)
                {
                    found[1] = Some(WakeUp { thread, woken, ran: at, place, switch_seen: true });
                }
            }
            _ => {}
        }
        found.into_iter().flatten()
    }
}

/// The idle task of a CPU.
const IDLE: ThreadId = ThreadId(0);

#[cfg(test)]
mod tests {
    use super::super::order::in_order;
    use super::super::script::Script;
    use super::*;

    fn found(script: &Script) -> Vec<(u32, u64, u64)> {
        let trace = script.trace();
        let mut wakeups = WakeUps::default();
        let seen = in_order(&trace.cpus).flat_map(|(place, event)| wakeups.see(place, &event));
        seen.filter(|it| it.switch_seen)
            .map(|it| (it.thread.0, it.woken.as_nanos(), it.latency().get()))
            .collect()
    }

    #[test]
    fn the_time_runs_from_the_waking_to_the_switch() {
        let script = Script::new().wakes(0, 120, 7, 1).runs(1, 150, 9, 7).sleeps(1, 170, 7, 0);
        assert_eq!(found(&script), [(7, 120, 30)]);
        // Preempted, not woken.
        let script = script.wakes(0, 200, 7, 1).runs(1, 210, 0, 7).runs(1, 220, 7, 9);
        assert_eq!(found(&script.runs(1, 300, 9, 7)), [(7, 120, 30), (7, 200, 10)]);
    }

    #[test]
    fn a_thread_that_is_woken_twice_has_run_in_between() {
        let script = Script::new().wakes(0, 120, 7, 1).wakes(0, 500, 7, 1).runs(1, 510, 0, 7);
        assert_eq!(found(&script), [(7, 500, 10)]);
    }

    #[test]
    fn a_thread_that_still_runs_is_not_woken() {
        let script = Script::new().runs(1, 5, 0, 7).wakes_late(0, 120, 7, 1).runs(1, 150, 7, 9);
        let script = script.runs(1, 170, 9, 7);
        assert_eq!(found(&script), []);
        // It falls asleep first, and the second event of the wake-up follows.
        let script = script.wakes_late(0, 200, 7, 1).sleeps(1, 210, 7, 0).wakes(0, 220, 7, 1);
        assert_eq!(found(&script.runs(1, 250, 0, 7)), [(7, 220, 30)]);
    }

    #[test]
    fn a_run_without_its_switch_has_only_a_latest_moment() {
        let script = Script::new().wakes(0, 120, 7, 1).sleeps(1, 170, 7, 0);
        assert_eq!(found(&script), []);
        let trace = script.wakes(0, 200, 7, 1).runs(1, 210, 0, 7).trace();
        let mut wakeups = WakeUps::default();
        let seen = in_order(&trace.cpus).flat_map(|(place, event)| wakeups.see(place, &event));
        let seen: Vec<(u64, bool)> = seen.map(|it| (it.latency().get(), it.switch_seen)).collect();
        assert_eq!(seen, [(50, false), (10, true)]);
    }
}
