//! The locks of a tier: who looks after it, serves it, turns its area on or off.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use unjank_host::files::make_private_directory;
use unjank_host::process::ProcessEnd;
use unjank_host::{Error, Result, Timestamp};

use super::directory::{LOCK, TierDirectory};

/// The part of a process that no two processes may have at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Turning the swap area on or off.
    Use,
    /// Serving the device.
    Server,
}

impl Part {
    /// All of them.
    pub(super) const ALL: [Self; 2] = [Self::Use, Self::Server];

    /// The kind of its lock.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Use => "use",
            Self::Server => "server",
        }
    }
}

/// Who looks after a tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Supervision {
    /// The tier is gone.
    Gone,
    /// Nobody: its supervisor and its keeper were killed.
    Nobody,
    /// A process; its number, unless that is just being written.
    Process(Option<u32>),
}

/// The lock of a tier's supervisor, which another process may have.
#[derive(Debug)]
pub struct SupervisorLock {
    directory: TierDirectory,
    lock: File,
}

/// A tier whose supervisor is this process.
#[derive(Debug)]
pub struct HeldTier {
    /// Its files.
    pub directory: TierDirectory,
    lock: File,
}

impl TierDirectory {
    /// The lock of the supervisor; `None` if the tier is gone.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn lock(&self) -> Result<Option<SupervisorLock>> {
        let path = self.beside(LOCK);
        match OpenOptions::new().read(true).write(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::file("open", path, error)),
            Ok(lock) => Ok(Some(SupervisorLock { directory: self.clone(), lock })),
        }
    }

    /// Who looks after the tier.
    ///
    /// # Errors
    /// The lock cannot be read.
    pub fn supervision(&self) -> Result<Supervision> {
        let Some(SupervisorLock { mut lock, .. }) = self.lock()? else {
            return Ok(Supervision::Gone);
        };
        let failed = |error| Error::file("read", self.beside(LOCK), error);
        if lock.try_lock_shared().is_ok() {
            let links = lock.metadata().map_err(failed)?.nlink();
            return Ok(if links == 0 { Supervision::Gone } else { Supervision::Nobody });
        }
        let mut text = String::new();
        lock.read_to_string(&mut text).map_err(failed)?;
        let number = text.trim().parse().ok();
        // A killed supervisor has left its number, and the next one writes its own after it has got
        // the lock.
        let runs = |number: &u32| {
            ProcessEnd::of(*number).is_ok_and(|end| end.is_some_and(|end| !end.has_come()))
        };
        Ok(Supervision::Process(number.filter(runs)))
    }

    /// Takes a part; `None` if another process has it, or if the tier is gone. It lasts as long as
    /// the file.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn take_part(&self, part: Part) -> Result<Option<File>> {
        let path = self.beside(part.name());
        let failed = |error| Error::file("lock", &path, error);
        let lock = match OpenOptions::new().write(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            lock => lock.map_err(failed)?,
        };
        match lock.try_lock() {
            Ok(()) if lock.metadata().map_err(failed)?.nlink() > 0 => Ok(Some(lock)),
            Ok(()) | Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    /// Whether another process has a part.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn is_taken(&self, part: Part) -> Result<bool> {
        self.take_part(part).map(|taken| taken.is_none())
    }
}

impl HeldTier {
    /// Makes the locks of a new tier in the directory of all tiers, which is made if it is missing,
    /// and becomes its supervisor.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn make(all: &Path) -> Result<Self> {
        make_private_directory(all)?;
        loop {
            let name = format!("{}-{:x}", std::process::id(), Timestamp::now().as_nanos());
            let directory = TierDirectory::named(all, &name)?;
            let path = directory.beside(LOCK);
            let mut made = OpenOptions::new();
            let made = made.read(true).write(true).create_new(true).mode(0o600).open(&path);
            let lock = made.map_err(|error| Error::file("make", path, error))?;
            let lock = SupervisorLock { directory, lock };
            // Somebody who looks for leftovers may have been quicker.
            if let Some(held) = lock.wait()? {
                return Ok(held);
            }
        }
    }

    /// Writes the number of this process to the lock, and makes the other locks unless they exist:
    /// a process that was killed may have left only some.
    fn sign(self) -> Result<Self> {
        let mut lock = &self.lock;
        let number = format!("{}\n", std::process::id());
        let written = lock
            .rewind()
            .and_then(|()| lock.set_len(0))
            .and_then(|()| lock.write_all(number.as_bytes()));
        written.map_err(|error| Error::file("write", self.directory.beside(LOCK), error))?;
        for part in Part::ALL {
            let path = self.directory.beside(part.name());
            let mut made = OpenOptions::new();
            let made = made.write(true).create(true).truncate(false).mode(0o600).open(&path);
            made.map_err(|error| Error::file("make", path, error))?;
        }
        Ok(self)
    }
}

impl SupervisorLock {
    /// Waits until no other process looks after the tier, and becomes its supervisor; `None` if the
    /// tier is gone then.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn wait(self) -> Result<Option<HeldTier>> {
        let Self { directory, lock } = self;
        let failed = |error| Error::file("lock", directory.beside(LOCK), error);
        lock.lock().map_err(failed)?;
        if lock.metadata().map_err(failed)?.nlink() == 0 {
            return Ok(None);
        }
        HeldTier { directory, lock }.sign().map(Some)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use unjank_needs::wait::until;

    use super::*;

    #[test]
    fn locks_that_a_killed_process_did_not_make_or_remove_are_made() {
        let dir = tempfile::tempdir().unwrap();
        let all = dir.path().join("tiers");
        let directory = HeldTier::make(&all).unwrap().directory;
        for part in Part::ALL {
            fs::remove_file(directory.beside(part.name())).unwrap();
            assert!(directory.take_part(part).unwrap().is_none());
        }
        let _held = directory.lock().unwrap().unwrap().wait().unwrap().unwrap();
        for part in Part::ALL {
            assert!(directory.take_part(part).unwrap().is_some());
        }
    }

    #[test]
    fn one_process_supervises_a_tier_until_it_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let all = dir.path().join("tiers");
        assert!(TierDirectory::list(&all).unwrap().is_empty());
        let held = HeldTier::make(&all).unwrap();
        let directory = held.directory.clone();
        assert_eq!(TierDirectory::list(&all).unwrap(), std::slice::from_ref(&directory));
        let this = Supervision::Process(Some(std::process::id()));
        assert_eq!(directory.supervision().unwrap(), this);
        assert!(directory.settings().unwrap().is_none());
        drop(held);
        assert_eq!(directory.supervision().unwrap(), Supervision::Nobody);
        let held = directory.lock().unwrap().unwrap().wait().unwrap().unwrap();
        let inode = held.lock.metadata().unwrap().ino().to_string();
        let waits = |locks: &str| locks.lines().any(|it| it.contains("->") && it.contains(&inode));
        std::thread::scope(|scope| {
            let lock = directory.lock().unwrap().unwrap();
            let waiting = scope.spawn(move || lock.wait());
            until("it waits", || waits(&fs::read_to_string("/proc/locks").unwrap()));
            held.remove().unwrap();
            assert!(waiting.join().unwrap().unwrap().is_none(), "the tier is gone");
        });
        assert_eq!(directory.supervision().unwrap(), Supervision::Gone);
        assert_eq!(fs::read_dir(&all).unwrap().count(), 0);
    }

    #[test]
    fn the_number_of_a_supervisor_that_has_ended_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let held = HeldTier::make(&dir.path().join("tiers")).unwrap();
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        // As while the next one has the lock and has not written its number yet.
        fs::write(held.directory.beside(LOCK), format!("{}\n", ended.id())).unwrap();
        assert_eq!(held.directory.supervision().unwrap(), Supervision::Process(None));
    }

    #[test]
    fn one_process_at_a_time_has_a_part() {
        let dir = tempfile::tempdir().unwrap();
        let held = HeldTier::make(&dir.path().join("tiers")).unwrap();
        let directory = held.directory.clone();
        let part = directory.take_part(Part::Use).unwrap();
        assert!(part.is_some() && directory.is_taken(Part::Use).unwrap());
        assert!(!directory.is_taken(Part::Server).unwrap());
        drop(part);
        assert!(!directory.is_taken(Part::Use).unwrap());
        held.remove().unwrap();
        assert!(directory.take_part(Part::Use).unwrap().is_none(), "the tier is gone");
    }
}
