//! Refuses recordings whose times cannot be compared.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::hash_map::Entry;
use std::collections::{BinaryHeap, HashMap};

use foldhash::fast::RandomState;

use unjank_units::Nanos;

use super::super::event::EventKind;
use super::super::events::Iter as EventsIter;
use super::super::trace::{CpuTrace, Gap, Trace};
use super::fault::Fault;
use super::recorded::Recorded;
use crate::clock::Timestamp;
use crate::input::Stop;
use crate::sched::ThreadId;

/// Trace clocks that count nanoseconds (`Documentation/trace/ftrace.rst`).
const IN_NANOSECONDS: [&str; 7] = ["local", "global", "perf", "mono", "mono_raw", "boot", "tai"];
/// Up to this, a difference between the clocks of two CPUs is ignored. Times in text are
/// rounded to microseconds.
const HARMLESS: Nanos = Nanos::from_micros(2);

/// Checks that the times of a recording can be compared.
pub(super) fn check(recorded: &Recorded, stop: &Stop) -> Result<(), Fault> {
    if let Some(clock) = &recorded.clock
        && !IN_NANOSECONDS.contains(&clock.as_str())
    {
        return Err(Fault::of_file(format!(
            "its clock {clock:?} does not count nanoseconds; record with trace-cmd record -C mono"
        )));
    }
    let found = disagreement(&recorded.trace, stop);
    if stop.is_requested() {
        return Err(Fault::stopped());
    }
    match found {
        Some(Disagreement { cpus: (one, other), thread, by }) => Err(Fault::of_file(format!(
            "the clocks of CPUs {one} and {other} differ by {by} or more: {thread} would have run \
             on both at once; record with trace-cmd record -C mono"
        ))),
        None => Ok(()),
    }
}

/// A thread that would have run on two CPUs at once.
#[derive(Debug, PartialEq, Eq)]
struct Disagreement {
    cpus: (usize, usize),
    thread: ThreadId,
    by: Nanos,
}

/// A time in which a thread had a CPU, from switch to switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Run {
    from: Timestamp,
    to: Timestamp,
    cpu: usize,
    thread: ThreadId,
}

/// The longest overlap of two runs of one thread on different CPUs, which shows that their clocks
/// differ. After a stop request, only a part of the trace is searched.
fn disagreement(trace: &Trace, stop: &Stop) -> Option<Disagreement> {
    let mut cpus: Vec<Runs<'_>> = trace.cpus.iter().map(Runs::of).collect();
    // The next run of each CPU, the earliest of which comes next: so only one for each CPU and
    // thread is in memory.
    let mut next: BinaryHeap<Reverse<(Run, usize)>> = BinaryHeap::new();
    for (place, runs) in cpus.iter_mut().enumerate() {
        next.extend(runs.next().map(|run| Reverse((run, place))));
    }
    let mut last: HashMap<ThreadId, Run, RandomState> = HashMap::default();
    let mut worst: Option<Disagreement> = None;
    while let Some(mut earliest) = next.peek_mut() {
        if stop.is_requested() {
            return worst;
        }
        let Reverse((run, place)) = *earliest;
        match cpus.get_mut(place).and_then(Iterator::next) {
            Some(following) => *earliest = Reverse((following, place)),
            None => drop(PeekMut::pop(earliest)),
        }
        let Entry::Occupied(mut former) = last.entry(run.thread) else {
            last.insert(run.thread, run);
            continue;
        };
        let former = former.get_mut();
        if former.cpu != run.cpu {
            let cpus = (former.cpu.min(run.cpu), former.cpu.max(run.cpu));
            let by = former.to.min(run.to).since(run.from);
            let found = Disagreement { cpus, thread: run.thread, by };
            let rank = |found: &Disagreement| (found.by, found.thread.0);
            if worst.as_ref().is_none_or(|worst| rank(worst) < rank(&found)) {
                worst = Some(found);
            }
        }
        // A run on a CPU whose clock is late may contain several of the other's.
        if former.to <= run.to {
            *former = run;
        }
    }
    worst.filter(|overlap| overlap.by > HARMLESS)
}

/// The runs of all threads on one CPU in their order, except those in which events may be missing.
struct Runs<'a> {
    cpu: usize,
    events: EventsIter<'a>,
    gaps: &'a [Gap],
    since: Option<(ThreadId, Timestamp)>,
}

impl<'a> Runs<'a> {
    fn of(trace: &'a CpuTrace) -> Self {
        Self { cpu: trace.cpu, events: trace.events.iter(), gaps: &trace.gaps, since: None }
    }
}

impl Iterator for Runs<'_> {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        loop {
            let event = self.events.next()?;
            let EventKind::Switch { prev, next, .. } = event.kind else { continue };
            let began = self.since.replace((next.tid, event.at));
            let began = began.filter(|(thread, _)| *thread == prev.tid && !prev.is_idle());
            let Some((thread, from)) = began else { continue };
            while let [first, rest @ ..] = self.gaps
                && first.to <= from
            {
                self.gaps = rest;
            }
            let whole = !self.gaps.first().is_some_and(|gap| gap.overlaps(from, event.at));
            if whole {
                return Some(Run { from, to: event.at, cpu: self.cpu, thread });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::script::Script;
    use super::*;

    fn check(recorded: &Recorded) -> Result<(), Fault> {
        super::check(recorded, &Stop::default())
    }

    fn recorded(clock: &str, trace: Trace) -> Recorded {
        Recorded { trace, clock: Some(clock.to_owned()), ..Recorded::default() }
    }

    #[test]
    fn a_clock_that_does_not_count_nanoseconds_is_refused() {
        for clock in IN_NANOSECONDS {
            assert_eq!(check(&recorded(clock, Trace::default())), Ok(()));
        }
        let fault = check(&recorded("x86-tsc", Trace::default())).unwrap_err();
        assert!(fault.to_string().starts_with("its clock \"x86-tsc\" does not count"), "{fault}");
    }

    #[test]
    fn a_run_that_contains_others_is_compared_with_each() {
        let long = Script::new().runs(0, 10_000, 0, 7).runs(0, 900_000, 7, 0);
        let two = long.runs(1, 20_000, 0, 7).sleeps(1, 30_000, 7, 0);
        let three = two.runs(2, 700_000, 0, 7).sleeps(2, 800_000, 7, 0);
        let fault = check(&recorded("local", three.trace())).unwrap_err();
        let expected = "the clocks of CPUs 0 and 2 differ by 100 µs or more: thread 7 would";
        assert!(fault.to_string().starts_with(expected), "{fault}");
    }

    #[test]
    fn a_thread_on_two_cpus_at_once_shows_that_their_clocks_differ() {
        let moves = |back: u64| {
            let first = Script::new().runs(0, 10_000, 0, 7).runs(0, 90_000, 7, 0);
            first.runs(1, 100_000 - back, 0, 7).sleeps(1, 150_000, 7, 0)
        };
        assert_eq!(check(&recorded("local", moves(0).trace())), Ok(()));
        assert_eq!(check(&recorded("local", moves(12_000).trace())), Ok(()), "harmless");
        let fault = check(&recorded("local", moves(60_000).trace())).unwrap_err();
        let expected = "the clocks of CPUs 0 and 1 differ by 50.0 µs or more: thread 7 would";
        assert!(fault.to_string().starts_with(expected), "{fault}");
        let gap = moves(60_000).loses(0, 20_000, 30_000);
        assert_eq!(check(&recorded("local", gap.trace())), Ok(()), "it may have left in between");
    }
}
