//! New control groups for a program and its descendants.
//!
//! | module | subject |
//! |---|---|
//! | [`cpu`] | limited CPU time |
//! | [`memory`] | limited or protected memory |
//! | `kill` | killing all processes of a group |

pub mod cpu;
pub(crate) mod kill;
pub mod memory;

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};
use crate::journal::{Directory, Session};
use crate::machine::cgroup::{Hierarchies, Location};
use crate::root::Root;
use crate::support::Support;

/// A group below one that this process is in. Dropping it kills its members and
/// removes it. It is in the session's journal, in case this process is killed.
#[derive(Debug)]
pub(crate) struct ControlGroup {
    root: Root,
    directory: PathBuf,
    version: u8,
    /// Kills its members and removes it.
    _guard: Directory,
}

impl ControlGroup {
    /// Makes a group that `controller` can limit; `No` if that is not possible
    /// here.
    ///
    /// # Errors
    /// As [`Session::make_directory`].
    pub(crate) fn make(session: &Session, root: &Root, controller: &str) -> Result<Support<Self>> {
        let own = match own(root, controller)? {
            Support::Yes(own) => own,
            Support::No(reason) => return Ok(Support::No(reason)),
        };
        let Some(parent) = place(root, &own, controller)? else {
            return Ok(Support::No(format!(
                "no control group above this process delegates the {controller} controller \
                 (cgroup.subtree_control)"
            )));
        };
        Self::make_below(&parent, own.version, session, root).map(Support::Yes)
    }

    /// Makes a group below `parent`, in a hierarchy of this version.
    pub(crate) fn make_below(
        parent: &Path,
        version: u8,
        session: &Session,
        root: &Root,
    ) -> Result<Self> {
        let directory = parent.join(format!("unjank-{}", std::process::id()));
        let guard = session.make_directory(&directory)?;
        Ok(Self { root: root.clone(), directory, version, _guard: guard })
    }

    /// The version of its hierarchy, 1 or 2, which decides its files.
    pub(crate) fn version(&self) -> u8 {
        self.version
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// The text of one of its files.
    pub(crate) fn read(&self, name: &str) -> Result<String> {
        self.root.read(self.file(name))
    }

    /// Sets one of its limits.
    pub(crate) fn write(&self, name: &str, value: &str) -> Result<()> {
        self.root.write(self.file(name), value)
    }

    /// Makes `command` run in the group, from its first instruction.
    pub(crate) fn enter(&self, command: &mut Command) -> Result<()> {
        let path = self.file("cgroup.procs");
        let members = self
            .root
            .open_for_writing(&path)
            .map_err(|source| Error::file("open", path, source))?;
        // `0` stands for the writing process (`cgroup_procs_write` in kernel/cgroup).
        let join = move || rustix::io::write(&members, b"0").map(drop).map_err(Into::into);
        // SAFETY: between fork(2) and execve(2) only async-signal-safe calls
        // are allowed (signal-safety(7)): `join` makes one system call.
        unsafe { command.pre_exec(join) };
        Ok(())
    }
}

/// The group of this process in the controller's hierarchy.
pub(crate) fn own(root: &Root, controller: &str) -> Result<Support<Location>> {
    let own = Hierarchies::read(root)?.and_then(|all| all.of(controller));
    let missing = || Support::No(format!("this kernel has no {controller} controller"));
    Ok(own.map_or_else(missing, Support::Yes))
}

/// Whether new groups below `level`, of version 2, have the controller.
pub(crate) fn delegates(root: &Root, level: &Path, controller: &str) -> Result<bool> {
    let given = root.read_if_there(level.join("cgroup.subtree_control"))?.unwrap_or_default();
    Ok(given.split_whitespace().any(|name| name == controller))
}

/// The group below which a new one can be made. In version 1 any group may have
/// children. In version 2 it is a group whose children have the controller, and
/// which, except for the root, has no members
/// (`Documentation/admin-guide/cgroup-v2.rst`, "No Internal Process
/// Constraint").
fn place(root: &Root, own: &Location, controller: &str) -> Result<Option<PathBuf>> {
    if own.version == 1 {
        return Ok(own.levels.first().cloned());
    }
    for level in &own.levels {
        if delegates(root, level, controller)? {
            return Ok(Some(level.clone()));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_group_is_made_where_its_parent_delegates_the_controller() {
        let top = tempfile::tempdir().unwrap();
        let root = Root::at(top.path());
        let levels = ["/sys/fs/cgroup/user.slice/a.scope", "/sys/fs/cgroup/user.slice"];
        for (level, given) in levels.iter().zip(["", "cpu memory pids"]) {
            let real = root.resolve(level);
            fs::create_dir_all(&real).unwrap();
            fs::write(real.join("cgroup.subtree_control"), given).unwrap();
        }
        let at = |version| Location {
            version,
            path: "/user.slice/a.scope".to_owned(),
            levels: levels.map(PathBuf::from).to_vec(),
        };
        assert_eq!(place(&root, &at(2), "memory").unwrap(), Some(PathBuf::from(levels[1])));
        assert_eq!(place(&root, &at(1), "memory").unwrap(), Some(PathBuf::from(levels[0])));
        fs::write(root.resolve(levels[1]).join("cgroup.subtree_control"), "cpu").unwrap();
        assert_eq!(place(&root, &at(2), "memory").unwrap(), None);
        assert_eq!(place(&root, &at(2), "cpu").unwrap(), Some(PathBuf::from(levels[1])));
    }
}
