//! What goes on around a cell: other work, a quota, a shared CPU.

use unjank_host::cgroup::cpu::{CpuGroup, Quota};
use unjank_host::journal::Session;
use unjank_host::sched::CpuSet;
use unjank_host::{ErrorClass, Nanos, Root, Support};

use super::grid::Environment;
use super::peer::{Peer, PeerCommand};
use super::strategy::Strategy;
use super::visit::{ReadEnergy, Seen, Task};
use crate::error::{Error, Result};

/// The period of the quota: the kernel's default, and what container runtimes
/// set.
const PERIOD: Nanos = Nanos::from_millis(100);

/// What every second thread is nicer by, among mixed priorities.
const NICER: i32 = 10;

/// What it takes to change the surroundings.
pub struct Means<'a> {
    /// The machine.
    pub root: &'a Root,
    /// For the control group of a quota: it is removed whatever happens.
    pub session: Option<&'a Session>,
    /// Starts the second process.
    pub peer: PeerCommand,
    /// The CPUs that threads may use.
    pub cpus: CpuSet,
}

/// The surroundings of the cells of one environment. They end when this is
/// dropped.
pub(crate) struct Surroundings {
    environment: Environment,
    /// Gone before the group that it is in.
    elsewhere: Option<Peer>,
    group: Option<CpuGroup>,
    /// Keeps CPUs busy while it is there.
    load: Option<Peer>,
    first_cpu: Option<usize>,
}

impl Surroundings {
    /// Sets the scene; `No` where this machine, or this user, cannot.
    pub(crate) fn make(environment: Environment, means: &Means<'_>) -> Result<Support<Self>> {
        match Self::try_make(environment, means) {
            Err(error) if error.class() == ErrorClass::Permission => {
                Ok(Support::No(error.to_string()))
            }
            made => made,
        }
    }

    fn try_make(environment: Environment, means: &Means<'_>) -> Result<Support<Self>> {
        let first_cpu = means.cpus.iter().next();
        let mut scene = Self { environment, elsewhere: None, group: None, load: None, first_cpu };
        match environment {
            Environment::Idle | Environment::Priorities | Environment::Pinned => {}
            Environment::Load => {
                let mut load = Peer::start(&means.peer, None)?;
                load.burn(means.cpus.len())?;
                scene.load = Some(load);
            }
            Environment::Quota => {
                let Some(session) = means.session else {
                    return Ok(Support::no("without a journal no control group is made"));
                };
                let quota = Quota { time: half(means.cpus.len()), period: PERIOD };
                let group = match CpuGroup::make(session, means.root, quota)? {
                    Support::Yes(group) => group,
                    Support::No(reason) => return Ok(Support::No(reason)),
                };
                scene.elsewhere = Some(Peer::start(&means.peer, Some(&group))?);
                scene.group = Some(group);
            }
        }
        Ok(Support::Yes(scene))
    }

    /// Makes a visit here.
    pub(crate) fn visit(
        &mut self,
        strategy: Strategy,
        task: Task,
        energy: ReadEnergy<'_>,
    ) -> Result<Seen> {
        let task = Task {
            pinned: self.first_cpu.filter(|_| self.environment == Environment::Pinned),
            nicer: (self.environment == Environment::Priorities).then_some(NICER),
            ..task
        };
        match &mut self.elsewhere {
            Some(peer) => peer.visit(strategy, task),
            None => strategy.visit(task, energy),
        }
    }

    /// Periods in which threads had to wait for the next one, under a quota.
    pub(crate) fn throttled(&self) -> Result<Option<u64>> {
        let throttled = self.group.as_ref().map(CpuGroup::throttled).transpose();
        throttled.map(Option::flatten).map_err(Error::from)
    }
}

/// Half of the time that so many CPUs have in a period.
fn half(cpus: usize) -> Nanos {
    Nanos(PERIOD.times(cpus as u64).get() / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn means(root: &Root) -> Means<'_> {
        let peer = PeerCommand { program: "/no/such/program".into(), arguments: Vec::new() };
        Means { root, session: None, peer, cpus: CpuSet::allowed().unwrap() }
    }

    fn task() -> Task {
        let phase = Nanos::from_millis(2);
        Task { threads: 2, section: 5, outside: 5, phase, pinned: None, nicer: None }
    }

    #[test]
    fn threads_are_placed_without_another_process() {
        let root = Root::system();
        for environment in [Environment::Idle, Environment::Priorities, Environment::Pinned] {
            let scene = Surroundings::make(environment, &means(&root)).unwrap();
            let seen = scene.yes().unwrap().visit(Strategy::control(), task(), &|| None).unwrap();
            assert_eq!(seen.operations.len(), 2);
        }
    }

    #[test]
    fn what_is_missing_is_told() {
        let root = Root::system();
        let quota = Surroundings::make(Environment::Quota, &means(&root)).unwrap();
        assert_eq!(quota.reason(), Some("without a journal no control group is made"));
        assert!(Surroundings::make(Environment::Load, &means(&root)).is_err());
    }

    #[test]
    fn half_of_two_cpus_is_one() {
        assert_eq!(half(2), PERIOD);
        assert_eq!(half(1), Nanos::from_millis(50));
    }
}
