//! A control group with limited or protected memory for a program and its descendants.

use std::path::PathBuf;
use std::process::Command;

use crate::cgroup::{self, ControlGroup};
use crate::error::{Error, Result};
use crate::journal::Session;
use crate::root::Root;
use crate::support::Support;
use unjank_units::Bytes;

/// A control group with a memory limit or with protected memory. Dropping it kills its members and
/// removes it. It is in the session's journal, in case this process is killed.
#[derive(Debug)]
pub struct MemoryGroup(ControlGroup);

impl MemoryGroup {
    /// Makes a group with the limit; `No` without a memory controller.
    ///
    /// # Errors
    /// As [`Session::make_directory`]; a limit that the kernel refuses.
    pub fn make(session: &Session, root: &Root, limit: Bytes) -> Result<Support<Self>> {
        let group = match ControlGroup::make(session, root, "memory")? {
            Support::Yes(group) => group,
            Support::No(reason) => return Ok(Support::No(reason)),
        };
        let group = Self(group);
        group.set_limit(limit)?;
        Ok(Support::Yes(group))
    }

    /// Makes a group of which so much memory is evicted only if no unprotected memory is left:
    /// `memory.low` in `Documentation/admin-guide/cgroup-v2.rst`. It is below the root of the
    /// hierarchy, because a group protects no more than the one above it. `No` without version 2.
    ///
    /// # Errors
    /// As [`Session::make_directory`].
    pub fn protected(session: &Session, root: &Root, low: Bytes) -> Result<Support<Self>> {
        let top = match Self::can_protect(root)? {
            Support::Yes(top) => top,
            Support::No(reason) => return Ok(Support::No(reason)),
        };
        let group = ControlGroup::make_below(&top, 2, session, root)?;
        group.write("memory.low", &low.get().to_string())?;
        Ok(Support::Yes(Self(group)))
    }

    /// The root of the hierarchy in which memory can be protected, if there is one.
    ///
    /// # Errors
    /// This process's groups cannot be read.
    pub fn can_protect(root: &Root) -> Result<Support<PathBuf>> {
        let own = match cgroup::own(root, "memory")? {
            Support::Yes(own) => own,
            Support::No(reason) => return Ok(Support::No(reason)),
        };
        if own.version == 1 {
            return Ok(Support::no("control groups of version 1 have no memory.low"));
        }
        // Without a slash at its end.
        let top: PathBuf = own.levels.last().into_iter().flatten().collect();
        if !cgroup::delegates(root, &top, "memory")? {
            let top = top.display();
            return Ok(Support::No(format!("groups below {top} have no memory controller")));
        }
        Ok(Support::Yes(top))
    }

    /// Changes the limit.
    ///
    /// # Errors
    /// A limit that the kernel refuses: `EBUSY` if more is in use that cannot be evicted.
    pub fn set_limit(&self, limit: Bytes) -> Result<()> {
        let file = if self.0.version() == 1 { "memory.limit_in_bytes" } else { "memory.max" };
        self.0.write(file, &limit.get().to_string())
    }

    /// Sets how much rather the kernel swaps than drops files, as `vm.swappiness`. In version 2,
    /// where groups have no value of their own, nothing is done.
    ///
    /// # Errors
    /// A value that the kernel refuses.
    pub fn set_swappiness(&self, value: u32) -> Result<()> {
        match self.0.version() {
            1 => self.0.write("memory.swappiness", &value.to_string()),
            _ => Ok(()),
        }
    }

    /// The anonymous memory of its members that is not in swap.
    ///
    /// # Errors
    /// As [`counters`](Self::counters).
    pub fn anonymous(&self) -> Result<Bytes> {
        let name = if self.0.version() == 1 { "rss" } else { "anon" };
        let counters = self.counters()?;
        let found = counters.into_iter().find(|(counter, _)| counter == name);
        Ok(Bytes(found.map_or(0, |(_, value)| value)))
    }

    /// Makes `command` run in the group, from its first instruction.
    ///
    /// # Errors
    /// `File` if the group cannot be entered.
    pub fn enter(&self, command: &mut Command) -> Result<()> {
        self.0.enter(command)
    }

    /// The counters of `memory.stat`, by name.
    ///
    /// # Errors
    /// `File` if it cannot be read; `Parse` names the line.
    pub fn counters(&self) -> Result<Vec<(String, u64)>> {
        let text = self.0.read("memory.stat")?;
        let counter = |(number, line): (usize, &str)| {
            let pair = line
                .split_once(' ')
                .and_then(|(name, value)| Some((name.to_owned(), value.trim().parse().ok()?)));
            pair.ok_or_else(|| {
                let path = self.0.file("memory.stat");
                Error::parse(path, number + 1, "expected a counter's name and its value")
            })
        };
        text.lines().enumerate().map(counter).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn memory_is_protected_below_the_root_of_version_2() {
        let top = tempfile::tempdir().unwrap();
        let root = Root::at(top.path());
        let write = |path: &str, text: &str| {
            let path = root.resolve(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let reason = || match MemoryGroup::can_protect(&root).unwrap() {
            Support::Yes(place) => place.display().to_string(),
            Support::No(reason) => reason,
        };
        assert_eq!(reason(), "this kernel has no memory controller");
        write("/proc/self/cgroup", "4:memory:/user.slice\n0::/user.slice\n");
        assert_eq!(reason(), "control groups of version 1 have no memory.low");
        write("/proc/self/cgroup", "0::/user.slice/a.scope\n");
        write("/sys/fs/cgroup/user.slice/cgroup.subtree_control", "memory\n");
        assert_eq!(reason(), "groups below /sys/fs/cgroup have no memory controller");
        write("/sys/fs/cgroup/cgroup.subtree_control", "cpu memory\n");
        assert_eq!(reason(), "/sys/fs/cgroup");
    }
}
