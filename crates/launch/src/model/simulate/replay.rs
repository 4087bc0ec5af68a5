//! A governor under an observed load: the CPUs' busy times are given, and the
//! frequencies are computed.

use unjank_host::Nanos;

use super::domain::Domain;
use super::evaluation_timing::{EvaluationTiming, Mistimed};
use super::{Machine, Transition};
use crate::model::clock::Khz;
use crate::model::governor::{Governor, NEVER, TaskChange};

/// An event on a CPU, in the scheduler's or the governor's view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CpuEvent {
    /// The CPU leaves idle and runs a task.
    Runs,
    /// The CPU goes idle.
    Idles,
    /// A task came to the CPU or left it; the CPU stays busy or idle.
    Switches,
    /// A tick came while the CPU ran a task of the fair scheduler.
    Ticks,
    /// An interrupt came while the CPU was idle; interrupts count as busy.
    Interrupted,
    /// The interrupt of [`Self::Interrupted`] is over.
    Resumes,
    /// The scheduler's call on the CPU requests an evaluation.
    Requests,
    /// The governor evaluates the load, as requested before.
    Evaluates,
}

/// The CPUs of one clock, as they were observed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observed {
    /// The frequency at the beginning.
    pub begins_at: Khz,
    /// Whether ticks are among the events; otherwise they come at multiples of
    /// their length.
    pub ticks: bool,
    /// Whether requests and evaluations are among the events; otherwise the
    /// model evaluates at once when its rule says. It cannot predict them: the
    /// kernel's work item waits for a CPU like any thread.
    pub evaluations: bool,
    /// Time, CPU and event, in order.
    pub cpu_events: Vec<(Nanos, usize, CpuEvent)>,
    /// End of the observation.
    pub end: Nanos,
}

/// A model's result for an observed load.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Replayed {
    /// The changes of frequency.
    pub transitions: Vec<Transition>,
    /// Evaluations of the kernel that break the model's rule, if evaluations were
    /// observed.
    pub mistimed: Vec<Mistimed>,
}

/// Replays `observed` under `governor`, on a machine whose CPUs share a clock.
pub fn replay(machine: &Machine, governor: Governor, observed: &Observed) -> Replayed {
    let mut domain = Domain::new(machine, governor);
    domain.begin_at(observed.begins_at);
    let mut timing = observed.evaluations.then(|| EvaluationTiming::new(machine.tick));
    let mut replayed = Replayed::default();
    let mut now = Nanos::ZERO;
    let mut khz = domain.khz();
    let mut cpu_events = observed.cpu_events.iter().peekable();
    loop {
        let ticks = !observed.ticks && timing.is_none();
        let tick = if ticks { domain.next_tick() } else { NEVER };
        let next = cpu_events.peek().map_or(NEVER, |(at, ..)| *at).min(tick);
        if next > observed.end {
            break;
        }
        domain.advance(next.max(now), next - now);
        now = now.max(next);
        if let Some((_, cpu, cpu_event)) = cpu_events.next_if(|(at, ..)| *at <= now) {
            match &mut timing {
                Some(timing) => observe(&mut domain, timing, now, *cpu, *cpu_event),
                None => follow(&mut domain, *cpu, *cpu_event),
            }
        } else {
            domain.tick();
        }
        if domain.khz() != khz {
            khz = domain.khz();
            replayed.transitions.push(Transition::new(now, 0, khz));
        }
    }
    if let Some(mut timing) = timing {
        timing.end(observed.end);
        replayed.mistimed = timing.mistimed;
    }
    replayed
}

/// Without observed evaluations: every event of the scheduler may be a call.
fn follow(domain: &mut Domain, cpu: usize, cpu_event: CpuEvent) {
    match cpu_event {
        CpuEvent::Runs => domain.switch(cpu, TaskChange::Came(1)),
        CpuEvent::Idles => domain.switch(cpu, TaskChange::Left(0)),
        CpuEvent::Switches | CpuEvent::Ticks => domain.poke(cpu),
        CpuEvent::Interrupted => domain.account(cpu, true),
        CpuEvent::Resumes => domain.account(cpu, false),
        CpuEvent::Requests | CpuEvent::Evaluates => {}
    }
}

/// With observed evaluations.
fn observe(
    domain: &mut Domain,
    timing: &mut EvaluationTiming,
    now: Nanos,
    cpu: usize,
    cpu_event: CpuEvent,
) {
    match cpu_event {
        CpuEvent::Runs | CpuEvent::Interrupted => domain.account(cpu, true),
        CpuEvent::Idles | CpuEvent::Resumes => domain.account(cpu, false),
        CpuEvent::Switches => {}
        CpuEvent::Ticks => timing.tick(now, domain.due()),
        CpuEvent::Requests => {
            timing.request(now, domain.due());
            domain.request_evaluation();
        }
        CpuEvent::Evaluates => {
            timing.done();
            domain.evaluate();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::clock::Ties;
    use crate::model::clock::tests::exynos_table;

    fn millis(millis: u64) -> Nanos {
        Nanos::from_millis(millis)
    }

    #[test]
    fn a_burst_is_followed() {
        let machine = Machine {
            table: exynos_table(),
            cpus: 1,
            shared: true,
            tick: millis(4),
            ties: Ties::Faster,
        };
        let found_governor = || Governor::named("ondemand", 1, millis(4)).unwrap();
        let observed = Observed {
            begins_at: Khz(500_000),
            ticks: false,
            evaluations: false,
            cpu_events: vec![
                (millis(1_001), 0, CpuEvent::Runs),
                (millis(1_002), 0, CpuEvent::Switches),
                (millis(1_300), 0, CpuEvent::Idles),
                (millis(2_000), 0, CpuEvent::Runs),
                (millis(2_001), 0, CpuEvent::Idles),
            ],
            end: millis(3_000),
        };
        let found: Vec<_> = replay(&machine, found_governor(), &observed)
            .transitions
            .iter()
            .map(|change| (change.at.0 / 1_000_000, change.khz.0 / 1_000))
            .collect();
        // It evaluates when the CPU wakes, and sees idle time; then at the tick
        // after a period. After the sleep the last load counts once more.
        assert_eq!(found, [(1_001, 200), (1_104, 1200)]);
        // Without ticks there is no evaluation before the CPU goes idle.
        let observed = Observed { ticks: true, ..observed };
        let found = replay(&machine, found_governor(), &observed);
        assert_eq!(found.transitions[1].at, millis(1_300));
    }

    #[test]
    fn an_evaluation_that_waited_for_a_cpu_sees_the_load_until_then() {
        let machine = Machine {
            table: exynos_table(),
            cpus: 1,
            shared: true,
            tick: millis(4),
            ties: Ties::Faster,
        };
        let governor = Governor::named("ondemand", 1, millis(4)).unwrap();
        let observed = |look| Observed {
            begins_at: Khz(500_000),
            ticks: true,
            evaluations: true,
            cpu_events: vec![
                (millis(100), 0, CpuEvent::Requests),
                (millis(100), 0, CpuEvent::Evaluates),
                (millis(185), 0, CpuEvent::Runs),
                (millis(200), 0, CpuEvent::Ticks),
                (millis(200), 0, CpuEvent::Requests),
                (millis(look), 0, CpuEvent::Evaluates),
                (millis(204), 0, CpuEvent::Idles),
                // A period after the request, not after the evaluation.
                (millis(300), 0, CpuEvent::Requests),
                (millis(301), 0, CpuEvent::Evaluates),
            ],
            end: millis(400),
        };
        let found = |look| {
            let replayed = replay(&machine, governor.clone(), &observed(look));
            assert_eq!(replayed.mistimed, []);
            let changes = replayed.transitions.iter();
            changes.map(|it| (it.at.0 / 1_000_000, it.khz.0 / 1_000)).collect::<Vec<_>>()
        };
        // 15 of 100 ms are 15 %: 350 MHz, as close to 500 as to 200; at 204 ms
        // 19 of 104 are 18 %. Then 4 of 101, or none of 97.
        assert_eq!(found(200), [(100, 200), (200, 500), (301, 200)]);
        assert_eq!(found(204), [(100, 200), (204, 500), (301, 200)]);
    }
}
