//! Waits of one kind that follow each other closely, as one delay.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;
use unjank_units::Nanos;

use super::delay::{Delay, HeldUp};

/// The longest time between two waits of one delay.
const APART: Nanos = Nanos::from_millis(20);

/// The waits of one kind of a thread.
#[derive(Debug, Clone, Copy)]
struct Waits {
    /// The longest one.
    longest: Option<Delay>,
    /// The longest run of several.
    longest_run: Option<Delay>,
    /// The run that goes on.
    run: Delay,
    /// The time in it that was waited.
    waited: Nanos,
}

impl Waits {
    /// The run with one more wait, if the thread waited for at least half of the time then.
    fn run_with(&self, next: Delay) -> Option<Delay> {
        let run = self.run;
        let longer = Delay { to: next.to.max(run.to), waits: run.waits.saturating_add(1), ..run };
        let is_close = next.from.since(run.to) <= APART && next.behind == run.behind;
        let waited = self.waited + next.length();
        (is_close && waited + waited >= longer.length()).then_some(longer)
    }
}

/// The longest waits, and runs of waits, of each kind of each thread in a window.
pub(super) struct Runs {
    window: (Timestamp, Timestamp),
    of_threads: HashMap<(ThreadId, HeldUp), Waits, RandomState>,
}

impl Runs {
    /// Finds those that reach into a window.
    pub(super) fn in_window(from: Timestamp, to: Timestamp) -> Self {
        Self { window: (from, to), of_threads: HashMap::default() }
    }

    /// Adds a wait. Those of a thread and kind come in order.
    pub(super) fn add(&mut self, delay: Delay) {
        let window = self.window;
        let is_in = is_in(window, &delay).then_some(delay);
        let key = (delay.thread, delay.by);
        let Some(waits) = self.of_threads.get_mut(&key) else {
            let waited = delay.length();
            let waits = Waits { longest: is_in, longest_run: None, run: delay, waited };
            self.of_threads.insert(key, waits);
            return;
        };
        waits.longest = longer(waits.longest, is_in);
        if let Some(run) = waits.run_with(delay) {
            (waits.run, waits.waited) = (run, waits.waited + delay.length());
        } else {
            waits.longest_run = longer(waits.longest_run, several(window, waits.run));
            (waits.run, waits.waited) = (delay, delay.length());
        }
    }

    /// The longest ones.
    pub(super) fn longest(self) -> Vec<Delay> {
        let window = self.window;
        let all = self.of_threads.into_values().flat_map(|waits| {
            [waits.longest, longer(waits.longest_run, several(window, waits.run))]
        });
        all.flatten().collect()
    }
}

/// A run in a window, if it has several waits.
fn several(window: (Timestamp, Timestamp), run: Delay) -> Option<Delay> {
    (run.waits > 1 && is_in(window, &run)).then_some(run)
}

fn is_in((from, to): (Timestamp, Timestamp), delay: &Delay) -> bool {
    delay.to > from && delay.from < to
}

/// The longer one of two delays, or the first one.
fn longer(one: Option<Delay>, other: Option<Delay>) -> Option<Delay> {
    match (one, other) {
        (Some(one), Some(other)) if other.length() > one.length() => Some(other),
        (one, other) => one.or(other),
    }
}
