//! The occupants of the CPUs that the path waited for: threads, interrupts, idle states.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use foldhash::fast::RandomState;
use unjank_host::input::Stop;
use unjank_host::tracefs::Occupant;
use unjank_measure::Unit;
use unjank_measure::number::counted;
use unjank_measure::record::{Cell as TableCell, Column, Table};
use unjank_units::Nanos;

use super::explained::Explained;
use crate::path::{Activity, Detail, Segment};

/// The most rows of the table. The rows for wake-ups on an idle CPU are always shown beside them.
const SHOWN: usize = 5;
/// The name of the time from a wake-up to the run on an idle CPU, when no thread has the CPU. The
/// number of the idle state follows, if the trace has it.
const FROM_IDLE: &str = "waking up from idle";
/// The name of time on an idle CPU that is longer than a wake-up takes.
pub(super) const HELD_BACK: &str = "nobody (a CPU limit of its group?)";
/// The name of time in which the thread has the CPU already. It is short, or else the recording lacks
/// a switch.
pub(super) const ITSELF: &str = "moving to it";
/// The longest time from a wake-up to the run on an idle CPU. CPUs leave the deepest idle states
/// within some hundred microseconds.
const LONGEST_FROM_IDLE: Nanos = Nanos::from_millis(1);

/// A row for each occupant of the CPUs that the path waited for, by name, the longest first;
/// `None` if the path never waited for a CPU. After a stop request, some are missing.
pub(super) fn table(launch: &Explained, stop: &Stop) -> Option<Table> {
    let segments = launch.path().segments.iter();
    let times = occupants(launch, segments.take_while(|_| !stop.is_requested()));
    let all = times.values().fold(Nanos::ZERO, |sum, &time| sum + time);
    let mut times: Vec<(String, Nanos)> = times.into_iter().collect();
    times.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    if times.is_empty() {
        return None;
    }
    let columns = [
        Column::text("who had the CPU"),
        Column::of("time", Unit::Nanoseconds),
        Column::of("share", Unit::Ratio),
    ];
    let title = "Who had the CPU while it waited in the run queue";
    let share = |time: Nanos| time.get() as f64 / (all.get() as f64).max(1.0);
    let mut table = Table::new("why/run_queue", title, columns);
    let mut add = |name: &str, time: Nanos| {
        let time_cell = TableCell::number(time.get() as f64);
        table.push([name.into(), time_cell, TableCell::number(share(time))]);
    };
    let (first, rest) = times.split_at(SHOWN.min(times.len()));
    let (from_idle, others): (Vec<_>, Vec<_>) =
        rest.iter().partition(|(name, _)| name.starts_with(FROM_IDLE));
    for (name, time) in first.iter().chain(from_idle) {
        add(name, *time);
    }
    if !others.is_empty() {
        let time = others.iter().fold(Nanos::ZERO, |sum, (_, time)| sum + *time);
        let others = counted(others.len(), "other", "others");
        table = table.with_note(format!("{others}: {time} in all"));
    }
    Some(table)
}

/// The occupants of the CPU while the path waited for it in these segments, by name, with
/// their times. While a thread is on the way to the run queue, only the idle state that the CPU
/// leaves for it counts. Segments of other activities are left out.
pub(super) fn occupants<'a>(
    launch: &Explained,
    segments: impl IntoIterator<Item = &'a Segment>,
) -> BTreeMap<String, Nanos> {
    let mut times: HashMap<CpuHolder, Nanos, RandomState> = HashMap::default();
    for segment in segments {
        let is_waking = match segment.activity {
            Activity::RunQueue => false,
            Activity::Waking => true,
            _ => continue,
        };
        let Detail::Cpu(cpu) = segment.detail else { continue };
        let Some(trace) = launch.trace.cpu(cpu) else { continue };
        let stretches = trace.between(segment.from, segment.to);
        let idle = stretches.iter().filter(|it| matches!(it.who, Occupant::Idle(_)));
        let idle = idle.fold(Nanos::ZERO, |sum, stretch| sum + stretch.length());
        for stretch in stretches {
            let who = match stretch.who {
                Occupant::Idle(state @ Some(_)) if is_waking => CpuHolder::FromIdle(state),
                _ if is_waking => continue,
                Occupant::Idle(_) if idle > LONGEST_FROM_IDLE => CpuHolder::HeldBack,
                Occupant::Idle(state) => CpuHolder::FromIdle(state),
                Occupant::Thread(task) if task.tid == segment.thread => CpuHolder::Itself,
                who => CpuHolder::Other(who),
            };
            let time = times.entry(who).or_default();
            *time = *time + stretch.length();
        }
    }
    let mut by_name: BTreeMap<String, Nanos> = BTreeMap::new();
    for (who, time) in times {
        let sum = by_name.entry(who.to_string()).or_default();
        *sum = *sum + time;
    }
    by_name
}

/// The occupant of a CPU that a thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum CpuHolder {
    /// The CPU is idle, in this state if the trace has it.
    FromIdle(Option<u32>),
    HeldBack,
    /// It runs already: the thread is on its way.
    Itself,
    Other(Occupant),
}

impl fmt::Display for CpuHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FromIdle(None) => f.write_str(FROM_IDLE),
            Self::FromIdle(Some(state)) => write!(f, "{FROM_IDLE} state {state}"),
            Self::HeldBack => f.write_str(HELD_BACK),
            Self::Itself => f.write_str(ITSELF),
            Self::Other(who) => who.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::tracefs::script::Script;

    use super::*;
    use crate::report::scripted::explained;

    fn names(script: &Script, end: u64) -> Vec<String> {
        let launch = explained(script, end);
        occupants(&launch, &launch.path().segments).into_keys().collect()
    }

    #[test]
    fn a_thread_that_an_idle_cpu_does_not_run_for_long_is_not_waking_up() {
        let stopped = Script::new().runs(0, 0, 0, 7).runs(0, 100, 7, 0).runs(0, 50_000_100, 0, 7);
        let stopped = stopped.sleeps(0, 50_000_200, 7, 0);
        assert_eq!(names(&stopped, 50_000_200), [HELD_BACK]);
        let woken = Script::new().runs(0, 0, 0, 7).sleeps(0, 100, 7, 0).wakes(1, 200, 7, 0);
        let woken = woken.runs(0, 50_200, 0, 7).sleeps(0, 50_300, 7, 0);
        assert_eq!(names(&woken, 50_300), [FROM_IDLE]);
    }

    #[test]
    fn the_time_of_those_without_a_row_is_noted() {
        // Seven threads have the CPU for 100 to 700 ns before thread 7 gets it.
        let script = (1..=7_u32).fold(Script::new().runs(0, 0, 0, 7), |script, n| {
            let from = (1..n).map(|n| 100 * u64::from(n)).sum::<u64>();
            script.runs(0, 10 + from, if n == 1 { 7 } else { 99 + n }, 100 + n)
        });
        let script = script.runs(0, 2_810, 107, 7).sleeps(0, 2_820, 7, 0);
        let table = table(&explained(&script, 2_820), &Stop::default()).unwrap();
        assert_eq!(table.rows.len(), SHOWN);
        assert_eq!(table.notes, ["2 others: 300 ns in all"]);
    }

    #[test]
    fn the_idle_state_that_a_cpu_leaves_is_named() {
        // CPU 0 is in state 3 until 60 ns after the call for it, and idle for 20 ns more.
        let script = Script::new()
            .runs(0, 0, 0, 7)
            .sleeps(0, 100, 7, 0)
            .idles(0, 110, Some(3))
            .wakes_late(1, 200, 7, 0)
            .idles(0, 260, None)
            .wakes(0, 265, 7, 0)
            .runs(0, 280, 0, 7)
            .sleeps(0, 300, 7, 0);
        let launch = explained(&script, 300);
        let times = occupants(&launch, &launch.path().segments);
        let times: Vec<_> = times.iter().map(|(who, time)| (who.as_str(), time.get())).collect();
        assert_eq!(times, [(FROM_IDLE, 15), ("waking up from idle state 3", 60)]);
    }
}
