//! From a trace to what the governor saw, and to what it did.

use unjank_host::tracefs::{Event, EventKind, Trace};
use unjank_host::{Hertz, Nanos, Timestamp};

use super::policy::Policy;
use crate::model::Khz;
use crate::model::simulate::Transition;
use crate::model::simulate::replay::{Happening, Observed};

/// Changes of one clock, in order.
pub(super) type Changes = Vec<Transition>;

/// What the policy's CPUs did between the two moments, and what its clock did.
/// Times count from a tick shortly before the first.
pub(super) fn observe(
    policy: &Policy,
    before: Hertz,
    trace: &Trace,
    from: Timestamp,
    to: Timestamp,
) -> (Observed, Changes) {
    let zero = tick_before(trace, from, policy.machine.tick);
    let at = |event: &Event| event.at.since(zero);
    let mut happenings = Vec::new();
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
        happenings.push((Nanos::ZERO, index, Happening::Runs));
    }
    let mut khz = Khz::from(before);
    for (cpu, event) in events {
        match event.kind {
            EventKind::Switch { prev, next, .. } => {
                let Some(index) = place(cpu) else { continue };
                let happening = match (prev.is_idle(), next.is_idle()) {
                    (true, false) => Happening::Runs,
                    (false, true) => Happening::Idles,
                    _ => Happening::Switches,
                };
                happenings.push((at(event), index, happening));
            }
            EventKind::Wakeup { cpu, .. } => {
                let Some(index) = place(cpu) else { continue };
                happenings.push((at(event), index, Happening::Switches));
            }
            // The kernel tells it for each CPU of the policy.
            EventKind::Frequency { cpu, frequency }
                if place(cpu) == Some(0) && Khz::from(frequency) != khz =>
            {
                khz = Khz::from(frequency);
                changes.push(Transition { at: at(event), clock: 0, khz });
            }
            _ => {}
        }
    }
    happenings.sort_by_key(|(at, ..)| *at);
    (Observed { begins_at: Khz::from(before), happenings, end: to.since(zero) }, changes)
}

/// Whether the CPU ran something before its first switch.
fn runs_at_first(events: &[(usize, &Event)], cpu: usize) -> bool {
    events.iter().filter(|(of, _)| *of == cpu).find_map(|(_, event)| match event.kind {
        EventKind::Switch { prev, .. } => Some(!prev.is_idle()),
        _ => None,
    }) == Some(true)
}

/// A moment before `from` at which a tick came, or would have. Ticks of all
/// CPUs come at the same moments, which the timer's interrupts show: those of
/// busy CPUs follow each tick, so most lie soon after one.
fn tick_before(trace: &Trace, from: Timestamp, tick: Nanos) -> Timestamp {
    let timers = trace.cpus.iter().flat_map(|cpu| &cpu.events).filter(|event| {
        matches!(event.kind, EventKind::VectorEntry(name) if name.as_bytes() == b"local_timer")
    });
    let mut phases: Vec<u64> = timers.map(|event| event.at.as_nanos() % tick.0).collect();
    phases.sort_unstable();
    let phase = densest(&phases, tick.0 / 40);
    let past = (from.as_nanos() % tick.0 + tick.0 - phase) % tick.0;
    Timestamp::from_nanos(from.as_nanos().saturating_sub(past))
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
