//! The wake-ups of each thread, and the longest of all.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use unjank_host::Nanos;
use unjank_host::input::{Stop, Stopped};
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{Gaps, Roster, Trace, WakeUp, WakeUps, in_order};
use unjank_measure::Series;
use unjank_measure::stats::ExactTimes;

use super::options::Options;

/// The wake-ups that are explained and summed up: the longest of all.
const EXPLAINED: usize = 256;

/// The series with all wake-ups.
pub(super) const SERIES: &str = "jitter/trace/wakeup";

/// The chosen wake-ups of a recording.
pub(super) struct Wakes {
    /// The latencies of all.
    pub(super) all: Series,
    /// The number of latencies above the limit.
    pub(super) late: u64,
    /// Each thread, the one with the longest latency first.
    pub(super) threads: Vec<ThreadWakes>,
    /// The longest of all, longest first.
    pub(super) longest: Vec<WakeUp>,
    /// Wake-ups that were left out, because events of that time may be missing.
    pub(super) in_gaps: u64,
    /// Wake-ups that were left out, because the recording lacks the switch to the thread.
    pub(super) without_switch: u64,
    /// Those of them that may be late.
    pub(super) maybe_late: u64,
}

/// The wake-ups of one thread.
pub(super) struct ThreadWakes {
    pub(super) thread: ThreadId,
    pub(super) times: ExactTimes,
    pub(super) worst: WakeUp,
}

impl Wakes {
    pub(super) fn of(
        trace: &Trace,
        roster: &Roster,
        options: &Options,
        stop: &Stop,
    ) -> Result<Self, Stopped> {
        let (from, to) = options.window;
        let gaps = Gaps::of(trace);
        let mut all = Series::new(SERIES).with_course(from, to.since(from));
        let (mut late, mut in_gaps) = (0, 0);
        let (mut without_switch, mut maybe_late) = (0, 0);
        let mut chosen: HashMap<ThreadId, bool> = HashMap::new();
        let mut threads: HashMap<ThreadId, (Vec<Nanos>, WakeUp)> = HashMap::new();
        let mut longest = BinaryHeap::new();
        let mut wakeups = WakeUps::default();
        for (place, event) in in_order(&trace.cpus) {
            if stop.is_requested() {
                return Err(Stopped);
            }
            for wakeup in wakeups.see(place, &event) {
                let is_chosen = || options.is_chosen(wakeup.thread, roster);
                if wakeup.woken < from
                    || wakeup.ran > to
                    || !*chosen.entry(wakeup.thread).or_insert_with(is_chosen)
                {
                    continue;
                }
                if gaps.overlap(wakeup.woken, wakeup.ran) {
                    in_gaps += 1;
                    continue;
                }
                let latency = wakeup.latency();
                let is_late = u64::from(latency > options.late);
                if !wakeup.switch_seen {
                    without_switch += 1;
                    maybe_late += is_late;
                    continue;
                }
                all.record_at(wakeup.ran, latency);
                late += is_late;
                let (times, worst) =
                    threads.entry(wakeup.thread).or_insert_with(|| (Vec::new(), wakeup));
                times.push(latency);
                if latency > worst.latency() {
                    *worst = wakeup;
                }
                longest.push(Reverse(ByLatency(wakeup)));
                if longest.len() > EXPLAINED {
                    longest.pop();
                }
            }
        }
        let mut threads: Vec<ThreadWakes> = threads
            .into_iter()
            .map(|(thread, (times, worst))| ThreadWakes {
                thread,
                times: times.into_iter().collect(),
                worst,
            })
            .collect();
        threads.sort_by_key(|it| (Reverse(it.worst.latency()), it.thread.0));
        let longest = longest.into_sorted_vec();
        let longest = longest.into_iter().map(|Reverse(ByLatency(wakeup))| wakeup).collect();
        Ok(Self { all, late, threads, longest, in_gaps, without_switch, maybe_late })
    }
}

/// A wake-up in the order of its latency; of equal ones, the first is the longer.
#[derive(PartialEq, Eq)]
struct ByLatency(WakeUp);

impl ByLatency {
    fn key(&self) -> impl Ord {
        (self.0.latency(), Reverse(self.0.ran), Reverse(self.0.thread.0))
    }
}

impl Ord for ByLatency {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for ByLatency {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Options {
    fn is_chosen(&self, thread: ThreadId, roster: &Roster) -> bool {
        let is_named = self.thread.as_ref().is_none_or(|pattern| {
            roster.name_of(thread).is_some_and(|name| pattern.matches(&name.to_string()))
        });
        is_named && self.only.as_ref().is_none_or(|only| only.contains(&thread))
    }
}
