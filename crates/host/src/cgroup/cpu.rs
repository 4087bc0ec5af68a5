//! A control group with limited CPU time for a program and its descendants:
//! `Documentation/scheduler/sched-bwc.rst`.

use std::process::Command;

use crate::cgroup::ControlGroup;
use crate::error::Result;
use crate::journal::Session;
use crate::root::Root;
use crate::support::Support;
use unjank_units::Nanos;

/// The CPU time of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// CPU time in each period, summed over all CPUs; at least one millisecond.
    pub time: Nanos,
    /// The period, from one millisecond to one second.
    pub period: Nanos,
}

/// A control group with a quota of CPU time. Dropping it kills its members and
/// removes it. It is in the session's journal, in case this process is killed.
#[derive(Debug)]
pub struct CpuGroup(ControlGroup);

impl CpuGroup {
    /// Makes a group with the quota; `No` without a CPU controller, or on a
    /// kernel without `CONFIG_CFS_BANDWIDTH`.
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

    /// Makes `command` run in the group, from its first instruction.
    ///
    /// # Errors
    /// `File` if the group cannot be entered.
    pub fn enter(&self, command: &mut Command) -> Result<()> {
        self.0.enter(command)
    }

    /// The number of periods in which members were throttled (`nr_throttled`);
    /// `None` if the kernel does not count them.
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

/// The files and their values, in the order of writing.
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
