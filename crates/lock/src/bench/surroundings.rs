//! Sets up the environment of a cell: other work, a quota, a shared CPU.

use unjank_host::cgroup::cpu::{CpuGroup, Quota};
use unjank_host::journal::Session;
use unjank_host::process::HelperCommand;
use unjank_host::sched::CpuSet;
use unjank_host::{ErrorClass, Nanos, Root, Support};

use super::grid::Environment;
use super::peer::Peer;
use super::strategy::Strategy;
use super::trial::{Task, TrialResult};
use crate::energy::{ReadEnergy, TrialMeter};
use crate::error::{Error, Result};

/// The period of the quota: the default of the kernel and of container runtimes.
const PERIOD: Nanos = Nanos::from_millis(100);

/// Added to the nice value of every second thread in `priorities`.
const NICER: i32 = 10;

/// The means to set up an environment.
pub struct Setup<'a> {
    /// The machine whose control groups are used.
    pub root: &'a Root,
    /// The journal of the quota's control group, which removes it whatever happens.
    pub session: Option<&'a Session>,
    /// The command that starts the second process, which calls [`serve`](super::serve).
    pub peer: HelperCommand,
    /// The CPUs that threads may use.
    pub cpus: CpuSet,
    /// Measures the energy of trials.
    pub meter: TrialMeter,
}

/// One environment, set up until this is dropped.
pub(crate) struct Surroundings {
    environment: Environment,
    /// Runs the trials under a quota. Dropped before the group that it is in.
    elsewhere: Option<Peer>,
    group: Option<CpuGroup>,
    /// Keeps CPUs busy while it is there.
    load: Option<Peer>,
    first_cpu: Option<usize>,
}

impl Surroundings {
    /// Sets up an environment; `No` if this machine or user cannot.
    pub(crate) fn make(environment: Environment, setup: &Setup<'_>) -> Result<Support<Self>> {
        match Self::try_make(environment, setup) {
            Err(error) if error.class() == ErrorClass::Permission => {
                Ok(Support::No(error.to_string()))
            }
            made => made,
        }
    }

    fn try_make(environment: Environment, setup: &Setup<'_>) -> Result<Support<Self>> {
        let first_cpu = setup.cpus.iter().next();
        let mut scene = Self { environment, elsewhere: None, group: None, load: None, first_cpu };
        match environment {
            Environment::Idle | Environment::Priorities | Environment::Pinned => {}
            Environment::Load => {
                let mut load = Peer::start(&setup.peer, None)?;
                load.burn(setup.cpus.len())?;
                scene.load = Some(load);
            }
            Environment::Quota => {
                let Some(session) = setup.session else {
                    return Ok(Support::no("a control group needs a journal"));
                };
                let quota = Quota { time: half(setup.cpus.len()), period: PERIOD };
                let group = match CpuGroup::make(session, setup.root, quota)? {
                    Support::Yes(group) => group,
                    Support::No(reason) => return Ok(Support::No(reason)),
                };
                scene.elsewhere = Some(Peer::start(&setup.peer, Some(&group))?);
                scene.group = Some(group);
            }
        }
        Ok(Support::Yes(scene))
    }

    /// Runs a trial in this environment.
    pub(crate) fn run_trial(
        &mut self,
        strategy: Strategy,
        task: Task,
        energy: ReadEnergy<'_>,
    ) -> Result<TrialResult> {
        let task = Task {
            pinned: self.first_cpu.filter(|_| self.environment == Environment::Pinned),
            nicer: (self.environment == Environment::Priorities).then_some(NICER),
            ..task
        };
        match &mut self.elsewhere {
            Some(peer) => peer.run_trial(strategy, task),
            None => strategy.run_trial(task, energy),
        }
    }

    /// Under a quota: the number of periods in which threads were throttled.
    pub(crate) fn throttled(&self) -> Result<Option<u64>> {
        let throttled = self.group.as_ref().map(CpuGroup::throttled).transpose();
        throttled.map(Option::flatten).map_err(Error::from)
    }
}

/// Half of the CPU time of a period.
fn half(cpus: usize) -> Nanos {
    Nanos(PERIOD.times(cpus as u64).get() / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup(root: &Root) -> Setup<'_> {
        let peer = HelperCommand::new("/no/such/program", [""; 0]);
        let meter = TrialMeter::none("a test");
        Setup { root, session: None, peer, cpus: CpuSet::allowed().unwrap(), meter }
    }

    fn task() -> Task {
        let phase = Nanos::from_millis(2);
        Task { threads: 2, section: 5, outside: 5, phase, pinned: None, nicer: None }
    }

    #[test]
    fn threads_are_placed_without_another_process() {
        let root = Root::system();
        for environment in [Environment::Idle, Environment::Priorities, Environment::Pinned] {
            let scene = Surroundings::make(environment, &setup(&root)).unwrap();
            let result =
                scene.yes().unwrap().run_trial(Strategy::control(), task(), &|| None).unwrap();
            assert_eq!(result.operations.len(), 2);
        }
    }

    #[test]
    fn an_environment_that_cannot_be_set_up_has_a_reason() {
        let root = Root::system();
        let quota = Surroundings::make(Environment::Quota, &setup(&root)).unwrap();
        assert_eq!(quota.reason(), Some("a control group needs a journal"));
        assert!(Surroundings::make(Environment::Load, &setup(&root)).is_err());
    }

    #[test]
    fn half_of_two_cpus_is_one() {
        assert_eq!(half(2), PERIOD);
        assert_eq!(half(1), Nanos::from_millis(50));
    }
}
