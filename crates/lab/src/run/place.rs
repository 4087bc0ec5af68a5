//! A directory for the files of one boot, and what killed ones have left.

use std::fs::{self, File};
use std::path::Path;

use unjank_host::Error as HostError;

use crate::error::Result;

/// How such directories are called.
const PREFIX: &str = "boot-";
/// The file in it that its owner has locked. The kernel unlocks it however the
/// owner ends.
const LOCK: &str = "lock";

/// A directory that is gone when this is dropped, or else when the next one is
/// made.
#[derive(Debug)]
pub(super) struct Place {
    directory: tempfile::TempDir,
    _lock: File,
}

impl Place {
    /// Makes one below `scratch`, and removes those that nobody owns.
    pub(super) fn new(scratch: &Path) -> Result<Self> {
        let failed = |path: &Path, error| HostError::file("create", path, error);
        fs::create_dir_all(scratch).map_err(|error| failed(scratch, error))?;
        // One that is being made has no owner yet.
        let making = scratch.join("boots.lock");
        let one_at_a_time = File::create(&making).map_err(|error| failed(&making, error))?;
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

    /// Where it is.
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
    fn what_a_killed_boot_has_left_goes_with_the_next() {
        let scratch = tempfile::tempdir().unwrap();
        let left = scratch.path().join("boot-left");
        fs::create_dir(&left).unwrap();
        fs::write(left.join(LOCK), "").unwrap();
        let kernel = scratch.path().join("linux-image-x");
        fs::create_dir(&kernel).unwrap();
        let first = Place::new(scratch.path()).unwrap();
        let second = Place::new(scratch.path()).unwrap();
        assert!(!left.exists());
        assert!(first.path().is_dir() && second.path().is_dir() && kernel.is_dir());
        let path = first.path().to_owned();
        drop(first);
        assert!(!path.exists());
    }
}
