//! Owners of instances by their names, and removal of leftovers.
//!
//! An instance outlives the process that made it. Its name identifies that
//! process (`unjank-<pid>-<start time>-<n>`), so that another process can tell
//! leftovers from instances in use. In addition, the kernel refuses to remove
//! an instance with an open file, and a living owner keeps one open.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use super::mount::Tracefs;
use crate::error::{Error, Result};
use crate::process::pid;
use crate::root::Root;
use crate::support::Support;

const PREFIX: &str = "unjank-";

/// Pauses between attempts to remove a directory: another program may be
/// reading a file in it.
const RETRY_DELAYS: [Duration; 4] = [
    Duration::from_millis(1),
    Duration::from_millis(10),
    Duration::from_millis(40),
    Duration::from_millis(100),
];

/// The number of attempts to remove an instance of a dead owner, and the pause
/// between two of them.
const OWNER_EXIT_TRIES: (u32, Duration) = (600, Duration::from_millis(100));

/// The instances whose owner has died: the removed ones, and those in use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// The names of the removed instances.
    pub removed: Vec<String>,
    /// The names of the instances that remain because another program holds
    /// their files open.
    pub busy: Vec<String>,
}

/// Removes the instances of dead unjank processes, and no others.
///
/// # Errors
/// If the kernel refuses a removal for a reason other than open files. Without
/// tracefs there is nothing to remove.
pub fn remove_leftovers(root: &Root) -> Result<Leftovers> {
    match Tracefs::open(root) {
        Support::Yes(tracefs) => tracefs.remove_leftovers(),
        Support::No(_) => Ok(Leftovers::default()),
    }
}

/// Removes the instance `name` without checking that its owner is dead, which
/// the caller must know. A missing instance is not an error.
///
/// # Errors
/// `Invalid` for a name that is not of unjank's form; `Busy` if a file of the
/// instance is open; `Unsupported` without tracefs.
pub fn remove_instance_named(root: &Root, name: &str) -> Result<()> {
    if Owner::of(name).is_none() {
        return Err(Error::Invalid(format!("{name:?} is not a trace instance of unjank")));
    }
    match Tracefs::open(root) {
        Support::Yes(tracefs) => remove_instance_dir(root, &tracefs.path("instances").join(name)),
        Support::No(reason) => Err(Error::Unsupported(reason)),
    }
}

/// Removes the instance `name` after its owner has died, as its keeper. The
/// owner's files may stay open until the kernel has torn down the process,
/// which takes long if memory or CPUs are scarce.
pub(crate) fn remove_after_owner(root: &Root, name: &str) -> Result<()> {
    let mut answer = remove_instance_named(root, name);
    for _ in 0..OWNER_EXIT_TRIES.0 {
        if !matches!(answer, Err(Error::Busy(_))) {
            break;
        }
        thread::sleep(OWNER_EXIT_TRIES.1);
        answer = remove_instance_named(root, name);
    }
    match answer {
        // Without tracefs there is no instance.
        Err(Error::Unsupported(_)) => Ok(()),
        answer => answer,
    }
}

impl Tracefs {
    /// As [`remove_leftovers`], in this tracefs.
    ///
    /// # Errors
    /// As [`remove_leftovers`].
    pub fn remove_leftovers(&self) -> Result<Leftovers> {
        let mut leftovers = Leftovers::default();
        let instances = self.path("instances");
        for name in self.root().list(&instances)? {
            let Some(owner) = Owner::of(&name) else { continue };
            if owner.is_alive(self.root()) {
                continue;
            }
            match remove_instance_dir(self.root(), &instances.join(&name)) {
                Ok(()) => leftovers.removed.push(name),
                // In use by a reader, or by an owner in another PID namespace.
                Err(Error::Busy(_)) => leftovers.busy.push(name),
                Err(error) => return Err(error),
            }
        }
        Ok(leftovers)
    }
}

/// Creates the directory of an instance.
pub(super) fn create_instance_dir(root: &Root, path: &Path) -> Result<()> {
    root.make_directory(path).map_err(|source| Error::file("create", path, source))
}

/// Removes the directory of an instance; the kernel then removes its buffers
/// and disables its events.
///
/// # Errors
/// `Busy` if one of its files stays open.
pub(super) fn remove_instance_dir(root: &Root, path: &Path) -> Result<()> {
    let remove = || root.remove_directory(path);
    let busy = |error: &io::Error| error.kind() == io::ErrorKind::ResourceBusy;
    let mut answer = remove();
    for pause in RETRY_DELAYS {
        if answer.as_ref().is_err_and(busy) {
            thread::sleep(pause);
            answer = remove();
        }
    }
    match answer {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        // Another process is removing it: instance_rmdir in kernel/trace/trace.c.
        Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(()),
        Err(error) if busy(&error) => {
            Err(Error::Busy(format!("{} is in use by another program", path.display())))
        }
        Err(error) => Err(Error::file("remove", path, error)),
    }
}

/// A new name for an instance of this process.
pub(super) fn fresh_name(root: &Root) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let id = std::process::id();
    let started = pid::start(root, id).unwrap_or(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{PREFIX}{id}-{started}-{number}")
}

/// The process in an instance's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Owner {
    pid: u32,
    started: u64,
}

impl Owner {
    fn of(name: &str) -> Option<Self> {
        let mut numbers = name.strip_prefix(PREFIX)?.split('-').map(|part| {
            let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| part.parse::<u64>().ok()).flatten()
        });
        let pid = u32::try_from(numbers.next()??).ok()?;
        let started = numbers.next()??;
        numbers.next()??;
        numbers.next().is_none().then_some(Self { pid, started })
    }

    fn is_alive(self, root: &Root) -> bool {
        pid::start(root, self.pid) == Some(self.started)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn machine(instances: &[&str], processes: &[(u32, u64)]) -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: String| dir.path().join(path);
        fs::create_dir_all(at("sys/kernel/tracing/instances".to_owned())).unwrap();
        for name in instances {
            fs::create_dir(at(format!("sys/kernel/tracing/instances/{name}"))).unwrap();
        }
        for (pid, started) in processes {
            fs::create_dir_all(at(format!("proc/{pid}"))).unwrap();
            let fields = "0 ".repeat(18);
            let stat = format!("{pid} (evil) S 9 (name) S {fields}{started} 0 0\n");
            fs::write(at(format!("proc/{pid}/stat")), stat).unwrap();
        }
        let root = Root::at(dir.path());
        (dir, root)
    }

    #[test]
    fn only_instances_of_dead_owners_are_removed() {
        let (_dir, root) = machine(
            &["unjank-7-100-0", "unjank-8-100-0", "unjank-9-5-3", "somebody", "unjank-mine"],
            &[(7, 100), (8, 200)],
        );
        let leftovers = remove_leftovers(&root).unwrap();
        assert_eq!(leftovers.removed, ["unjank-8-100-0", "unjank-9-5-3"]);
        let left = root.list("/sys/kernel/tracing/instances").unwrap();
        assert_eq!(left, ["somebody", "unjank-7-100-0", "unjank-mine"]);
    }

    #[test]
    fn names_identify_the_owner() {
        assert_eq!(Owner::of("unjank-7-100-0"), Some(Owner { pid: 7, started: 100 }));
        for name in ["unjank-7-100", "unjank-7-100-0-1", "unjank-+7-1-1", "unjank-7--1", "x-7-1-1"]
        {
            assert_eq!(Owner::of(name), None, "{name}");
        }
        let root = Root::system();
        let names = [fresh_name(&root), fresh_name(&root)];
        assert_ne!(names[0], names[1]);
        assert!(Owner::of(&names[0]).unwrap().is_alive(&root));
    }

    #[test]
    fn one_instance_is_removed_by_its_name() {
        let (_dir, root) = machine(&["unjank-7-100-0", "unjank-7-100-1"], &[(7, 100)]);
        remove_instance_named(&root, "unjank-7-100-0").unwrap();
        remove_instance_named(&root, "unjank-7-100-0").unwrap();
        assert_eq!(root.list("/sys/kernel/tracing/instances").unwrap(), ["unjank-7-100-1"]);
        let error = remove_instance_named(&root, "../instances/unjank-7-100-1").unwrap_err();
        assert!(matches!(error, Error::Invalid(_)), "{error}");
    }

    #[test]
    fn without_tracefs_there_are_no_leftovers() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        assert_eq!(remove_leftovers(&root).unwrap(), Leftovers::default());
        assert!(matches!(remove_instance_named(&root, "unjank-1-1-1"), Err(Error::Unsupported(_))));
    }
}
