//! Simulated launches: load profiles under a governor, its tunables and boosts.
//!
//! | module | subject |
//! |---|---|
//! | `boost_kind` | the boosts that a governor accepts |
//! | `boosts` | the same launches under several boosts |
//! | [`sweep`] | many values of tunables, and their Pareto front |
//! | [`paper`] | Jo & Suh's experiment |

mod boost_kind;
mod boosts;
pub mod paper;
pub mod sweep;

use rayon::prelude::*;
use unjank_host::{Error, Joules, Nanos, Result};

use crate::model::governor::{CpuActivity, Governor, NAMES};
use crate::model::simulate::Phases;
use crate::model::{Boost, Clock, Launch, Machine, Profile, Tunable, Write, over_phases};

pub use boost_kind::{BoostKind, BoostTimes};
pub use boosts::run;
pub use sweep::{Sweep, run_sweep};

/// The machine, the governor and the launches of a simulation.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// The simulated device.
    pub machine: Machine,
    /// The governor's name.
    pub governor: String,
    /// Values of its tunables; others keep their defaults.
    pub values: Vec<Write>,
    /// The launches, each simulated by itself.
    pub profiles: Vec<Profile>,
    /// Number of moments within the governor's period at which each begins.
    pub phases: u32,
}

/// A boost with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedBoost {
    /// Its name: the label `boost` of its results.
    pub name: String,
    /// The writes of the boost.
    pub boost: Boost,
    /// Whether the governor is `performance` instead, all the time.
    pub performance: bool,
}

/// Means over the launches of all profiles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Mean {
    /// Length, in seconds.
    pub(crate) launch: f64,
    /// Energy of the CPUs.
    pub(crate) cpu: Joules,
    /// Energy of the device.
    pub(crate) device: Joules,
}

impl Mean {
    pub(crate) fn of(phases: &[Phases]) -> Self {
        let count = phases.len().max(1) as f64;
        let mean = |of: &dyn Fn(&Phases) -> f64| phases.iter().map(of).sum::<f64>() / count;
        Self {
            launch: mean(&Phases::mean_seconds),
            cpu: Joules(mean(&|phases| phases.cpu.0)),
            device: Joules(mean(&|phases| phases.device.0)),
        }
    }
}

impl Scenario {
    /// The governor with its values.
    ///
    /// # Errors
    /// `Invalid` if the name is unknown, or the governor refuses a value.
    pub fn governor(&self) -> Result<Governor> {
        self.governor_with(&[])
    }

    fn governor_with(&self, more: &[Write]) -> Result<Governor> {
        let cpus = self.machine.cpus_of_a_clock();
        let mut governor =
            Governor::named(&self.governor, cpus, self.machine.tick).ok_or_else(|| {
                let known = NAMES.join(", ");
                Error::Invalid(format!(
                    "unknown governor {:?}; expected one of {known}",
                    self.governor
                ))
            })?;
        let mut clock = Clock::new(&self.machine.table, self.machine.ties);
        let busy = vec![Nanos::ZERO; cpus];
        let activity = CpuActivity { now: Nanos::ZERO, busy: &busy, running: 0 };
        for write in self.values.iter().chain(more) {
            if matches!(write.tunable, Tunable::MinFreq | Tunable::MaxFreq) {
                return Err(Error::Invalid(format!(
                    "{} is a limit of the policy, not a tunable of the governor; --boost min-freq \
                     raises it",
                    write.tunable
                )));
            }
            governor
                .write(*write, &activity, &mut clock)
                .map_err(|refused| Error::Invalid(format!("{}: {refused}", self.governor)))?;
        }
        Ok(governor)
    }

    /// Every profile under `boost`, at all phases.
    fn simulate(&self, governor: &Governor, boost: &Boost) -> Result<Vec<Phases>> {
        self.profiles.iter().map(|profile| self.one(governor, boost, profile)).collect()
    }

    fn one(&self, governor: &Governor, boost: &Boost, profile: &Profile) -> Result<Phases> {
        let launch = Launch {
            machine: &self.machine,
            governor,
            profile,
            boost,
            phase: Nanos::ZERO,
            record: false,
        };
        launch
            .check()
            .map_err(|refused| Error::Invalid(format!("{}: {refused}", self.governor)))?;
        over_phases(&launch, governor.period(), self.phases).ok_or_else(|| {
            Error::Invalid(format!(
                "profile {:?} has not ended after ten minutes under {}",
                profile.name, self.governor
            ))
        })
    }

    /// Every profile under several boosts, in parallel.
    fn simulate_all(&self, boosts: &[NamedBoost]) -> Result<Vec<Vec<Phases>>> {
        let usual = self.governor()?;
        boosts
            .par_iter()
            .map(|named| {
                let governor = if named.performance { &Governor::Performance } else { &usual };
                self.simulate(governor, &named.boost)
            })
            .collect()
    }
}

/// Checks the sizes of a machine: at most 64 CPUs, and 10 to 10,000 ticks a second.
///
/// # Errors
/// `Invalid` with the reason.
pub fn check(machine: &Machine) -> Result<()> {
    if machine.cpus == 0 || machine.cpus > 64 {
        return Err(Error::Invalid(format!("{} CPUs; 1 to 64 are possible", machine.cpus)));
    }
    if machine.tick < Nanos::from_micros(100) || machine.tick > Nanos::from_millis(100) {
        return Err(Error::Invalid(format!(
            "a tick of {} is not between 10 and 10,000 a second",
            machine.tick
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Ties;
    use crate::model::clock::tests::exynos_table;

    pub(super) fn machine(cpus: usize) -> Machine {
        Machine {
            table: exynos_table(),
            cpus,
            shared: true,
            tick: Nanos::from_millis(5),
            ties: Ties::Faster,
        }
    }

    pub(super) fn scenario(governor: &str) -> Scenario {
        Scenario {
            machine: machine(1),
            governor: governor.to_owned(),
            values: Vec::new(),
            profiles: vec![Profile::launch(Nanos::from_millis(500), Nanos::ZERO, 1)],
            phases: 20,
        }
    }

    pub(super) fn boost(name: &str, boost: Boost) -> NamedBoost {
        NamedBoost { name: name.to_owned(), boost, performance: false }
    }

    #[test]
    fn limits_are_no_tunables_of_a_governor() {
        let mut scenario = scenario("ondemand");
        scenario.values = vec![Write { tunable: Tunable::MinFreq, value: 1 }];
        assert!(scenario.governor().unwrap_err().to_string().contains("a limit of the policy"));
    }

    #[test]
    fn machines_have_sane_sizes() {
        assert!(check(&machine(2)).is_ok());
        assert!(check(&machine(65)).is_err());
        assert!(check(&Machine { tick: Nanos::ZERO, ..machine(1) }).is_err());
    }
}
