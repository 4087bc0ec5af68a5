//! A counting semaphore for all test runs of a user on this machine.

use std::env;
use std::fs::{DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::fs::{Mode, OFlags, open, openat};

/// The time between two attempts.
const LOOK: Duration = Duration::from_millis(50);

/// Waits for one of `most` places. It is taken while this locked file, or a copy of it, is open in
/// any process; the kernel frees it when that process ends.
///
/// # Panics
/// If the directory of the places, `NAME-UID` in the temporary directory, belongs to another user
/// or others can write to it.
#[must_use]
pub fn take(name: &str, most: usize) -> File {
    let user = rustix::process::geteuid().as_raw();
    let path = env::temp_dir().join(format!("{name}-{user}"));
    let directory = open_own(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    loop {
        for number in 0..most {
            let place = place(&directory, number);
            let place = place.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            match place.try_lock() {
                Ok(()) => return place,
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => panic!("{}: {error}", path.display()),
            }
        }
        thread::sleep(LOOK);
    }
}

/// Waits until no other test has autogroups turned off, as a better nice value needs: one unjank at
/// a time may hold that knob. The turn ends when the result is dropped.
///
/// # Panics
/// As [`take`].
#[must_use]
pub fn autogroups() -> File {
    take("unjank-autogroups", 1)
}

/// Waits until no other test fills memory so that pages are swapped, or counts what is: swap areas
/// and their counters belong to the machine. The turn ends when the result is dropped.
///
/// # Panics
/// As [`take`].
#[must_use]
pub fn swap() -> File {
    take("unjank-swap", 1)
}

/// Waits until no other test changes the limits of dirty pages or of committed memory. The turn
/// ends when the result is dropped.
///
/// # Panics
/// As [`take`].
#[must_use]
pub fn memory_limits() -> File {
    take("unjank-memory-limits", 1)
}

/// Waits until no other test uses the trace buffer of the machine, as trace-cmd does, or watches
/// its state. The turn ends when the result is dropped.
///
/// # Panics
/// As [`take`].
#[must_use]
pub fn top_trace() -> File {
    take("unjank-top-trace", 1)
}

/// Opens a directory that only this user can write to, or makes it. Any user may have put
/// something else there.
fn open_own(path: &Path) -> io::Result<File> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = File::from(open(path, flags, Mode::empty())?);
    let about = directory.metadata()?;
    if about.uid() == rustix::process::geteuid().as_raw() && about.mode() & 0o022 == 0 {
        Ok(directory)
    } else {
        Err(io::Error::new(io::ErrorKind::PermissionDenied, "others can write to it"))
    }
}

/// The file of a place, which nothing is written to.
fn place(directory: &File, number: usize) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mode = Mode::RUSR | Mode::WUSR;
    Ok(openat(directory, number.to_string(), flags | OFlags::CLOEXEC, mode)?.into())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;
    use crate::wait::until;

    #[test]
    fn a_place_is_free_again_after_its_end() {
        let top = tempfile::tempdir().unwrap();
        let directory = open_own(&top.path().join("places")).unwrap();
        let taken = place(&directory, 0).unwrap();
        taken.try_lock().unwrap();
        assert!(place(&directory, 0).unwrap().try_lock().is_err());
        assert!(place(&directory, 1).unwrap().try_lock().is_ok());
        drop(taken);
        // A child that another test is starting has a copy of the file until its exec.
        until("it is free", || place(&directory, 0).unwrap().try_lock().is_ok());
    }

    #[test]
    fn what_another_user_has_planted_is_not_used() {
        let top = tempfile::tempdir().unwrap();
        let at = |name: &str| top.path().join(name);
        fs::write(at("secret"), "of root").unwrap();
        let directory = open_own(&at("real")).unwrap();
        symlink(at("secret"), at("real/0")).unwrap();
        assert!(place(&directory, 0).is_err());
        assert_eq!(fs::read_to_string(at("secret")).unwrap(), "of root");
        fs::write(at("real/1"), "there").unwrap();
        place(&directory, 1).unwrap();
        assert_eq!(fs::read_to_string(at("real/1")).unwrap(), "there", "it is not truncated");
        symlink(at("real"), at("link")).unwrap();
        assert!(open_own(&at("link")).is_err());
        fs::set_permissions(at("real"), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(open_own(&at("real")).is_err(), "others can write to it");
        fs::set_permissions(at("real"), fs::Permissions::from_mode(0o700)).unwrap();
        if std::os::unix::fs::chown(at("real"), Some(65534), None).is_ok() {
            assert!(open_own(&at("real")).is_err(), "it belongs to another user");
        }
    }
}
