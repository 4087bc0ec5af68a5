//! What is compared: ways to wait for a lock.

use unjank_host::{Error, Result};

use super::peers::{Crossbeam, ParkingLot, Pthread, PthreadAdaptive, PthreadPi, Spin, Std, Unjank};
use super::section::{Nothing, Section};
use super::sleep_loops::{Busy, PauseYield, Sleep0, Sleep1};
use super::visit::{self, ReadEnergy, Seen, Task, Visit};
use crate::error;

/// A way to wait, by its name.
#[derive(Debug, Clone, Copy)]
pub struct Strategy {
    /// As it is typed and printed.
    pub name: &'static str,
    /// What it does while it waits.
    pub about: &'static str,
    /// Whether it is measured unless others are asked for.
    pub usual: bool,
    visit: fn(&Visit<'_>) -> error::Result<Seen>,
    uncontended: fn() -> error::Result<f64>,
}

/// All strategies. To add one is to add a line.
static STRATEGIES: &[Strategy] = &[
    Strategy::of::<Std>("std", "100 pauses with a look each, then futex").usual(),
    Strategy::of::<ParkingLot>("parking_lot", "2, 4, 8 pauses, 7 yields, then parked").usual(),
    Strategy::of::<Unjank>(
        "unjank",
        "spins while that is worth it, then futex; rests where one thread keeps the lock busy",
    )
    .usual(),
    Strategy::of::<PauseYield>("pause-yield", "100 pauses with a look each, then sched_yield")
        .usual(),
    Strategy::of::<Busy>("busy", "tries for ever"),
    Strategy::of::<Sleep0>("sleep0", "sched_yield between two tries"),
    Strategy::of::<Sleep1>("sleep1", "a sleep of 1 ms between two tries"),
    Strategy::of::<Crossbeam>("crossbeam", "Backoff: 1 to 64 pauses, then yields for ever"),
    Strategy::of::<Spin>("spin", "pauses with a look each, for ever"),
    Strategy::of::<Pthread>("pthread", "futex at once"),
    Strategy::of::<PthreadAdaptive>(
        "pthread-adaptive",
        "a number of pauses that it learns, then futex",
    ),
    Strategy::of::<PthreadPi>("pthread-pi", "futex at once, lending its priority"),
];

/// What takes no lock: what runnable threads lose without one.
static CONTROL: Strategy = Strategy::of::<Nothing>("no lock", "waits for nobody");

impl Strategy {
    /// All that there are.
    pub fn all() -> &'static [Self] {
        STRATEGIES
    }

    /// The one with this name.
    ///
    /// # Errors
    /// `Invalid` names those that there are.
    pub fn named(name: &str) -> Result<Self> {
        STRATEGIES.iter().copied().find(|strategy| strategy.name == name).ok_or_else(|| {
            let names: Vec<&str> = STRATEGIES.iter().map(|strategy| strategy.name).collect();
            Error::Invalid(format!("there is no strategy {name:?}, only {}", names.join(", ")))
        })
    }

    /// The control, which takes no lock.
    pub(crate) fn control() -> Self {
        CONTROL
    }

    /// Whether this is the control.
    pub(crate) fn is_control(self) -> bool {
        self.name == CONTROL.name
    }

    /// Of any name, the control's too.
    pub(crate) fn of_visit(name: &str) -> Result<Self> {
        if name == CONTROL.name { Ok(CONTROL) } else { Self::named(name) }
    }

    /// Measures one visit.
    pub(crate) fn visit(self, task: Task, energy: ReadEnergy<'_>) -> error::Result<Seen> {
        (self.visit)(&Visit { task, strategy: self.name, energy })
    }

    /// What one empty section costs a thread that is alone, in nanoseconds.
    pub(crate) fn uncontended(self) -> error::Result<f64> {
        (self.uncontended)()
    }

    const fn of<L: Section>(name: &'static str, about: &'static str) -> Self {
        Self {
            name,
            about,
            usual: false,
            visit: visit::run::<L>,
            uncontended: visit::uncontended::<L>,
        }
    }

    const fn usual(self) -> Self {
        Self { usual: true, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_strategy_is_found_by_a_name_of_its_own() {
        for (place, strategy) in STRATEGIES.iter().enumerate() {
            assert_eq!(Strategy::named(strategy.name).unwrap().about, strategy.about);
            assert!(STRATEGIES[..place].iter().all(|other| other.name != strategy.name));
        }
        let error = Strategy::named("hope").unwrap_err().to_string();
        assert!(
            error.starts_with("there is no strategy \"hope\", only std, parking_lot"),
            "{error}"
        );
        assert!(Strategy::named(CONTROL.name).is_err(), "it cannot be typed");
        assert!(Strategy::of_visit(CONTROL.name).unwrap().is_control());
    }
}
