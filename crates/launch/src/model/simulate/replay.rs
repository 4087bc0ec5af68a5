//! A governor on a load that was observed: when CPUs were busy is given, and
//! only the frequencies are asked for.

use unjank_host::Nanos;

use super::domain::Domain;
use super::rhythm::{Misfit, Rhythm};
use super::{Machine, Transition};
use crate::model::clock::Khz;
use crate::model::governor::{Governor, NEVER, Switch};

/// What happened to a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happening {
    /// It was idle, and runs something.
    Runs,
    /// It has nothing to run any more.
    Idles,
    /// A task came to it or left it, and it goes on as before.
    Switches,
    /// A tick came while it ran a task of the fair scheduler.
    Ticks,
    /// It is idle, and an interrupt came, which counts as busy.
    Interrupted,
    /// That is over.
    Resumes,
    /// A call of the scheduler on it has asked the governor to look.
    Asks,
    /// The governor looks, having been asked to.
    Looks,
}

/// The CPUs of one clock, as they were observed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observed {
    /// The frequency at the beginning.
    pub begins_at: Khz,
    /// Whether ticks are among what happened; otherwise they come at multiples
    /// of their length.
    pub ticks: bool,
    /// Whether the moments at which the governor was asked and looked are
    /// among it; otherwise it looks when its rule says, at once. The model
    /// cannot know them: its work waits for a CPU like any thread.
    pub looks: bool,
    /// What happened when to which CPU, in order.
    pub happenings: Vec<(Nanos, usize, Happening)>,
    /// When the observation ends.
    pub end: Nanos,
}

/// What a model makes of an observation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Replayed {
    /// The changes of frequency.
    pub transitions: Vec<Transition>,
    /// Looks of the kernel that were not when the model's rule says, if looks
    /// are among what was observed.
    pub misfits: Vec<Misfit>,
}

/// What `governor` makes of it, on a machine whose CPUs share a clock.
pub fn replay(machine: &Machine, governor: Governor, observed: &Observed) -> Replayed {
    let mut domain = Domain::new(machine, governor);
    domain.begin_at(observed.begins_at);
    let mut rhythm = observed.looks.then(|| Rhythm::new(machine.tick));
    let mut replayed = Replayed::default();
    let mut now = Nanos::ZERO;
    let mut khz = domain.khz();
    let mut happenings = observed.happenings.iter().peekable();
    loop {
        let ticks = !observed.ticks && rhythm.is_none();
        let tick = if ticks { domain.next_tick() } else { NEVER };
        let next = happenings.peek().map_or(NEVER, |(at, ..)| *at).min(tick);
        if next > observed.end {
            break;
        }
        domain.advance(next.max(now), next - now);
        now = now.max(next);
        if let Some((_, cpu, happening)) = happenings.next_if(|(at, ..)| *at <= now) {
            match &mut rhythm {
                Some(rhythm) => observe(&mut domain, rhythm, now, *cpu, *happening),
                None => follow(&mut domain, *cpu, *happening),
            }
        } else {
            domain.tick();
        }
        if domain.khz() != khz {
            khz = domain.khz();
            replayed.transitions.push(Transition::new(now, 0, khz));
        }
    }
    if let Some(mut rhythm) = rhythm {
        rhythm.end(observed.end);
        replayed.misfits = rhythm.misfits;
    }
    replayed
}

/// Every event of the scheduler may be a call.
fn follow(domain: &mut Domain, cpu: usize, happening: Happening) {
    match happening {
        Happening::Runs => domain.switch(cpu, Switch::Came(1)),
        Happening::Idles => domain.switch(cpu, Switch::Left(0)),
        Happening::Switches | Happening::Ticks => domain.poke(cpu),
        Happening::Interrupted => domain.account(cpu, true),
        Happening::Resumes => domain.account(cpu, false),
        Happening::Asks | Happening::Looks => {}
    }
}

/// When the governor looks is known.
fn observe(domain: &mut Domain, rhythm: &mut Rhythm, now: Nanos, cpu: usize, happening: Happening) {
    match happening {
        Happening::Runs | Happening::Interrupted => domain.account(cpu, true),
        Happening::Idles | Happening::Resumes => domain.account(cpu, false),
        Happening::Switches => {}
        Happening::Ticks => rhythm.tick(now, domain.due()),
        Happening::Asks => {
            rhythm.ask(now, domain.due());
            domain.ask();
        }
        Happening::Looks => {
            rhythm.look();
            domain.look();
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
            looks: false,
            happenings: vec![
                (millis(1_001), 0, Happening::Runs),
                (millis(1_002), 0, Happening::Switches),
                (millis(1_300), 0, Happening::Idles),
                (millis(2_000), 0, Happening::Runs),
                (millis(2_001), 0, Happening::Idles),
            ],
            end: millis(3_000),
        };
        let found: Vec<_> = replay(&machine, found_governor(), &observed)
            .transitions
            .iter()
            .map(|change| (change.at.0 / 1_000_000, change.khz.0 / 1_000))
            .collect();
        // It looks when the CPU wakes, and has been idle; then at the tick
        // after a period. Out of the sleep the last load counts once more.
        assert_eq!(found, [(1_001, 200), (1_104, 1200)]);
        // Without a tick nobody looks before the CPU goes idle.
        let observed = Observed { ticks: true, ..observed };
        let found = replay(&machine, found_governor(), &observed);
        assert_eq!(found.transitions[1].at, millis(1_300));
    }

    #[test]
    fn a_look_that_waited_for_a_cpu_sees_what_was_until_then() {
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
            looks: true,
            happenings: vec![
                (millis(100), 0, Happening::Asks),
                (millis(100), 0, Happening::Looks),
                (millis(185), 0, Happening::Runs),
                (millis(200), 0, Happening::Ticks),
                (millis(200), 0, Happening::Asks),
                (millis(look), 0, Happening::Looks),
                (millis(204), 0, Happening::Idles),
                // A period after it was asked, not after it looked.
                (millis(300), 0, Happening::Asks),
                (millis(301), 0, Happening::Looks),
            ],
            end: millis(400),
        };
        let found = |look| {
            let replayed = replay(&machine, governor.clone(), &observed(look));
            assert_eq!(replayed.misfits, []);
            let changes = replayed.transitions.iter();
            changes.map(|it| (it.at.0 / 1_000_000, it.khz.0 / 1_000)).collect::<Vec<_>>()
        };
        // 15 of 100 ms are 15 %: 350 MHz, as close to 500 as to 200; at 204 ms
        // 19 of 104 are 18 %. Then 4 of 101, or none of 97.
        assert_eq!(found(200), [(100, 200), (200, 500), (301, 200)]);
        assert_eq!(found(204), [(100, 200), (204, 500), (301, 200)]);
    }
}
