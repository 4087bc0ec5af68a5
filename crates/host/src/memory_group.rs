//! A control group of limited memory for a program and all that it starts.

use std::fs::OpenOptions;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::journal::{Directory, Session};
use crate::machine::cgroup::{Hierarchies, Location};
use crate::process::send_signal;
use crate::root::Root;
use crate::support::Support;
use crate::units::Bytes;

/// How often processes are looked for that have been killed and not gone yet.
const LOOKS: u32 = 100;
const LOOK: Duration = Duration::from_millis(10);

/// A control group whose members have no more than so much memory together.
/// When this is dropped, they are killed and the group is removed; it is in
/// the session's journal, in case this process is killed.
#[derive(Debug)]
pub struct MemoryGroup {
    root: Root,
    directory: PathBuf,
    /// Removes it.
    _guard: Directory,
}

impl MemoryGroup {
    /// Makes a group with the limit; `No` where there is no memory
    /// controller.
    ///
    /// # Errors
    /// As [`Session::make_directory`]; a limit that the kernel refuses.
    pub fn make(session: &Session, root: &Root, limit: Bytes) -> Result<Support<Self>> {
        let hierarchies = Hierarchies::read(root)?;
        let Some(memory) = hierarchies.and_then(|all| all.of("memory")) else {
            return Ok(Support::no("this kernel does not limit memory (no memory controller)"));
        };
        let Some((parent, file)) = place(root, &memory)? else {
            return Ok(Support::no(
                "no control group around this process lets others limit memory \
                 (cgroup.subtree_control)",
            ));
        };
        let directory = parent.join(format!("unjank-{}", std::process::id()));
        let guard = session.make_directory(&directory)?;
        let group = Self { root: root.clone(), directory, _guard: guard };
        group.root.write(group.directory.join(file), &limit.get().to_string())?;
        Ok(Support::Yes(group))
    }

    /// Has `command` run in the group, from its first instruction.
    ///
    /// # Errors
    /// `File` if the group cannot be entered.
    pub fn enter(&self, command: &mut Command) -> Result<()> {
        let path = self.directory.join("cgroup.procs");
        let members = OpenOptions::new()
            .write(true)
            .open(self.root.resolve(&path))
            .map_err(|source| Error::file("open", path, source))?;
        // `0` is whoever writes (`cgroup_procs_write` in kernel/cgroup).
        let join = move || rustix::io::write(&members, b"0").map(drop).map_err(Into::into);
        // SAFETY: between fork(2) and execve(2) only async-signal-safe calls
        // are allowed (signal-safety(7)): `join` makes one system call.
        unsafe { command.pre_exec(join) };
        Ok(())
    }

    /// The counters of `memory.stat`, by name.
    ///
    /// # Errors
    /// `File` if it cannot be read; `Parse` names the line.
    pub fn counters(&self) -> Result<Vec<(String, u64)>> {
        let path = self.directory.join("memory.stat");
        let text = self.root.read(&path)?;
        let counter = |(number, line): (usize, &str)| {
            let pair = line
                .split_once(' ')
                .and_then(|(name, value)| Some((name.to_owned(), value.trim().parse().ok()?)));
            pair.ok_or_else(|| {
                Error::parse(&path, number + 1, "expected a counter's name and its value")
            })
        };
        text.lines().enumerate().map(counter).collect()
    }

    /// Kills all members, and waits until they are gone.
    fn clear(&self) {
        for _ in 0..LOOKS {
            let members = self.root.read(self.directory.join("cgroup.procs")).unwrap_or_default();
            if members.trim().is_empty() {
                return;
            }
            for member in members.lines().filter_map(|line| line.trim().parse().ok()) {
                let _gone_already = send_signal(member, libc::SIGKILL);
            }
            thread::sleep(LOOK);
        }
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Where a group can be made, and the file of its limit. In version 1 any
/// group may have children; in version 2 only one without members of its own
/// (but for the root) whose children have the controller
/// (`Documentation/admin-guide/cgroup-v2.rst`, "No Internal Process
/// Constraint").
fn place(root: &Root, memory: &Location) -> Result<Option<(PathBuf, &'static str)>> {
    if memory.version == 1 {
        return Ok(memory.levels.first().map(|own| (own.clone(), "memory.limit_in_bytes")));
    }
    for level in &memory.levels {
        let given = root.read_if_there(level.join("cgroup.subtree_control"))?.unwrap_or_default();
        if given.split_whitespace().any(|controller| controller == "memory") {
            return Ok(Some((level.clone(), "memory.max")));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_group_is_made_where_its_parent_gives_memory_away() {
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
        let chosen = place(&root, &at(2)).unwrap();
        assert_eq!(chosen, Some((PathBuf::from(levels[1]), "memory.max")));
        let chosen = place(&root, &at(1)).unwrap();
        assert_eq!(chosen, Some((PathBuf::from(levels[0]), "memory.limit_in_bytes")));
        fs::write(root.resolve(levels[1]).join("cgroup.subtree_control"), "cpu").unwrap();
        assert_eq!(place(&root, &at(2)).unwrap(), None);
    }
}
