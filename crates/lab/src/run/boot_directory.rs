//! The directory of one boot's files, and removal of stale ones.

use std::fs::{self, File};
use std::path::Path;

use unjank_host::Error as HostError;
use unjank_host::files::Destination;

use crate::error::Result;

/// The prefix of their names.
const PREFIX: &str = "boot-";
/// The file that its owner locks. The kernel unlocks it however the owner ends.
const LOCK: &str = "lock";

/// A directory that is removed when this is dropped, or when the next one is
/// made.
#[derive(Debug)]
pub(super) struct BootDirectory {
    directory: tempfile::TempDir,
    _lock: File,
}

impl BootDirectory {
    /// Creates one below `scratch`, and removes those without an owner.
    pub(super) fn new(scratch: &Path) -> Result<Self> {
        let failed = |path: &Path, error| HostError::file("create", path, error);
        fs::create_dir_all(scratch).map_err(|error| failed(scratch, error))?;
        // A directory that is just being created has no owner yet.
        let making = scratch.join("boots.lock");
        let one_at_a_time = Destination::open(&making)?.open_or_create()?;
        one_at_a_time.lock().map_err(|error| failed(&making, error))?;
        for entry in fs::read_dir(scratch).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(PREFIX) && !is_owned(&entry.path()) {
                let _the_next_one_tries_again = fs::remove_dir_all(entry.path());
            }
        }
        let directory = tempfile::Builder::new()
            .prefix(PREFIX)
            .tempdir_in(scratch)
            .map_err(|error| HostError::file("create a directory in", scratch, error))?;
        let path = directory.path().join(LOCK);
        let lock = File::create(&path).map_err(|error| failed(&path, error))?;
        lock.lock().map_err(|error| failed(&path, error))?;
        Ok(Self { directory, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }
}

fn is_owned(directory: &Path) -> bool {
    File::open(directory.join(LOCK)).is_ok_and(|lock| lock.try_lock().is_err())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_in_place_of_the_lock_is_not_followed() {
        let scratch = tempfile::tempdir().unwrap();
        let secret = scratch.path().join("secret");
        fs::write(&secret, "kept").unwrap();
        std::os::unix::fs::symlink(&secret, scratch.path().join("boots.lock")).unwrap();
        assert!(BootDirectory::new(scratch.path()).is_err());
        assert_eq!(fs::read_to_string(&secret).unwrap(), "kept");
    }

    #[test]
    fn the_next_boot_removes_the_directory_of_a_killed_one() {
        let scratch = tempfile::tempdir().unwrap();
        let left = scratch.path().join("boot-left");
        fs::create_dir(&left).unwrap();
        fs::write(left.join(LOCK), "").unwrap();
        let kernel = scratch.path().join("linux-image-x");
        fs::create_dir(&kernel).unwrap();
        let first = BootDirectory::new(scratch.path()).unwrap();
        let second = BootDirectory::new(scratch.path()).unwrap();
        assert!(!left.exists());
        assert!(first.path().is_dir() && second.path().is_dir() && kernel.is_dir());
        let path = first.path().to_owned();
        drop(first);
        assert!(!path.exists());
    }
}
