//! A directory that is made in a file system of the kernel and removed again:
//! a private tracefs instance, a cgroup.

use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, mkdirat, open, openat, statat, unlinkat};
use rustix::io::Errno;

use super::failpoint;
use super::kernel_fs::{KernelFs, kernel_fs};
use super::rule::CurrentState;
use super::site::{Site, no_knob};
use crate::cgroup::kill::kill_members;
use crate::error::{Error, Result};
use crate::support::Support;
use crate::tracefs::Tracefs;

/// The usual mount point of tracefs. It need not be mounted there.
const TRACEFS: &str = "/sys/kernel/tracing";

/// The prefix of unjank's own control groups.
const OURS: &str = "unjank-";

/// A directory that need not exist, and its open parent.
#[derive(Debug)]
pub(super) struct DirectoryPlace {
    path: String,
    name: String,
    parent: OwnedFd,
    kernel: Option<KernelFs>,
    /// Keeps a private mount of tracefs.
    _tracefs: Option<Tracefs>,
}

impl DirectoryPlace {
    /// Opens the parent of `path`.
    ///
    /// # Errors
    /// `File` if the parent does not exist; `Invalid` if directories, or this
    /// name, are not possible there.
    pub(super) fn open(site: &Site, path: &Path) -> Result<Self> {
        let name = path.file_name().and_then(|name| name.to_str());
        let (Some(name), Some(above)) = (name, path.parent()) else { return Err(no_knob(path)) };
        if let Some(below) = below_tracefs(site, above) {
            return Self::in_tracefs(site, path, below, name);
        }
        let (named, parent) = site.locate_parent(path, name)?;
        let kernel = kernel_fs(&parent);
        let takes_directories = matches!(
            kernel,
            Some(KernelFs::Cgroup | KernelFs::Configfs | KernelFs::Resctrl | KernelFs::Tracefs)
        );
        if site.is_system() && !takes_directories {
            return Err(no_knob(path));
        }
        Ok(Self { path: named, name: name.to_owned(), parent, kernel, _tracefs: None })
    }

    /// Whether `path` lies in tracefs, wherever that is mounted.
    pub(super) fn is_in_tracefs(site: &Site, path: &str) -> bool {
        below_tracefs(site, Path::new(path)).is_some()
    }

    /// As [`open`](Self::open) for the running machine's tracefs, wherever it
    /// is mounted.
    fn in_tracefs(site: &Site, path: &Path, below: &Path, name: &str) -> Result<Self> {
        if below.components().any(|part| !matches!(part, Component::Normal(_))) {
            return Err(no_knob(path));
        }
        let tracefs = match Tracefs::open(site.root()) {
            Support::Yes(tracefs) => tracefs,
            Support::No(reason) => return Err(Error::Unsupported(reason)),
        };
        let parent = open_directory(&tracefs.root().resolve(tracefs.path(below)), path)?;
        let (path, kernel) = (path.display().to_string(), Some(KernelFs::Tracefs));
        Ok(Self { path, name: name.to_owned(), parent, kernel, _tracefs: Some(tracefs) })
    }

    /// Its name on the machine.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The current state.
    pub(super) fn look(&self) -> Result<CurrentState> {
        match statat(&self.parent, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => {
                Ok(CurrentState::Directory)
            }
            Ok(_) => Ok(CurrentState::Reads("something that is not a directory".to_owned())),
            Err(Errno::NOENT) => Ok(CurrentState::Missing),
            Err(error) => Err(self.error("look at", error)),
        }
    }

    /// Makes the directory.
    pub(super) fn make(&self) -> Result<()> {
        let made = failpoint::check().map(|()| mkdirat(&self.parent, &self.name, Mode::RWXU));
        match made {
            Ok(Ok(())) => Ok(()),
            Ok(Err(Errno::EXIST)) => Err(Error::Busy(format!("{} already exists", self.path))),
            Ok(Err(error)) => Err(self.error("make", error)),
            Err(error) => Err(Error::file("make", &self.path, error)),
        }
    }

    /// Removes the directory with the kernel's files in it. Processes in one of
    /// unjank's control groups are killed first: it was made for them, and it
    /// cannot be removed before they end.
    pub(super) fn remove(&self) -> Result<()> {
        failpoint::check().map_err(|error| Error::file("remove", &self.path, error))?;
        if self.kernel == Some(KernelFs::Cgroup) && self.name.starts_with(OURS) {
            kill_members(self.enter()?, Path::new(&self.path))?;
        }
        unlinkat(&self.parent, &self.name, AtFlags::REMOVEDIR)
            .map_err(|error| self.error("remove", error))
    }

    /// Opens the directory, for access to its files.
    pub(super) fn enter(&self) -> Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(&self.parent, &self.name, flags, Mode::empty())
            .map_err(|error| self.error("open", error))
    }

    fn error(&self, action: &'static str, error: Errno) -> Error {
        Error::file(action, &self.path, error.into())
    }
}

fn below_tracefs<'a>(site: &Site, path: &'a Path) -> Option<&'a Path> {
    site.is_system().then(|| path.strip_prefix(TRACEFS).ok()).flatten()
}

fn open_directory(directory: &Path, shown: &Path) -> Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    open(directory, flags, Mode::empty())
        .map_err(|error| Error::file("open the directory above", shown, error.into()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::root::Root;

    fn machine() -> (tempfile::TempDir, Site) {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("sys/kernel/tracing/instances")).unwrap();
        let site = Site::of(&Root::at(dir.path())).unwrap();
        (dir, site)
    }

    #[test]
    fn a_directory_is_made_once_and_removed() {
        let (dir, site) = machine();
        let path = Path::new("/sys/kernel/tracing/instances/unjank-1");
        let place = DirectoryPlace::open(&site, path).unwrap();
        assert_eq!(place.look().unwrap(), CurrentState::Missing);
        place.make().unwrap();
        assert_eq!(place.look().unwrap(), CurrentState::Directory);
        assert!(dir.path().join("sys/kernel/tracing/instances/unjank-1").is_dir());
        assert!(matches!(place.make(), Err(Error::Busy(_))));
        place.enter().unwrap();
        place.remove().unwrap();
        assert_eq!(place.look().unwrap(), CurrentState::Missing);
    }

    #[test]
    fn a_file_is_not_taken_for_a_directory() {
        let (dir, site) = machine();
        fs::write(dir.path().join("sys/kernel/file"), "").unwrap();
        let look = |path: &str| DirectoryPlace::open(&site, Path::new(path)).unwrap().look();
        assert!(matches!(look("/sys/kernel/file"), Ok(CurrentState::Reads(_))));
        assert_eq!(look("/sys/kernel/tracing").unwrap(), CurrentState::Directory);
        let nowhere = DirectoryPlace::open(&site, Path::new("/sys/nothing/here"));
        assert!(nowhere.unwrap_err().is_not_found());
    }

    #[test]
    fn a_directory_outside_the_kernels_file_systems_is_refused() {
        let system = Site::of(&Root::system()).unwrap();
        for path in ["/tmp/unjank-1", "/", "/dev/unjank-1", "/sys/kernel/tracing/../../x"] {
            assert!(DirectoryPlace::open(&system, Path::new(path)).is_err(), "{path}");
        }
    }
}
