//! From a trace to what the governor saw, and to what it did.

use unjank_host::tracefs::{Event, EventKind, Trace};
use unjank_host::{Hertz, Nanos, Timestamp};

use super::idle::{IdleBegins, IdleTime};
use super::policy::Policy;
use crate::model::Khz;
use crate::model::simulate::Transition;
use crate::model::simulate::replay::{CpuEvent, Observed};

/// Changes of one clock, in order.
pub(super) type Changes = Vec<Transition>;

/// What the policy's CPUs did between the two moments, with idle that begins
/// there, and what its clock did.
/// Times count from a tick shortly before the first.
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
    let mut events: Vec<(usize, &Event)> = trace
        .cpus
        .iter()
        .flat_map(|cpu| cpu.events_in(from, to).iter().map(|event| (cpu.cpu, event)))
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
        let now = at(event);
        // The kernel tells it for each CPU of the policy.
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
        let mut tell = |at, cpu_event| cpu_events.push((at, index, cpu_event));
        match event.kind {
            EventKind::Switch { next, .. } => fair[index] = next.prio >= FIRST_FAIR,
            // On a busy CPU the scheduler calls the governor at each tick, and
            // some of them come a little too early for it: they count as they
            // came.
            EventKind::VectorEntry(name) if name.as_bytes() == TIMER && !idle[index].is_idle() => {
                let since = phase.map(|phase| after_tick(event.at, phase, tick));
                if since.is_some_and(|since| since.0 < tick.0 / JITTER) {
                    tell(now, if fair[index] { CpuEvent::Ticks } else { CpuEvent::Switches });
                }
            }
            EventKind::WorkQueued { function } if policy.work.contains(&function) => {
                tell(now, CpuEvent::Requests);
            }
            EventKind::WorkBegins { function } if policy.work.contains(&function) => {
                tell(now, CpuEvent::Evaluates);
            }
            _ => {}
        }
        idle[index].on(now, &event.kind, &mut tell);
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
fn runs_at_first(events: &[(usize, &Event)], cpu: usize) -> bool {
    events.iter().filter(|(of, _)| *of == cpu).find_map(|(_, event)| match event.kind {
        EventKind::Switch { prev, .. } => Some(!prev.is_idle()),
        _ => None,
    }) == Some(true)
}

/// How long after a tick, at most, its interrupt is seen: this part of a tick.
const JITTER: u64 = 10;
const TIMER: &[u8] = b"local_timer";
/// Lower ones are those of real-time threads, whose ticks call nobody.
const FIRST_FAIR: i32 = 100;

/// How long after a tick `moment` is.
fn after_tick(moment: Timestamp, phase: u64, tick: Nanos) -> Nanos {
    Nanos((moment.as_nanos() % tick.0 + tick.0 - phase) % tick.0)
}

/// Where in their length ticks come. Those of all CPUs come at the same
/// moments, which the timer's interrupts show: most of them follow a tick.
/// `None` where these interrupts are not traced.
fn tick_phase(trace: &Trace, tick: Nanos) -> Option<u64> {
    let timers = trace.cpus.iter().flat_map(|cpu| &cpu.events).filter(
        |event| matches!(event.kind, EventKind::VectorEntry(name) if name.as_bytes() == TIMER),
    );
    let mut phases: Vec<u64> = timers.map(|event| event.at.as_nanos() % tick.0).collect();
    phases.sort_unstable();
    (!phases.is_empty()).then(|| densest(&phases, tick.0 / JITTER))
}

/// The beginning of the stretch of this length that holds most of the sorted
/// numbers; zero without any.
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
    fn most_timers_tell_the_tick() {
        assert_eq!(densest(&[], 10), 0);
        assert_eq!(densest(&[5, 100, 103, 104, 400, 900], 10), 100);
        assert_eq!(densest(&[7], 10), 7);
    }
}
