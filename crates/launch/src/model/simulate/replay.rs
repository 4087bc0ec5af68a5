//! A governor on a load that was observed: when CPUs were busy is given, and
//! only the frequencies are asked for.

use unjank_host::Nanos;

use super::domain::Domain;
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
    /// A task came to it or left it, or a tick came, and it goes on as before.
    Switches,
    /// It is idle, and an interrupt came, which counts as busy.
    Interrupted,
    /// That is over.
    Resumes,
}

/// The CPUs of one clock, as they were observed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observed {
    /// The frequency at the beginning.
    pub begins_at: Khz,
    /// Whether ticks are among what happened; otherwise they come at multiples
    /// of their length.
    pub ticks: bool,
    /// What happened when to which CPU, in order.
    pub happenings: Vec<(Nanos, usize, Happening)>,
    /// When the observation ends.
    pub end: Nanos,
}

/// The changes of frequency that `governor` makes of it, on a machine whose
/// CPUs share a clock.
pub fn replay(machine: &Machine, governor: Governor, observed: &Observed) -> Vec<Transition> {
    let mut domain = Domain::new(machine, governor);
    domain.begin_at(observed.begins_at);
    let mut transitions = Vec::new();
    let mut now = Nanos::ZERO;
    let mut khz = domain.khz();
    let mut happenings = observed.happenings.iter().peekable();
    loop {
        let tick = if observed.ticks { NEVER } else { domain.next_tick() };
        let next = happenings.peek().map_or(NEVER, |(at, ..)| *at).min(tick);
        if next > observed.end {
            return transitions;
        }
        domain.advance(next.max(now), next - now);
        now = now.max(next);
        if let Some((_, cpu, happening)) = happenings.next_if(|(at, ..)| *at <= now) {
            match happening {
                Happening::Runs => domain.switch(*cpu, Switch::Came(1)),
                Happening::Idles => domain.switch(*cpu, Switch::Left(0)),
                Happening::Switches => domain.poke(*cpu),
                Happening::Interrupted => domain.account(*cpu, true),
                Happening::Resumes => domain.account(*cpu, false),
            }
        } else {
            domain.tick();
        }
        if domain.khz() != khz {
            khz = domain.khz();
            transitions.push(Transition::new(now, 0, khz));
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
            .iter()
            .map(|change| (change.at.0 / 1_000_000, change.khz.0 / 1_000))
            .collect();
        // It looks when the CPU wakes, and has been idle; then at the tick
        // after a period. Out of the sleep the last load counts once more.
        assert_eq!(found, [(1_001, 200), (1_104, 1200)]);
        // Without a tick nobody looks before the CPU goes idle.
        let observed = Observed { ticks: true, ..observed };
        let found = replay(&machine, found_governor(), &observed);
        assert_eq!(found[1].at, millis(1_300));
    }
}
