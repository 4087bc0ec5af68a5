//! How long the groups of this machine were held back by their CPU quotas.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::hierarchy::{Hierarchies, Location};
use super::limits;
use crate::error::Result;
use crate::root::Root;
use unjank_units::Nanos;

/// The most groups that are looked at.
const MOST: usize = 4_096;

/// How long each group with a CPU quota was throttled since its creation, summed over CPUs. The
/// kernel adds the time of a period when the next one begins (`throttled_usec` in `cpu.stat`;
/// `throttled_time` in version 1).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThrottledTimes {
    /// The group of the process, by its path in the hierarchy.
    own: PathBuf,
    groups: BTreeMap<PathBuf, Nanos>,
}

/// A group that was throttled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThrottledGroup {
    /// Its path in the hierarchy.
    pub path: String,
    /// For how long, summed over CPUs.
    pub time: Nanos,
    /// Whether the process is in it, or in a group below it.
    pub has_process: bool,
}

impl ThrottledTimes {
    /// Reads the times of all groups. Empty without a CPU controller.
    ///
    /// # Errors
    /// The groups of `process` cannot be read or parsed.
    pub fn read(root: &Root, process: u32) -> Result<Self> {
        let hierarchies = Hierarchies::read_of(root, &format!("/proc/{process}/cgroup"))?;
        let location = hierarchies.and_then(|all| all.of("cpu"));
        let Some(Location { version, levels, .. }) = location else { return Ok(Self::default()) };
        let (Some(own), Some(top)) = (levels.first(), levels.last()) else {
            return Ok(Self::default());
        };
        let below_top =
            |group: &Path| Path::new("/").join(group.strip_prefix(top).unwrap_or(group));
        let mut groups = BTreeMap::new();
        let mut ahead = vec![top.clone()];
        let mut found = 1;
        while let Some(group) = ahead.pop() {
            if let Some(time) = throttled(root, version, &group) {
                groups.insert(below_top(&group), time);
            }
            let below = root.list(&group).unwrap_or_default().into_iter();
            let below = below.map(|name| group.join(name)).filter(|path| is_group(root, path));
            let below: Vec<PathBuf> = below.take(MOST - found).collect();
            found += below.len();
            ahead.extend(below);
        }
        Ok(Self { own: below_top(own), groups })
    }

    /// The groups that were throttled since `before`, the longest first.
    pub fn since(&self, before: &Self) -> Vec<ThrottledGroup> {
        let groups = self.groups.iter().map(|(path, &time)| ThrottledGroup {
            path: path.display().to_string(),
            // A group may have been removed, and created again.
            time: time - before.groups.get(path).copied().unwrap_or_default(),
            has_process: self.own.starts_with(path),
        });
        let mut groups: Vec<_> = groups.filter(|group| group.time > Nanos::ZERO).collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.time));
        groups
    }
}

fn is_group(root: &Root, path: &Path) -> bool {
    root.resolve(path).symlink_metadata().is_ok_and(|metadata| metadata.is_dir())
}

/// `None` without a quota, or if the group was removed meanwhile.
fn throttled(root: &Root, version: u8, group: &Path) -> Option<Nanos> {
    limits::quota(root, version, group).ok()??;
    let stat = group.join("cpu.stat");
    if version == 2 {
        limits::counter(root, &stat, "throttled_usec").ok()?.map(Nanos::from_micros)
    } else {
        limits::counter(root, &stat, "throttled_time").ok()?.map(Nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let top = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = top.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let root = Root::at(top.path());
        (top, root)
    }

    fn group(path: &str, micros: u64, has_process: bool) -> ThrottledGroup {
        ThrottledGroup { path: path.to_owned(), time: Nanos::from_micros(micros), has_process }
    }

    #[test]
    fn groups_that_were_throttled_since_are_found_at_any_depth() {
        let (top, root) = tree(&[
            ("proc/7/cgroup", "0::/pods/one\n"),
            ("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("sys/fs/cgroup/user/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/user/cpu.stat", "nr_throttled 0\nthrottled_usec 9\n"),
            ("sys/fs/cgroup/batch/cpu.max", "90000 100000\n"),
            ("sys/fs/cgroup/batch/cpu.stat", "nr_throttled 1\nthrottled_usec 8\n"),
            ("sys/fs/cgroup/pods/cpu.max", "50000 100000\n"),
            ("sys/fs/cgroup/pods/cpu.stat", "nr_throttled 4\nthrottled_usec 7\n"),
            ("sys/fs/cgroup/pods/one/cpu.max", "10000 100000\n"),
            ("sys/fs/cgroup/pods/one/cpu.stat", "nr_throttled 1\nthrottled_usec 2\n"),
        ]);
        let before = ThrottledTimes::read(&root, 7).unwrap();
        assert_eq!(
            before.since(&ThrottledTimes::default()),
            [group("/batch", 8, false), group("/pods", 7, true), group("/pods/one", 2, true)]
        );
        let stat = top.path().join("sys/fs/cgroup/pods/one/cpu.stat");
        std::fs::write(stat, "nr_throttled 3\nthrottled_usec 5\n").unwrap();
        let now = ThrottledTimes::read(&root, 7).unwrap();
        assert_eq!(now.since(&before), [group("/pods/one", 3, true)]);
    }

    #[test]
    fn version_1_counts_in_nanoseconds() {
        let (_top, root) = tree(&[
            ("proc/7/cgroup", "2:cpu:/\n"),
            ("proc/self/mountinfo", "32 31 0:29 / /cg/cpu rw - cgroup cgroup rw,cpu\n"),
            ("cg/cpu/batch/cpu.cfs_quota_us", "20000\n"),
            ("cg/cpu/batch/cpu.cfs_period_us", "100000\n"),
            ("cg/cpu/batch/cpu.stat", "nr_periods 9\nnr_throttled 4\nthrottled_time 7000\n"),
        ]);
        let times = ThrottledTimes::read(&root, 7).unwrap();
        assert_eq!(times.since(&ThrottledTimes::default()), [group("/batch", 7, false)]);
    }

    #[test]
    fn a_machine_without_groups_has_none() {
        let (_top, root) = tree(&[]);
        assert_eq!(ThrottledTimes::read(&root, 7).unwrap(), ThrottledTimes::default());
    }
}
