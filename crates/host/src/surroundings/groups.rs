//! Control groups: the time that their tasks waited, and how often a quota
//! throttled them (`Documentation/admin-guide/cgroup-v2.rst`).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::waited::Waited;
use crate::machine::Stall;
use crate::machine::cgroup::Hierarchies;
use crate::root::Root;

/// The largest number of groups that is read; further groups are ignored.
const MOST: usize = 512;

/// The time that tasks of one group waited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GroupWaits {
    /// For a CPU.
    pub cpu: Waited,
    /// For memory.
    pub memory: Waited,
    /// For storage.
    pub io: Waited,
}

/// The periods of a quota of CPU time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Throttled {
    /// Periods in which the group ran.
    pub periods: u64,
    /// Periods in which the group was throttled because its time was used up.
    pub throttled: u64,
}

/// Counters of all groups.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Groups {
    /// By the path within the hierarchy: for CPU, memory and storage.
    stalls: BTreeMap<String, [Stall; 3]>,
    /// By directory.
    periods: BTreeMap<String, Throttled>,
}

impl Groups {
    /// Reads the groups; empty on a kernel without control groups.
    pub(super) fn read(root: &Root) -> Self {
        let mut groups = Self::default();
        let Ok(Some(hierarchies)) = Hierarchies::read(root) else { return groups };
        let top = |controller: &str| {
            let location = hierarchies.of(controller)?;
            Some((location.version, location.levels.last()?.clone()))
        };
        // Version 2 has pressure files without any controller.
        if let Some((2, top)) = top("pressure") {
            for directory in directories(root, &top) {
                let stalls = ["cpu", "memory", "io"].map(|what| stall(root, &directory, what));
                if let [Some(cpu), Some(memory), Some(io)] = stalls {
                    groups.stalls.insert(below(&top, &directory), [cpu, memory, io]);
                }
            }
        }
        if let Some((_, top)) = top("cpu") {
            for directory in directories(root, &top) {
                if let Some(periods) = periods(root, &directory) {
                    groups.periods.insert(directory.display().to_string(), periods);
                }
            }
        }
        groups
    }

    /// The differences for groups that exist in both.
    pub(super) fn waits_since(&self, earlier: &Self) -> BTreeMap<String, GroupWaits> {
        let both = self.stalls.iter().filter_map(|(path, now)| {
            let then = earlier.stalls.get(path)?;
            let [cpu, memory, io] = [0, 1, 2].map(|at| Waited::between(then[at], now[at]));
            Some((path.clone(), GroupWaits { cpu, memory, io }))
        });
        both.collect()
    }

    /// The differences for groups with a quota that ran in between.
    pub(super) fn throttled_since(&self, earlier: &Self) -> BTreeMap<String, Throttled> {
        let both = self.periods.iter().filter_map(|(path, now)| {
            let then = earlier.periods.get(path).copied().unwrap_or_default();
            let grown = Throttled {
                periods: now.periods.saturating_sub(then.periods),
                throttled: now.throttled.saturating_sub(then.throttled),
            };
            (grown.periods > 0).then(|| (path.clone(), grown))
        });
        both.collect()
    }
}

impl GroupWaits {
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            cpu: self.cpu.and(other.cpu),
            memory: self.memory.and(other.memory),
            io: self.io.and(other.io),
        }
    }
}

impl Throttled {
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            periods: self.periods.saturating_add(other.periods),
            throttled: self.throttled.saturating_add(other.throttled),
        }
    }

    /// The share (0–1) of its periods in which it was throttled.
    pub fn share(self) -> f64 {
        self.throttled.min(self.periods) as f64 / self.periods.max(1) as f64
    }
}

/// The groups below the one at `top`, level by level, without `top` itself: it
/// is the whole machine, or the container.
fn directories(root: &Root, top: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut next = 0;
    let look = |directory: &Path, found: &mut Vec<PathBuf>| {
        let Ok(entries) = fs::read_dir(root.resolve(directory)) else { return };
        let names = entries.filter_map(|entry| {
            let entry = entry.ok()?;
            entry.file_type().ok()?.is_dir().then(|| entry.file_name())
        });
        found.extend(names.map(|name| directory.join(name)));
        found.truncate(MOST);
    };
    look(top, &mut found);
    while next < found.len() && found.len() < MOST {
        let directory = found[next].clone();
        look(&directory, &mut found);
        next += 1;
    }
    found
}

/// The path as in `/proc/PID/cgroup`: `/batch.slice/job.service`.
fn below(top: &Path, directory: &Path) -> String {
    let below = directory.strip_prefix(top).unwrap_or(directory);
    Path::new("/").join(below).display().to_string()
}

fn stall(root: &Root, directory: &Path, what: &str) -> Option<Stall> {
    let path = directory.join(format!("{what}.pressure"));
    let text = root.read(&path).ok()?;
    Stall::parse(&text, &path.display().to_string()).ok()
}

/// `nr_periods` and `nr_throttled`, which only a group with a quota counts.
fn periods(root: &Root, directory: &Path) -> Option<Throttled> {
    let text = root.read(directory.join("cpu.stat")).ok()?;
    let counter = |wanted: &str| {
        text.lines().find_map(|line| {
            let (name, value) = line.split_once(' ')?;
            (name == wanted).then(|| value.trim().parse().ok())?
        })
    };
    let periods = counter("nr_periods")?;
    (periods > 0).then(|| Throttled { periods, throttled: counter("nr_throttled").unwrap_or(0) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use unjank_units::Nanos;

    fn write(top: &Path, path: &str, text: &str) {
        let path = top.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn pressure(top: &Path, group: &str, micros: u64) {
        for (what, micros) in [("cpu", 0), ("memory", micros), ("io", 2 * micros)] {
            let path = format!("sys/fs/cgroup{group}/{what}.pressure");
            write(top, &path, &format!("some avg10=0 total={micros}\nfull avg10=0 total=0"));
        }
    }

    #[test]
    fn groups_are_found_level_by_level_and_named_by_their_path() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path();
        write(top, "proc/self/cgroup", "0::/user.slice\n");
        write(top, "proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        let root = Root::at(top);
        pressure(top, "/batch", 100);
        pressure(top, "/batch/job", 100);
        write(top, "sys/fs/cgroup/batch/cpu.stat", "usage_usec 1\nnr_periods 5\nnr_throttled 1\n");
        write(top, "sys/fs/cgroup/free/cpu.stat", "usage_usec 1\nnr_periods 0\n");
        let before = Groups::read(&root);
        pressure(top, "/batch", 300);
        pressure(top, "/batch/job", 200);
        pressure(top, "/new", 900);
        write(top, "sys/fs/cgroup/batch/cpu.stat", "nr_periods 25\nnr_throttled 16\n");
        let after = Groups::read(&root);

        let waits = after.waits_since(&before);
        let memory: Vec<_> =
            waits.iter().map(|(path, waits)| (path.as_str(), waits.memory.some)).collect();
        let micros = Nanos::from_micros;
        assert_eq!(memory, [("/batch", micros(200)), ("/batch/job", micros(100))]);
        let throttled = after.throttled_since(&before);
        let share = throttled["/sys/fs/cgroup/batch"].share();
        assert!((share - 0.75).abs() < 1e-9 && throttled.len() == 1, "{throttled:?}");
    }

    #[test]
    fn a_machine_may_have_no_groups_or_too_many() {
        let top = tempfile::tempdir().unwrap();
        assert_eq!(Groups::read(&Root::at(top.path())), Groups::default());
        for group in 0..MOST + 9 {
            fs::create_dir_all(top.path().join(format!("all/g{group}"))).unwrap();
        }
        assert_eq!(directories(&Root::at(top.path()), Path::new("/all")).len(), MOST);
    }
}
