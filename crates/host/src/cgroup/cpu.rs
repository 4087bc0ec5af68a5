//! A control group of limited CPU time for a program and all that it starts:
//! `Documentation/scheduler/sched-bwc.rst`.

use std::process::Command;

use crate::cgroup::ControlGroup;
use crate::error::Result;
use crate::journal::Session;
use crate::root::Root;
use crate::support::Support;
use unjank_units::Nanos;

/// How much CPU time a group has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// CPU time in each period, of all CPUs together. The kernel takes no less
    /// than a millisecond.
    pub time: Nanos,
    /// The period, from one millisecond to one second.
    pub period: Nanos,
}

/// A control group whose members have no more than so much CPU time together.
/// When this is dropped, they are killed and the group is removed; it is in
/// the session's journal, in case this process is killed.
#[derive(Debug)]
pub struct CpuGroup(ControlGroup);

impl CpuGroup {
    /// Makes a group with the quota; `No` where there is no CPU controller, or
    /// a kernel without `CONFIG_CFS_BANDWIDTH`.
    ///
    /// # Errors
    /// As [`Session::make_directory`]; a quota that the kernel refuses.
    pub fn make(session: &Session, root: &Root, quota: Quota) -> Result<Support<Self>> {
        let group = match ControlGroup::make(session, root, "cpu")? {
            Support::Yes(group) => group,
            Support::No(reason) => return Ok(Support::No(reason)),
        };
        let file = if group.version() == 1 { "cpu.cfs_quota_us" } else { "cpu.max" };
        if root.read_if_there(group.file(file))?.is_none() {
            return Ok(Support::no("this kernel has no quotas (CONFIG_CFS_BANDWIDTH)"));
        }
        for (name, value) in settings(group.version(), quota) {
            group.write(name, &value)?;
        }
        Ok(Support::Yes(Self(group)))
    }

    /// Has `command` run in the group, from its first instruction.
    ///
    /// # Errors
    /// `File` if the group cannot be entered.
    pub fn enter(&self, command: &mut Command) -> Result<()> {
        self.0.enter(command)
    }

    /// Periods in which members had to wait for the next one (`nr_throttled`);
    /// `None` if the kernel does not say.
    ///
    /// # Errors
    /// `File` if `cpu.stat` cannot be read.
    pub fn throttled(&self) -> Result<Option<u64>> {
        Ok(throttled(&self.0.read("cpu.stat")?))
    }
}

fn throttled(stat: &str) -> Option<u64> {
    stat.lines().find_map(|line| line.strip_prefix("nr_throttled ")?.trim().parse().ok())
}

/// The files and what is to be written into them, in order.
fn settings(version: u8, quota: Quota) -> Vec<(&'static str, String)> {
    let micros = |time: Nanos| time.get() / 1_000;
    let (time, period) = (micros(quota.time), micros(quota.period));
    if version == 1 {
        vec![("cpu.cfs_period_us", period.to_string()), ("cpu.cfs_quota_us", time.to_string())]
    } else {
        vec![("cpu.max", format!("{time} {period}"))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: Quota = Quota { time: Nanos::from_millis(50), period: Nanos::from_millis(100) };

    #[test]
    fn a_quota_is_written_in_microseconds() {
        assert_eq!(settings(2, HALF), [("cpu.max", "50000 100000".to_owned())]);
        let [period, time] = &*settings(1, HALF) else { panic!("two files") };
        assert_eq!(*period, ("cpu.cfs_period_us", "100000".to_owned()));
        assert_eq!(*time, ("cpu.cfs_quota_us", "50000".to_owned()));
    }

    #[test]
    fn throttled_periods_are_counted() {
        assert_eq!(throttled("nr_periods 9\nnr_throttled 4\nthrottled_time 7\n"), Some(4));
        assert_eq!(throttled("usage_usec 1\n"), None);
    }
}
