//! The table of strategies: ways to wait for a lock.

use unjank_host::{Error, Result};

use super::library_locks::{
    Crossbeam, ParkingLot, Pthread, PthreadAdaptive, PthreadPi, Spin, Std, Unjank,
};
use super::sleep_loops::{Busy, PauseYield, Sleep0, Sleep1};
use super::tested_lock::{NoLock, TestedLock};
use super::trial::{self, Task, Trial, TrialResult};
use crate::energy::ReadEnergy;
use crate::error;

/// A way to wait for a lock.
#[derive(Debug, Clone, Copy)]
pub struct Strategy {
    /// The name, as typed and printed.
    pub name: &'static str,
    /// Behaviour of a waiting thread, in a few words.
    pub about: &'static str,
    /// Whether it is measured by default.
    pub usual: bool,
    trial: fn(&Trial<'_>) -> error::Result<TrialResult>,
    uncontended: fn() -> error::Result<f64>,
}

/// All strategies. A new one needs only a new line.
static STRATEGIES: &[Strategy] = &[
    Strategy::of::<Std>("std", "100 pauses with a look each, then futex").usual(),
    Strategy::of::<ParkingLot>("parking_lot", "2, 4, 8 pauses, 7 yields, then parked").usual(),
    Strategy::of::<Unjank>(
        "unjank",
        "spins while that pays, then futex; rests while one thread keeps the lock busy",
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

/// The control, which takes no lock: it shows the delays that locks do not cause.
static CONTROL: Strategy = Strategy::of::<NoLock>("no lock", "does not wait");

impl Strategy {
    /// All strategies, without the control.
    pub fn all() -> &'static [Self] {
        STRATEGIES
    }

    /// The strategy with this name.
    ///
    /// # Errors
    /// `Invalid`, with all names, if there is none.
    pub fn named(name: &str) -> Result<Self> {
        STRATEGIES.iter().copied().find(|strategy| strategy.name == name).ok_or_else(|| {
            let names: Vec<&str> = STRATEGIES.iter().map(|strategy| strategy.name).collect();
            Error::Invalid(format!(
                "unknown strategy {name:?}; expected one of {}",
                names.join(", ")
            ))
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

    /// The strategy with this name, which may be the control's.
    pub(crate) fn of_trial(name: &str) -> Result<Self> {
        if name == CONTROL.name { Ok(CONTROL) } else { Self::named(name) }
    }

    /// Runs one trial.
    pub(crate) fn run_trial(
        self,
        task: Task,
        energy: ReadEnergy<'_>,
    ) -> error::Result<TrialResult> {
        (self.trial)(&Trial { task, strategy: self.name, energy })
    }

    /// The cost of an uncontended empty section, in nanoseconds.
    pub(crate) fn uncontended(self) -> error::Result<f64> {
        (self.uncontended)()
    }

    const fn of<L: TestedLock>(name: &'static str, about: &'static str) -> Self {
        Self {
            name,
            about,
            usual: false,
            trial: trial::run::<L>,
            uncontended: trial::uncontended::<L>,
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
            error.starts_with("unknown strategy \"hope\"; expected one of std, parking_lot"),
            "{error}"
        );
        assert!(Strategy::named(CONTROL.name).is_err(), "it cannot be typed");
        assert!(Strategy::of_trial(CONTROL.name).unwrap().is_control());
    }
}
