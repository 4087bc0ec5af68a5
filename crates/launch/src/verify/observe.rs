//! Extracts the governor's input and its changes of frequency from a trace.

use unjank_host::tracefs::{Event, EventKind, Trace};
use unjank_host::{Hertz, Nanos, Timestamp};

use super::idle::{IdleBegins, IdleTime};
use super::policy::Policy;
use crate::model::Khz;
use crate::model::simulate::Transition;
use crate::model::simulate::replay::{CpuEvent, Observed};

/// Changes of one clock, in order.
pub(super) type Changes = Vec<Transition>;

/// The events on the policy's CPUs between two moments, and the changes of its
/// clock. Idle begins as in `begins`. Times count from a tick shortly before the
/// first moment.
pub(super) fn observe(
    policy: &Policy,
    before: Hertz,
    trace: &Trace,
    (from, to): (Timestamp, Timestamp),
    begins: IdleBegins,
) -> (Observed, Changes) {
    let tick = policy.machine.tick;
    let phase = tick_phase(trace, tick);
    let past = phase.map_or(0, |phase| after_tick(from, phase, tick).0);
    let zero = Timestamp::from_nanos(from.as_nanos().saturating_sub(past));
    let at = |event: &Event| event.at.since(zero);
    let mut cpu_events = Vec::new();
    let mut changes: Changes = Vec::new();
    let mut events: Vec<(usize, Event)> = trace
        .cpus
        .iter()
        .flat_map(|cpu| cpu.events_in(from, to).map(|event| (cpu.cpu, event)))
        .collect();
    events.sort_by_key(|(_, event)| event.at);
    let place = |cpu: usize| policy.cpus.iter().position(|known| known == cpu);
    for index in policy
        .cpus
        .iter()
        .enumerate()
        .filter_map(|(place, cpu)| runs_at_first(&events, cpu).then_some(place))
    {
        cpu_events.push((Nanos::ZERO, index, CpuEvent::Runs));
    }
    let mut khz = Khz::from(before);
    let mut idle = vec![IdleTime::new(true, begins); policy.machine.cpus];
    for (_, index, _) in &cpu_events {
        idle[*index] = IdleTime::new(false, begins);
    }
    let mut fair = vec![true; policy.machine.cpus];
    for (cpu, event) in events {
        let now = at(&event);
        // The kernel reports it for each CPU of the policy.
        if let EventKind::Frequency { cpu, frequency } = event.kind {
            if place(cpu) == Some(0) && Khz::from(frequency) != khz {
                khz = Khz::from(frequency);
                changes.push(Transition { at: now, clock: 0, khz });
            }
            continue;
        }
        if let EventKind::Wakeup { cpu, .. } = event.kind {
            if let Some(index) = place(cpu) {
                cpu_events.push((now, index, CpuEvent::Switches));
            }
            continue;
        }
        let Some(index) = place(cpu) else { continue };
        let mut emit = |at, cpu_event| cpu_events.push((at, index, cpu_event));
        match event.kind {
            EventKind::Switch { next, .. } => fair[index] = next.prio >= FIRST_FAIR,
            // On a busy CPU the scheduler calls the governor at each tick, even if
            // it comes a little too early for an evaluation.
            EventKind::VectorEntry(name) if name.as_bytes() == TIMER && !idle[index].is_idle() => {
                let since = phase.map(|phase| after_tick(event.at, phase, tick));
                if since.is_some_and(|since| since.0 < tick.0 / JITTER) {
                    emit(now, if fair[index] { CpuEvent::Ticks } else { CpuEvent::Switches });
                }
            }
            EventKind::WorkQueued { function, .. } if policy.work.contains(&function) => {
                emit(now, CpuEvent::Requests);
            }
            EventKind::WorkBegins { function, .. } if policy.work.contains(&function) => {
                emit(now, CpuEvent::Evaluates);
            }
            _ => {}
        }
        idle[index].on(now, &event.kind, &mut emit);
    }
    for (index, cpu) in idle.iter_mut().enumerate() {
        cpu.resume(&mut |at, cpu_event| cpu_events.push((at, index, cpu_event)));
    }
    cpu_events.sort_by_key(|(at, ..)| *at);
    let observed = Observed {
        begins_at: Khz::from(before),
        ticks: phase.is_some(),
        evaluations: !policy.work.is_empty(),
        cpu_events,
        end: to.since(zero),
    };
    (observed, changes)
}

/// Whether the CPU ran something before its first switch.
fn runs_at_first(events: &[(usize, Event)], cpu: usize) -> bool {
    events.iter().filter(|(of, _)| *of == cpu).find_map(|(_, event)| match event.kind {
        EventKind::Switch { prev, .. } => Some(!prev.is_idle()),
        _ => None,
    }) == Some(true)
}

/// The longest delay of a tick's interrupt, as a divisor of a tick's length.
const JITTER: u64 = 10;
const TIMER: &[u8] = b"local_timer";
/// Lower priorities are real-time threads, whose ticks do not call the governor.
const FIRST_FAIR: i32 = 100;

/// Time from the last tick to `moment`.
fn after_tick(moment: Timestamp, phase: u64, tick: Nanos) -> Nanos {
    Nanos((moment.as_nanos() % tick.0 + tick.0 - phase) % tick.0)
}

/// The phase of the ticks, modulo their length. All CPUs tick at the same moments,
/// and most timer interrupts follow a tick. `None` if these are not traced.
fn tick_phase(trace: &Trace, tick: Nanos) -> Option<u64> {
    let timers = trace.cpus.iter().flat_map(|cpu| &cpu.events).filter(
        |event| matches!(event.kind, EventKind::VectorEntry(name) if name.as_bytes() == TIMER),
    );
    let mut phases: Vec<u64> = timers.map(|event| event.at.as_nanos() % tick.0).collect();
    phases.sort_unstable();
    (!phases.is_empty()).then(|| densest(&phases, tick.0 / JITTER))
}

/// The beginning of the window of this length with the most of the sorted
/// numbers; zero without numbers.
fn densest(sorted: &[u64], length: u64) -> u64 {
    let mut best = (0, 0);
    let mut end = 0;
    for (begin, first) in sorted.iter().enumerate() {
        while end < sorted.len() && sorted[end] - first <= length {
            end += 1;
        }
        best = best.max((end - begin, sorted.len() - begin));
    }
    sorted.get(sorted.len().wrapping_sub(best.1)).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_phase_is_where_most_timers_fire() {
        assert_eq!(densest(&[], 10), 0);
        assert_eq!(densest(&[5, 100, 103, 104, 400, 900], 10), 100);
        assert_eq!(densest(&[7], 10), 7);
    }
}
