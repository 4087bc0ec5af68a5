//! The directory of the journals. `restore` follows them, so only their owner
//! may be able to write them.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, flock, fstat, openat, unlinkat,
};
use rustix::io::Errno;

use super::failpoint;
use crate::error::{Error, Result};
use crate::trusted_place::{Missing, check_hidden, check_private, open_directory};

/// The suffix of every journal's name.
const SUFFIX: &str = ".journal";
/// The file whose lock is that of the directory. Anybody who can open a file or a directory can
/// lock it, and other users may be able to open the directory.
const LOCK: &str = "lock";
/// The most journals in a directory. Each one is a live session or one that was
/// cut off.
const MOST_JOURNALS: usize = 4_096;

/// A state directory that has passed the checks.
#[derive(Debug)]
pub(crate) struct StateDir {
    path: PathBuf,
    dir: OwnedFd,
}

/// The lock under which sessions look for conflicts and take knobs. Dropping it
/// releases the lock.
#[derive(Debug)]
pub(crate) struct StateDirLock(OwnedFd);

/// A child that another thread is starting has a copy of the open file until its exec.
/// It must not keep the lock, so the lock is released explicitly.
impl Drop for StateDirLock {
    fn drop(&mut self) {
        let _not_ours_any_more = flock(&self.0, FlockOperation::Unlock);
    }
}

impl StateDir {
    /// Opens `path`, and creates it if it is missing.
    pub(crate) fn make(path: &Path) -> Result<Self> {
        Self::open(path, Missing::Make)
    }

    /// Opens `path` if it exists.
    pub(crate) fn open_if_there(path: &Path) -> Result<Option<Self>> {
        match Self::open(path, Missing::Refuse) {
            Err(error) if error.is_not_found() => Ok(None),
            opened => opened.map(Some),
        }
    }

    fn open(path: &Path, missing: Missing) -> Result<Self> {
        let dir = open_directory(path, missing)?;
        let stat = fstat(&dir).map_err(|error| Error::file("look at", path, error.into()))?;
        check_private(&stat, path)?;
        let path = std::path::absolute(path).map_err(|e| Error::file("find", path, e))?;
        Ok(Self { path, dir })
    }

    /// Its absolute path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The path of the journal `name`, for messages.
    pub(crate) fn journal_path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Waits for the directory's lock. Keepers do not need it: each waits for
    /// one journal and clears it.
    pub(crate) fn lock(&self) -> Result<StateDirLock> {
        let path = self.path.join(LOCK);
        let error = |source: Errno| Error::file("lock", &path, source.into());
        // A separate open file description, so that two sessions of one process
        // exclude each other, too.
        let flags = OFlags::RDWR
            | OFlags::CREATE
            | OFlags::NOFOLLOW
            | OFlags::NONBLOCK
            | OFlags::NOCTTY
            | OFlags::CLOEXEC;
        let file = openat(&self.dir, LOCK, flags, Mode::RUSR | Mode::WUSR).map_err(error)?;
        let stat = fstat(&file).map_err(error)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(Error::file("lock", &path, io::Error::other("not a regular file")));
        }
        check_hidden(&stat, &path)?;
        rustix::io::retry_on_intr(|| flock(&file, FlockOperation::LockExclusive)).map_err(error)?;
        Ok(StateDirLock(file))
    }

    /// The names of all journals, sorted.
    pub(crate) fn journals(&self) -> Result<Vec<String>> {
        let error = |source: Errno| Error::file("list", &self.path, source.into());
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.dir).map_err(error)? {
            let entry = entry.map_err(error)?;
            if let Ok(name) = entry.file_name().to_str()
                && name.ends_with(SUFFIX)
            {
                names.push(name.to_owned());
            }
            if names.len() > MOST_JOURNALS {
                let many = io::Error::other(format!("more than {MOST_JOURNALS} journals"));
                return Err(Error::file("list", &self.path, many));
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Opens an existing journal for reading and appending; `None` if it has
    /// been removed meanwhile.
    pub(crate) fn open_journal(&self, name: &str) -> Result<Option<File>> {
        let path = self.journal_path(name);
        let error = |source: Errno| Error::file("open", &path, source.into());
        // Without O_NONBLOCK, opening a pipe would wait for a writer.
        let flags = OFlags::RDWR
            | OFlags::APPEND
            | OFlags::NOFOLLOW
            | OFlags::NONBLOCK
            | OFlags::NOCTTY
            | OFlags::CLOEXEC;
        let file = match openat(&self.dir, name, flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(error(errno)),
        };
        let stat = fstat(&file).map_err(error)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(Error::file("open", &path, io::Error::other("not a regular file")));
        }
        // A journal decides what root writes.
        check_private(&stat, &path)?;
        Ok(Some(File::from(file)))
    }

    /// Creates an empty journal and syncs its name to the disk.
    pub(crate) fn create_journal(&self, name: &str) -> Result<File> {
        let file = self.create_unsynced(name)?;
        let error = |source: Errno| Error::file("create", self.journal_path(name), source.into());
        rustix::fs::fsync(&self.dir).map_err(error)?;
        Ok(file)
    }

    /// Creates an empty journal without waiting for the disk, for changes that
    /// end with a boot: it outlives this process, but perhaps not a crash of the
    /// machine.
    pub(crate) fn create_unsynced(&self, name: &str) -> Result<File> {
        let path = self.journal_path(name);
        let error = |source: Errno| Error::file("create", &path, source.into());
        let flags = OFlags::RDWR
            | OFlags::APPEND
            | OFlags::CREATE
            | OFlags::EXCL
            | OFlags::NOFOLLOW
            | OFlags::CLOEXEC;
        openat(&self.dir, name, flags, Mode::RUSR | Mode::WUSR).map(File::from).map_err(error)
    }

    /// Removes a journal, which may be gone already.
    pub(crate) fn remove_journal(&self, name: &str) -> Result<()> {
        let path = self.journal_path(name);
        failpoint::check().map_err(|source| Error::file("remove", &path, source))?;
        match unlinkat(&self.dir, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(source) => Err(Error::file("remove", &path, source.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn new_files_and_directories_are_for_their_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b");
        assert!(StateDir::open_if_there(&path).unwrap().is_none());
        let state = StateDir::make(&path).unwrap();
        state.create_journal("1.journal").unwrap();
        assert_eq!((mode(&path), mode(&path.join("1.journal"))), (0o700, 0o600));
        assert!(state.create_journal("1.journal").is_err(), "an existing journal is not opened");
        state.remove_journal("1.journal").unwrap();
        state.remove_journal("1.journal").unwrap();
        assert!(state.open_journal("1.journal").unwrap().is_none());
    }

    #[test]
    fn a_directory_that_others_can_write_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state");
        let state = StateDir::make(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o770)).unwrap();
        let error = StateDir::make(&path).unwrap_err();
        assert!(error.to_string().contains("others may write to it (mode 770)"), "{error}");
        state.create_journal("1.journal").unwrap();
        let journal = path.join("1.journal");
        fs::set_permissions(&journal, fs::Permissions::from_mode(0o602)).unwrap();
        assert!(state.open_journal("1.journal").is_err());
    }

    #[test]
    fn links_and_pipes_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state");
        let state = StateDir::make(&path).unwrap();
        let link = dir.path().join("link");
        symlink(&path, &link).unwrap();
        assert!(StateDir::make(&link).is_err());
        fs::write(dir.path().join("elsewhere"), "").unwrap();
        symlink(dir.path().join("elsewhere"), path.join("1.journal")).unwrap();
        assert!(state.open_journal("1.journal").is_err());
        let pipe = path.join("2.journal");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::RUSR, 0).unwrap();
        assert!(state.open_journal("2.journal").is_err());
        fs::write(path.join("notes.txt"), "").unwrap();
        assert_eq!(state.journals().unwrap(), ["1.journal", "2.journal"]);
    }

    #[test]
    fn the_lock_excludes_a_second_holder_in_the_same_process() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::make(&dir.path().join("state")).unwrap();
        let held = state.lock().unwrap();
        let second = File::open(state.path().join(LOCK)).unwrap();
        let attempt = || flock(&second, FlockOperation::NonBlockingLockExclusive);
        assert_eq!(attempt(), Err(Errno::WOULDBLOCK));
        // As a child of another thread has it before its exec.
        let _copy = held.0.try_clone().unwrap();
        drop(held);
        assert_eq!(attempt(), Ok(()));
    }

    #[test]
    fn others_who_can_read_the_directory_cannot_hold_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::make(&dir.path().join("state")).unwrap();
        fs::set_permissions(state.path(), fs::Permissions::from_mode(0o755)).unwrap();
        drop(state.lock().unwrap());
        let lock = state.path().join(LOCK);
        assert_eq!(mode(&lock), 0o600);
        let directory = File::open(state.path()).unwrap();
        let _held = state.lock().unwrap();
        flock(&directory, FlockOperation::NonBlockingLockExclusive).expect("it is not used");
        for wrong in [0o640, 0o604, 0o622] {
            fs::set_permissions(&lock, fs::Permissions::from_mode(wrong)).unwrap();
            let error = state.lock().unwrap_err().to_string();
            assert!(
                error.contains(&format!("lock (others may open it (mode {wrong:o}))")),
                "{error}"
            );
        }
        fs::remove_file(&lock).unwrap();
        symlink("elsewhere", &lock).unwrap();
        assert!(state.lock().is_err(), "a link");
    }
}
