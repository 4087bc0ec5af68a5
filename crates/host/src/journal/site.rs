//! The machine whose knobs are changed, and the test of which paths are knobs.
//!
//! `unjank restore` runs as root and follows journals, so a journal must not
//! be able to make it write anywhere else. A path is accepted only
//!
//! 1. below `/proc`, `/sys` or `/dev`, after symbolic links are followed,
//!    and outside `/proc/<pid>`: a later process with the same number is
//!    unrelated to the change,
//! 2. as a regular file (or a directory), never a device, pipe or socket,
//! 3. on the running machine: in a file system of the kernel, so that
//!    `/proc/1/root/etc/shadow`, a disk mounted below `/sys`, or a file in
//!    `/dev/shm` are not taken for knobs.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path};
use std::{fs, io};

use rustix::fs::{Mode, OFlags, open};

use super::covered::why_covered;
use super::entry::Header;
use super::kernel_fs::{KernelFs, kernel_fs};
use super::visible::{is_control_group, is_of_network, namespace, why_hidden, why_no_proc};
use crate::error::{Error, Result};
use crate::root::Root;

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// A machine, or a tree that stands for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Site {
    root: Root,
    boot_id: Option<String>,
    /// Why the boot of this machine cannot be identified.
    hidden: Option<String>,
    cgroup_namespace: Option<String>,
    network_namespace: Option<String>,
    /// Whether the changes were made in another cgroup namespace, where the
    /// same names mean other groups.
    other_groups: bool,
    /// Whether they were made in another network namespace, where the same names
    /// mean other devices and settings.
    other_network: bool,
}

impl Site {
    /// The machine below `root`.
    ///
    /// # Errors
    /// `File` if `root` does not exist; `Invalid` if its name is not UTF-8,
    /// which a journal could not hold.
    pub(super) fn of(root: &Root) -> Result<Self> {
        let root = root.settled().map_err(Error::of_named_file)?;
        if root.dir().to_str().is_none() {
            return Err(Error::Invalid(format!("{} is not UTF-8", root.dir().display())));
        }
        let hidden = why_no_proc(&root, BOOT_ID);
        let boot_id = match &hidden {
            Some(_) => None,
            None => root.read_if_there(BOOT_ID)?.filter(|id| !id.is_empty()),
        };
        let cgroup_namespace = namespace(&root, "cgroup");
        let network_namespace = namespace(&root, "net");
        let (other_groups, other_network) = (false, false);
        Ok(Self {
            root,
            boot_id,
            hidden,
            cgroup_namespace,
            network_namespace,
            other_groups,
            other_network,
        })
    }

    pub(super) fn root(&self) -> &Root {
        &self.root
    }

    /// The directory, as journals record it.
    pub(super) fn root_name(&self) -> &str {
        self.root.dir().to_str().expect("checked when the site was made")
    }

    /// The kernel's boot identifier, if it is known.
    pub(super) fn boot_id(&self) -> Option<&str> {
        self.boot_id.as_deref()
    }

    /// Whether the machine has certainly been booted since `then`, the boot
    /// identifier in a journal.
    ///
    /// # Errors
    /// Why that cannot be determined.
    pub(super) fn is_another_boot(&self, then: Option<&str>) -> Result<bool, String> {
        match (&self.hidden, then, self.boot_id()) {
            (Some(why), ..) => Err(why.clone()),
            (None, Some(_), None) => {
                Err(format!("{BOOT_ID} does not identify this boot of the machine"))
            }
            (None, Some(then), Some(now)) => Ok(then != now),
            (None, None, _) => Ok(false),
        }
    }

    /// The cgroup namespace of this process.
    pub(super) fn cgroup_namespace(&self) -> Option<&str> {
        self.cgroup_namespace.as_deref()
    }

    /// The network namespace of this process.
    pub(super) fn network_namespace(&self) -> Option<&str> {
        self.network_namespace.as_deref()
    }

    /// This machine for the changes of a session with this header.
    pub(super) fn seen_from(&self, header: &Header) -> Self {
        let differs = |then: &Option<String>, now: &Option<String>| then.is_some() && then != now;
        Self {
            other_groups: differs(&header.cgroup_namespace, &self.cgroup_namespace),
            other_network: differs(&header.network_namespace, &self.network_namespace),
            ..self.clone()
        }
    }

    /// Why `path` is not the file or directory that was changed, if it is not.
    pub(super) fn why_another(&self, path: &str) -> Option<String> {
        let path = Path::new(path);
        if self.other_groups && is_control_group(path) {
            return Some("it is in another cgroup namespace than this process".to_owned());
        }
        if self.other_network && is_of_network(path) {
            return Some("it is in another network namespace than this process".to_owned());
        }
        if !self.is_system() {
            return None;
        }
        path.ancestors().find_map(|nearest| {
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let opened = open(nearest, flags, Mode::empty()).ok()?;
            Some(why_covered(opened, nearest))
        })?
    }

    /// Why `path` may exist although this process does not see it.
    pub(super) fn why_hidden(&self, path: &str) -> Option<String> {
        why_hidden(&self.root, Path::new(path))
    }

    /// Whether this is the running machine.
    pub(super) fn is_system(&self) -> bool {
        self.root.is_system()
    }

    /// Resolves `path`: its name on the machine without symbolic links, and an
    /// `O_PATH` handle for it.
    ///
    /// # Errors
    /// `File` if it does not exist, `Invalid` if it cannot be a knob.
    pub(super) fn locate(&self, path: &Path) -> Result<(String, OwnedFd)> {
        let (named, found) = self.follow(path)?;
        if !may_be_changed(&named) {
            return Err(no_knob(path));
        }
        self.check_not_covered(&found, &named)?;
        Ok((named, found))
    }

    /// As [`locate`](Self::locate) for something that need not exist: its name,
    /// and a handle of its parent directory.
    pub(super) fn locate_parent(&self, path: &Path, name: &str) -> Result<(String, OwnedFd)> {
        let (above, found) = self.follow(path.parent().unwrap_or(path))?;
        let named = format!("{}/{name}", above.trim_end_matches('/'));
        if !may_be_changed(&named) {
            return Err(no_knob(path));
        }
        self.check_not_covered(&found, &above)?;
        Ok((named, found))
    }

    /// A change through a mount that covers the kernel's file could not be put back
    /// where the mount is not.
    fn check_not_covered(&self, opened: &OwnedFd, path: &str) -> Result<()> {
        match why_covered(opened, Path::new(path)).filter(|_| self.is_system()) {
            Some(why) => Err(Error::Unsupported(format!("{path} cannot be changed: {why}"))),
            None => Ok(()),
        }
    }

    fn follow(&self, path: &Path) -> Result<(String, OwnedFd)> {
        if !path.is_absolute() {
            return Err(Error::Invalid(format!("{} is not an absolute path", path.display())));
        }
        let error = |source| Error::file("find", path, source);
        let (real, found) = if self.is_system() {
            let real = fs::canonicalize(self.root.resolve(path)).map_err(error)?;
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let found = open(&real, flags, Mode::empty()).map_err(|errno| error(errno.into()))?;
            (real, found)
        } else {
            self.root.find(path).map_err(|source| match source.kind() {
                // A link out of the tree.
                io::ErrorKind::InvalidInput => no_knob(path),
                _ => error(source),
            })?
        };
        match real.into_os_string().into_string() {
            Ok(named) => Ok((named, found)),
            Err(_) => Err(no_knob(path)),
        }
    }

    /// The kernel's file system that contains `opened`; `None` in a tree that
    /// stands for a machine.
    ///
    /// # Errors
    /// `Invalid` if it lies in any other file system.
    pub(super) fn check_kernel_fs(
        &self,
        opened: impl AsFd,
        path: &Path,
    ) -> Result<Option<KernelFs>> {
        match kernel_fs(opened) {
            _ if !self.is_system() => Ok(None),
            None => Err(no_knob(path)),
            found => Ok(found),
        }
    }
}

pub(super) fn no_knob(path: &Path) -> Error {
    Error::Invalid(format!(
        "{} is not a knob: only the kernel's files below /proc (outside the directories of \
         processes), /sys and /dev can be changed",
        path.display()
    ))
}

/// The part of the test that depends on the name only.
fn may_be_changed(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    if parts.next() != Some(Component::RootDir) {
        return false;
    }
    let mut names = parts.map(|part| match part {
        Component::Normal(name) => name.to_str(),
        _ => None,
    });
    let top = names.next().flatten();
    let Some(second) = names.next().flatten() else { return false };
    let a_process = second.bytes().all(|byte| byte.is_ascii_digit())
        || matches!(second, "self" | "thread-self");
    match top {
        Some("proc") => !a_process,
        Some("sys" | "dev") => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_paths_of_knobs_may_be_changed() {
        for path in ["/proc/sys/vm/swappiness", "/sys/x", "/dev/cpuset/top-app/cpus", "/proc/ppm"] {
            assert!(may_be_changed(path), "{path}");
        }
        for path in [
            "/etc/shadow",
            "/",
            "/proc",
            "/sys",
            "/system/build.prop",
            "/proc/1/oom_score_adj",
            "/proc/self/oom_score_adj",
            "/sys/../etc",
            "proc/sys",
            "",
        ] {
            // `..` in second place is not a name, so it ends the path there.
            assert!(!may_be_changed(path), "{path}");
        }
    }

    #[test]
    fn links_are_followed_but_not_out_of_the_tree() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("sys/policy0")).unwrap();
        fs::create_dir_all(dir.path().join("etc")).unwrap();
        fs::write(dir.path().join("sys/policy0/governor"), "x").unwrap();
        fs::write(dir.path().join("etc/shadow"), "x").unwrap();
        symlink("policy0", dir.path().join("sys/cpu0")).unwrap();
        symlink("../etc", dir.path().join("sys/etc")).unwrap();
        symlink("/", dir.path().join("sys/out")).unwrap();
        let site = Site::of(&Root::at(dir.path())).unwrap();
        let located = |path: &str| site.locate(Path::new(path));
        assert_eq!(located("/sys/cpu0/governor").unwrap().0, "/sys/policy0/governor");
        assert_eq!(located("/sys/../cpu0/governor").unwrap().0, "/sys/policy0/governor");
        assert!(located("/sys/cpu0/nothing").unwrap_err().is_not_found());
        for path in ["/sys/etc/shadow", "/sys/out/etc/hostname", "/etc/shadow", "sys/cpu0"] {
            assert!(matches!(located(path), Err(Error::Invalid(_))), "{path}");
        }
    }

    #[test]
    fn files_of_disks_are_not_reached_through_proc() {
        let site = Site::of(&Root::system()).unwrap();
        for path in ["/proc/self/root/etc/hostname", "/proc/self/cwd", "/proc/self/exe"] {
            assert!(site.locate(Path::new(path)).is_err(), "{path}");
        }
        let dir = fs::File::open("/").unwrap();
        assert!(site.check_kernel_fs(&dir, Path::new("/")).is_err());
        let dir = fs::File::open("/proc/sys").unwrap();
        assert_eq!(kernel_fs(&dir), Some(KernelFs::Procfs));
    }
}
