//! Throttling of a cgroup that has used up its CPU quota.

use super::hierarchy::Hierarchies;
use super::limits;
use crate::error::Result;
use crate::root::Root;

/// The CPU quota of a process: the tightest one of its cgroup and the
/// ancestors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Throttling {
    /// CPU time per wall time.
    pub cpus: f64,
    /// Periods in which the group was throttled, since its creation.
    pub periods: u64,
}

/// The quota of `process` and how often it was throttled; `None` without a
/// quota, or if the kernel does not count.
///
/// # Errors
/// `File` or `Parse` if a file of the group cannot be read.
pub fn throttling(root: &Root, process: u32) -> Result<Option<Throttling>> {
    let hierarchies = Hierarchies::read_of(root, &format!("/proc/{process}/cgroup"))?;
    let Some(location) = hierarchies.and_then(|all| all.of("cpu")) else { return Ok(None) };
    let quota = limits::cpu(root, &location)?;
    Ok(quota.and_then(|quota| Some(Throttling { cpus: quota.cpus, periods: quota.throttled? })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_of_the_process_counts() {
        let top = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = top.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let root = Root::at(top.path());
        assert_eq!(throttling(&root, 7).unwrap(), None);
        write("proc/7/cgroup", "0::/batch\n");
        write("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        assert_eq!(throttling(&root, 7).unwrap(), None);
        write("sys/fs/cgroup/batch/cpu.max", "50000 100000\n");
        write("sys/fs/cgroup/batch/cpu.stat", "usage_usec 7\nnr_periods 9\nnr_throttled 4\n");
        assert_eq!(throttling(&root, 7).unwrap(), Some(Throttling { cpus: 0.5, periods: 4 }));
        write("sys/fs/cgroup/batch/cpu.max", "a b\n");
        assert!(throttling(&root, 7).is_err());
    }
}
