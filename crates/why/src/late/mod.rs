//! The threads that were late in a recording for which nobody has named a thread: those that a wait
//! held up which they did not choose.
//!
//! A thread that sleeps until a message or a key comes waits of its own will. These waits it does
//! not choose:
//!
//! - for a CPU, after it was woken. A thread that computes all the time and is preempted is not late
//!   in this sense: it has no moment at which somebody waits for it;
//! - in an uninterruptible sleep: for storage, for a page, for a lock of the kernel;
//! - for a packet that TCP had to send again, because the network lost it or was slow;
//! - while a signal has stopped it. Who waited for it meanwhile, and was woken by it soon after it
//!   went on, is later than the stopped thread itself.
//!
//! Waits of one kind that follow each other closely are a delay, too: a thread that reads a thousand
//! pages from storage is late by all of them. But one long wait is more conspicuous: such runs come
//! after all single waits that people notice.

mod delay;
mod network;
mod runs;

use std::collections::HashMap;

use foldhash::fast::RandomState;
use unjank_host::Timestamp;
use unjank_host::input::Stop;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{Event, EventKind, PrevState, Trace};
use unjank_units::Nanos;

use crate::history::{History, Origin, Span, State, Wait};
pub use delay::{Delay, HeldUp};
use runs::Runs;

/// The shortest wait that people notice.
pub const NOTICEABLE: Nanos = Nanos::from_millis(10);
/// A stop of a thread that is shorter than this is no stall: shells and debuggers stop programs for
/// moments.
const SHORTEST_STOP: Nanos = Nanos::from_millis(20);
/// A thread that the stopped one wakes within this time after it went on has waited for it.
const SOON: Nanos = Nanos::from_millis(50);

/// The longest wait of each kind of each thread between two moments, and the longest run of waits:
/// first the single waits of 10 ms or longer, then the others, the longest of both first. Those that
/// began before `from` count from their beginning. Kernel threads and the threads of `without` are
/// left out. After a stop request, some are missing.
pub fn delays(
    trace: &Trace,
    history: &History,
    (from, to): (Timestamp, Timestamp),
    without: impl Fn(ThreadId) -> bool,
    stop: &Stop,
) -> Vec<Delay> {
    let wakings = wakings(trace, stop);
    let mut all = Runs::in_window(from, to);
    let mut add = |delay: Delay| {
        let is_empty = delay.from >= delay.to;
        if is_empty || history.is_kernel(delay.thread) || without(delay.thread) {
            return;
        }
        let is_broken = delay.by == HeldUp::RunQueue
            && wakings.get(&delay.thread).is_some_and(|all| has_between(all, &delay));
        if !is_broken {
            all.add(delay);
        }
    };
    for (thread, life) in history.lives() {
        if stop.is_requested() {
            break;
        }
        waits_for_cpu(thread, life.spans.iter(), &mut add);
    }
    let stops = stops_of_threads(history);
    for (&thread, stopped) in &stops {
        for &(from, to) in stopped {
            add(Delay::new(thread, (from, to), HeldUp::Stopped));
        }
    }
    blocked(trace, to, stop, &mut add);
    stalled(history, &stops, stop, &mut add);
    network::waits(trace, history, stop, &mut add);
    let mut delays = all.longest();
    // A thread that waited for a stopped one is the one that users see, but its wait is a moment
    // shorter: a stop counts half.
    let weight = |delay: &Delay| match delay.by {
        HeldUp::Stopped => delay.length().get() / 2,
        _ => delay.length().get(),
    };
    delays.sort_by_key(|delay| {
        let is_noticed = delay.waits == 1 && delay.length() >= NOTICEABLE;
        (!is_noticed, std::cmp::Reverse(weight(delay)), delay.thread.0, delay.by)
    });
    delays
}

/// When each thread was woken, in order.
fn wakings(trace: &Trace, stop: &Stop) -> HashMap<ThreadId, Vec<Timestamp>, RandomState> {
    let mut wakings: HashMap<ThreadId, Vec<Timestamp>, RandomState> = HashMap::default();
    let events = trace.cpus.iter().flat_map(|cpu| cpu.events.iter());
    for event in events.take_while(|_| !stop.is_requested()) {
        if let EventKind::Waking { task, .. } = event.kind {
            wakings.entry(task.tid).or_default().push(event.at);
        }
    }
    for all in wakings.values_mut() {
        all.sort_unstable();
    }
    wakings
}

/// Whether a thread was woken again in a wait for a CPU. Only a sleeper is woken (`ttwu_state_match`
/// of `kernel/sched/core.c`), so it ran and slept in between, and the trace lacks that.
fn has_between(wakings: &[Timestamp], delay: &Delay) -> bool {
    let after = wakings.partition_point(|at| *at <= delay.from);
    wakings.get(after).is_some_and(|at| *at < delay.to)
}

/// Times from a wake-up to the run after it, or to the end of the recording. A wait whose run the
/// trace lacks is left out.
fn waits_for_cpu(thread: ThreadId, spans: impl Iterator<Item = Span>, add: &mut impl FnMut(Delay)) {
    let (mut was_asleep, mut waits) = (false, None);
    for span in spans {
        match span.state {
            State::Asleep { .. } => (was_asleep, waits) = (true, None),
            State::Woken { .. } | State::Ready { .. } if was_asleep => {
                let (from, _) = waits.unwrap_or((span.from, span.to));
                waits = Some((from, span.to));
            }
            State::Woken { .. } | State::Ready { .. } => {}
            State::Running { .. } => {
                if let Some((from, to)) = waits.take() {
                    add(Delay::new(thread, (from, to), HeldUp::RunQueue));
                }
                was_asleep = false;
            }
        }
    }
    if let Some((from, to)) = waits {
        add(Delay::new(thread, (from, to), HeldUp::RunQueue));
    }
}

/// The stops of each thread by signals.
type Stops = HashMap<ThreadId, Vec<(Timestamp, Timestamp)>, RandomState>;

fn stops_of_threads(history: &History) -> Stops {
    let mut stops = Stops::default();
    for (thread, life) in history.lives() {
        let stopped = life.spans.iter().filter(|span| {
            let is_stop = matches!(span.state, State::Asleep { wait: Wait::Stopped, .. });
            is_stop && span.to.since(span.from) >= SHORTEST_STOP
        });
        let stopped: Vec<_> = stopped.map(|span| (span.from, span.to)).collect();
        if !stopped.is_empty() {
            stops.insert(thread, stopped);
        }
    }
    stops
}

/// Sleeps that signals do not end, from the switch to the wake-up.
fn blocked(trace: &Trace, to: Timestamp, stop: &Stop, add: &mut impl FnMut(Delay)) {
    // The events of all CPUs by time: the wake-up is on another CPU than the switch.
    let cpus = trace.cpus.iter().flat_map(|cpu| cpu.events.iter());
    let is_part =
        |event: &Event| matches!(event.kind, EventKind::Switch { .. } | EventKind::Waking { .. });
    let mut events: Vec<Event> =
        cpus.take_while(|_| !stop.is_requested()).filter(is_part).collect();
    // A thread is woken before it runs.
    events.sort_by_key(|event| (event.at, matches!(event.kind, EventKind::Switch { .. })));
    let mut since: HashMap<ThreadId, Timestamp, RandomState> = HashMap::default();
    for event in events {
        match event.kind {
            EventKind::Switch { prev, prev_state, next } => {
                // Whoever runs has been woken, though the trace lacks that.
                since.remove(&next.tid);
                since.remove(&prev.tid);
                if prev_state == PrevState::Uninterruptible {
                    since.insert(prev.tid, event.at);
                }
            }
            EventKind::Waking { task, .. } => {
                if let Some(from) = since.remove(&task.tid) {
                    add(Delay::new(task.tid, (from, event.at), HeldUp::Blocked));
                }
            }
            _ => {}
        }
    }
    for (thread, from) in since {
        add(Delay::new(thread, (from, to), HeldUp::Blocked));
    }
}

/// Sleeps that ended soon after another thread went on that had been stopped, by a wake-up of that
/// thread.
fn stalled(history: &History, stops: &Stops, stop: &Stop, add: &mut impl FnMut(Delay)) {
    if stops.is_empty() {
        return;
    }
    for (thread, life) in history.lives().take_while(|_| !stop.is_requested()) {
        for span in life.spans.iter() {
            let State::Asleep { wake: Some(wake), .. } = span.state else { continue };
            let Origin::Thread(waker) = wake.by else { continue };
            let Some(stops) = stops.get(&waker) else { continue };
            let during = stops.iter().find(|(begun, ended)| {
                span.from < *ended
                    && wake.at >= *ended
                    && wake.at <= *ended + SOON
                    && *begun < wake.at
            });
            if let Some(&(begun, _)) = during {
                let from = span.from.max(begun);
                let delay = Delay::new(thread, (from, wake.at), HeldUp::Stalled);
                add(Delay { behind: Some(waker), ..delay });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::tracefs::script::{Script, at};

    use super::*;

    const MS: u64 = 1_000_000;

    fn found(script: &Script, to: u64) -> Vec<(u32, u64, HeldUp)> {
        let trace = script.trace();
        let history = History::of(&trace);
        let none = |_| false;
        let delays = delays(&trace, &history, (at(0), at(to)), none, &Stop::default());
        delays.iter().map(|it| (it.thread.0, it.length().get(), it.by)).collect()
    }

    #[test]
    fn who_waits_for_a_cpu_after_a_wake_up_is_late_and_a_preempted_hog_is_not() {
        let script = Script::new()
            .runs(0, 0, 0, 7)
            .sleeps(0, 10, 7, 9)
            .wakes(1, 100, 7, 0)
            // The hog 9 has the CPU until 900, and is then preempted for long.
            .runs(0, 900, 9, 7)
            .runs(0, 5_000, 7, 9);
        assert_eq!(found(&script, 6_000), [(7, 800, HeldUp::RunQueue)]);
    }

    #[test]
    fn a_thread_that_is_woken_twice_has_run_in_between() {
        let script = Script::new()
            .runs(0, 0, 0, 7)
            .sleeps(0, 10, 7, 0)
            .wakes(1, 100, 7, 0)
            .wakes(1, 5_000, 7, 0)
            .runs(0, 6_000, 0, 7);
        assert_eq!(found(&script, 7_000), []);
    }

    #[test]
    fn an_uninterruptible_sleep_counts_and_another_does_not() {
        let script = Script::new()
            .runs(0, 0, 0, 7)
            .blocks(0, 100, 7, 8)
            .sleeps(0, 200, 8, 0)
            .wakes(1, 5_100, 7, 0)
            .runs(0, 5_101, 0, 7)
            .wakes(1, 9_000, 8, 1)
            .runs(1, 9_001, 0, 8);
        let found = found(&script, 10_000);
        let run_queue = [7, 8].map(|thread| (thread, 1, HeldUp::RunQueue));
        assert_eq!(found, [&[(7, 5_000, HeldUp::Blocked)], &run_queue[..]].concat());
    }

    #[test]
    fn many_short_waits_are_one_delay_and_rare_ones_are_not() {
        let mut script = Script::new().runs(0, 0, 0, 7);
        // Ten times 3 ms behind 1 ms of work, then one of 5 ms behind 30 ms.
        for page in 0..10 {
            let from = (1 + 4 * page) * MS;
            script = script.blocks(0, from, 7, 0).wakes(1, from + 3 * MS, 7, 0);
            script = script.runs(0, from + 3 * MS, 0, 7);
        }
        let script = script
            .blocks(0, 70 * MS, 7, 0)
            .wakes(1, 75 * MS, 7, 0)
            .runs(0, 75 * MS, 0, 7)
            .sleeps(0, 76 * MS, 7, 0);
        let expected = [(7, 39 * MS, HeldUp::Blocked), (7, 5 * MS, HeldUp::Blocked)];
        assert_eq!(found(&script, 100 * MS), expected);
        // One long wait comes first.
        let script = script.blocks(0, 80 * MS, 8, 0).wakes(1, 91 * MS, 8, 0).runs(0, 91 * MS, 0, 8);
        assert_eq!(found(&script, 100 * MS)[..2], [(8, 11 * MS, HeldUp::Blocked), expected[0]]);
    }

    #[test]
    fn a_sleep_without_an_end_lasts_until_the_end_of_the_search() {
        let script = Script::new().runs(0, 0, 0, 7).blocks(0, 100, 7, 0);
        assert_eq!(found(&script, 4_100), [(7, 4_000, HeldUp::Blocked)]);
    }

    #[test]
    fn a_thread_that_runs_has_been_woken() {
        let script = Script::new()
            .runs(0, 0, 0, 7)
            .blocks(0, 100, 7, 0)
            .runs(0, 500, 0, 7)
            .sleeps(0, 600, 7, 0)
            .wakes(1, 9_000, 7, 0)
            .runs(0, 9_001, 0, 7);
        let found = found(&script, 10_000);
        assert!(!found.iter().any(|(_, _, by)| *by == HeldUp::Blocked), "{found:?}");
    }

    #[test]
    fn who_waits_for_a_stopped_thread_is_stalled() {
        let script = Script::new()
            .runs(0, 0, 0, 7)
            .sleeps(0, 10 * MS, 7, 0)
            .runs(1, 0, 0, 8)
            .stops(1, 20 * MS, 8, 0)
            .wakes(2, 320 * MS, 8, 1)
            .runs(1, 320 * MS + 5, 0, 8)
            .wakes(1, 330 * MS, 7, 0)
            .runs(0, 330 * MS + 5, 0, 7);
        let found = found(&script, 400 * MS);
        assert_eq!(found[..2], [(7, 310 * MS, HeldUp::Stalled), (8, 300 * MS, HeldUp::Stopped)]);
    }
}
