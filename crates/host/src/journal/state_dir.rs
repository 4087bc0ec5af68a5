//! The directory that holds the journals: `restore` does what they say, so
//! only their owner may be able to write them.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, flock, fstat, openat, unlinkat,
};
use rustix::io::Errno;

use super::fuse;
use crate::error::{Error, Result};
use crate::trusted_place::{Missing, check_private, open_directory};

/// How the name of every journal ends.
const SUFFIX: &str = ".journal";
/// No directory is read further. Every journal is a session that was cut off.
const MOST_JOURNALS: usize = 4_096;

/// A state directory that has passed the checks.
#[derive(Debug)]
pub(crate) struct StateDir {
    path: PathBuf,
    dir: OwnedFd,
}

/// While it lives, nobody else looks for conflicts or takes knobs here.
#[derive(Debug)]
pub(crate) struct StateDirLock(#[expect(dead_code, reason = "held for its lock")] OwnedFd);

impl StateDir {
    /// Opens `path`, and makes it if it is not there.
    pub(crate) fn make(path: &Path) -> Result<Self> {
        Self::open(path, Missing::Make)
    }

    /// Opens `path` if it is there.
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

    /// Where the journal `name` lies, for messages.
    pub(crate) fn journal_path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Waits until nobody else changes what is held here. Keepers do without
    /// this lock: they only ever wait for, and then clear, one journal.
    pub(crate) fn lock(&self) -> Result<StateDirLock> {
        let error = |source: Errno| Error::file("lock", &self.path, source.into());
        // A description of its own: two sessions of one process exclude each
        // other too.
        let dir = openat(&self.dir, ".", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .map_err(error)?;
        rustix::io::retry_on_intr(|| flock(&dir, FlockOperation::LockExclusive)).map_err(error)?;
        Ok(StateDirLock(dir))
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

    /// A journal that is there, open for reading and appending; `None` if
    /// somebody has cleared it meanwhile.
    pub(crate) fn open_journal(&self, name: &str) -> Result<Option<File>> {
        let path = self.journal_path(name);
        let error = |source: Errno| Error::file("open", &path, source.into());
        // A pipe by that name must not make us wait for a writer.
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
        // Whoever can write a journal decides what root writes.
        check_private(&stat, &path)?;
        Ok(Some(File::from(file)))
    }

    /// A new, empty journal, and its name on the disk.
    pub(crate) fn create_journal(&self, name: &str) -> Result<File> {
        let file = self.create_unsynced(name)?;
        let error = |source: Errno| Error::file("create", self.journal_path(name), source.into());
        rustix::fs::fsync(&self.dir).map_err(error)?;
        Ok(file)
    }

    /// A new, empty journal, for what a boot undoes by itself: it outlives this
    /// process, but perhaps not the machine.
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

    /// Clears a journal that somebody else may have cleared already.
    pub(crate) fn remove_journal(&self, name: &str) -> Result<()> {
        let path = self.journal_path(name);
        fuse::burn().map_err(|source| Error::file("remove", &path, source))?;
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
    fn what_is_made_is_for_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b");
        assert!(StateDir::open_if_there(&path).unwrap().is_none());
        let state = StateDir::make(&path).unwrap();
        state.create_journal("1.journal").unwrap();
        assert_eq!((mode(&path), mode(&path.join("1.journal"))), (0o700, 0o600));
        assert!(state.create_journal("1.journal").is_err(), "never a journal that is there");
        state.remove_journal("1.journal").unwrap();
        state.remove_journal("1.journal").unwrap();
        assert!(state.open_journal("1.journal").unwrap().is_none());
    }

    #[test]
    fn a_place_that_others_can_write_is_refused() {
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
        let second = File::open(state.path()).unwrap();
        let attempt = || flock(&second, FlockOperation::NonBlockingLockExclusive);
        assert_eq!(attempt(), Err(Errno::WOULDBLOCK));
        drop(held);
        assert_eq!(attempt(), Ok(()));
    }
}
