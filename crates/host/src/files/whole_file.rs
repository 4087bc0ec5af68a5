//! A file that appears only when it is complete: written without a name, or
//! under a random one if the file system does not support `O_TMPFILE`, and then
//! moved to its path.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Seek as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, RenameFlags, fchmod, linkat, openat, renameat, renameat_with,
    statat, unlinkat,
};
use rustix::io::Errno;

use super::destination::{Destination, Target, stdout, stream};
use crate::error::{Error, Result};

/// The number of random names that are tried.
const TRIES: usize = 16;

/// Who may read the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    /// Its owner alone: mode 0600.
    Owner,
    /// As the umask says: umask(2).
    AsUsual,
    /// Everyone, whatever the umask is: mode 0644.
    Everyone,
}

/// What to do about an existing file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// Keep it, and fail.
    Keep,
    /// Replace it.
    Replace,
}

impl Existing {
    /// `Replace` with `force`, else `Keep`.
    pub fn replaced_if(force: bool) -> Self {
        if force { Self::Replace } else { Self::Keep }
    }
}

/// A file that is being written.
#[derive(Debug)]
pub struct WholeFile {
    path: PathBuf,
    existing: Existing,
    readers: Readers,
    file: File,
    target: Target,
    /// Its temporary name, if it has one.
    temporary: Option<OsString>,
}

impl WholeFile {
    /// Begins an empty file. It is removed if it is dropped unfinished.
    ///
    /// # Errors
    /// As [`Destination::open`]; `Invalid` if a file exists and is to be kept.
    pub fn create(path: &Path, existing: Existing, readers: Readers) -> Result<Self> {
        Self::begin(Destination::open(path)?, existing, readers)
    }

    /// Begins an empty file at a destination that was opened before.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn begin(destination: Destination, existing: Existing, readers: Readers) -> Result<Self> {
        let (path, target) = (destination.path().to_owned(), destination.target);
        let error = |source| Error::file("write", &path, source);
        let (file, temporary) = match &target {
            Target::Stdout => (stdout().map_err(error)?, None),
            Target::Stream => (stream(&path).map_err(error)?, None),
            Target::Entry { directory, name } => {
                let is_there = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).is_ok();
                if existing == Existing::Keep && is_there {
                    return Err(exists(&path));
                }
                make(directory, readers).map_err(|errno| error(errno.into()))?
            }
        };
        Ok(Self { path, existing, readers, file, target, temporary })
    }

    /// A handle to write to.
    ///
    /// # Errors
    /// Out of file descriptors.
    pub fn file(&self) -> Result<File> {
        self.file.try_clone().map_err(|why| self.error(why))
    }

    /// The error for a write to it that failed.
    pub fn error(&self, why: io::Error) -> Error {
        Error::file("write", &self.path, why)
    }

    /// Moves the file to its path.
    ///
    /// # Errors
    /// `Invalid` if another file has appeared there and is to be kept; `File` if
    /// it cannot be moved.
    pub fn finish(mut self) -> Result<()> {
        if matches!(self.target, Target::Stdout | Target::Stream) {
            return Ok(());
        }
        if self.temporary.is_none() {
            self.temporary = Some(self.name_it().map_err(|why| self.error(why))?);
        }
        match self.put_in_place() {
            Ok(()) => {
                self.temporary = None;
                Ok(())
            }
            Err(Errno::EXIST) => Err(exists(&self.path)),
            Err(errno) => Err(self.error(errno.into())),
        }
    }

    /// Gives a file without a name a random one.
    fn name_it(&mut self) -> io::Result<OsString> {
        let Target::Entry { directory, .. } = &self.target else { return Err(Errno::INVAL.into()) };
        // open(2), at O_TMPFILE.
        let link = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        let named = try_names(|name| linkat(CWD, &link, directory, name, AtFlags::SYMLINK_FOLLOW));
        if let Ok(((), name)) = named {
            return Ok(name);
        }
        // Without /proc, or if a policy forbids links (Android's), it is copied.
        let (copy, name) = make_named(directory, self.readers)?;
        let mut copy = File::from(copy);
        let copied = self.file.rewind().and_then(|()| io::copy(&mut self.file, &mut copy));
        if let Err(error) = copied {
            let _left_behind = unlinkat(directory, &name, AtFlags::empty());
            return Err(error);
        }
        Ok(name)
    }

    fn put_in_place(&self) -> Result<(), Errno> {
        let Target::Entry { directory, name } = &self.target else { return Ok(()) };
        let Some(temporary) = &self.temporary else { return Ok(()) };
        if self.existing == Existing::Replace {
            return renameat(directory, temporary, directory, name);
        }
        match renameat_with(directory, temporary, directory, name, RenameFlags::NOREPLACE) {
            // Not every file system supports RENAME_NOREPLACE.
            Err(Errno::INVAL | Errno::NOSYS) => {
                linkat(directory, temporary, directory, name, AtFlags::empty())?;
                unlinkat(directory, temporary, AtFlags::empty())
            }
            renamed => renamed,
        }
    }
}

impl Destination {
    /// Writes a complete file, which replaces an existing one.
    ///
    /// # Errors
    /// `File`; an existing file is unchanged then.
    pub fn write(self, bytes: &[u8]) -> Result<()> {
        self.write_for(Readers::AsUsual, bytes)
    }

    /// As [`write`](Self::write), for these readers.
    ///
    /// # Errors
    /// As `write`.
    pub fn write_for(self, readers: Readers, bytes: &[u8]) -> Result<()> {
        let whole = WholeFile::begin(self, Existing::Replace, readers)?;
        whole.file()?.write_all(bytes).map_err(|why| whole.error(why))?;
        whole.finish()
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if let (Target::Entry { directory, .. }, Some(name)) = (&self.target, &self.temporary) {
            let _left_behind = unlinkat(directory, name, AtFlags::empty());
        }
    }
}

/// The error for an existing file that is to be kept.
pub fn exists(path: &Path) -> Error {
    Error::Invalid(format!("{} already exists; --replace allows it", path.display()))
}

/// Creates a file in `directory`, without a name if possible.
fn make(directory: &OwnedFd, readers: Readers) -> Result<(File, Option<OsString>), Errno> {
    let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
    match open_new(directory, OsStr::new("."), flags, readers) {
        Ok(file) => Ok((file.into(), None)),
        // The errors of file systems and kernels without O_TMPFILE: open(2).
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => {
            make_named(directory, readers).map(|(file, name)| (file.into(), Some(name)))
        }
        Err(errno) => Err(errno),
    }
}

fn make_named(directory: &OwnedFd, readers: Readers) -> Result<(OwnedFd, OsString), Errno> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    try_names(|name| open_new(directory, name, flags, readers))
}

fn open_new(
    directory: &OwnedFd,
    name: &OsStr,
    flags: OFlags,
    readers: Readers,
) -> Result<OwnedFd, Errno> {
    let file = openat(directory, name, flags, mode(readers))?;
    if readers == Readers::Everyone {
        // Of a file system without modes, such as FAT, the mount decides.
        let _as_mounted = fchmod(&file, mode(readers));
    }
    Ok(file)
}

/// Calls `attempt` with random names until one is free.
fn try_names<T>(
    mut attempt: impl FnMut(&OsString) -> Result<T, Errno>,
) -> Result<(T, OsString), Errno> {
    for number in 0..TRIES {
        // Hashers have random keys, so the names cannot be predicted.
        let name = format!(".unjank-{:016x}", RandomState::new().hash_one(number)).into();
        match attempt(&name) {
            Err(Errno::EXIST) => {}
            done => return Ok((done?, name)),
        }
    }
    Err(Errno::EXIST)
}

fn mode(readers: Readers) -> Mode {
    match readers {
        Readers::Owner => Mode::from_raw_mode(0o600),
        Readers::AsUsual => Mode::from_raw_mode(0o666),
        Readers::Everyone => Mode::from_raw_mode(0o644),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// As on a file system without `O_TMPFILE`.
    fn with_a_name(path: &Path, existing: Existing) -> WholeFile {
        let mut whole = WholeFile::create(path, existing, Readers::AsUsual).unwrap();
        let Target::Entry { directory, .. } = &whole.target else { panic!("{whole:?}") };
        let (file, name) = make_named(directory, Readers::AsUsual).unwrap();
        whole.file = file.into();
        whole.temporary = Some(name);
        whole
    }

    fn names(dir: &Path) -> usize {
        fs::read_dir(dir).unwrap().count()
    }

    #[test]
    fn a_file_appears_when_it_is_complete() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trace.parquet");
        let whole = WholeFile::create(&path, Existing::Keep, Readers::Owner).unwrap();
        whole.file().unwrap().write_all(b"x").unwrap();
        assert!(!path.exists());
        whole.finish().unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let error = WholeFile::create(&path, Existing::Keep, Readers::Owner).unwrap_err();
        assert!(error.to_string().ends_with("already exists; --replace allows it"), "{error}");
        drop(WholeFile::create(&path, Existing::Replace, Readers::AsUsual).unwrap());
        drop(with_a_name(&path, Existing::Replace));
        assert_eq!(fs::read(&path).unwrap(), b"x");
        assert_eq!(names(dir.path()), 1, "nothing is left over");
        assert!(WholeFile::create(dir.path(), Existing::Replace, Readers::Owner).is_err());
    }

    #[test]
    fn an_existing_file_is_replaced_as_a_whole_and_links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (path, elsewhere) = (dir.path().join("page"), dir.path().join("elsewhere"));
        fs::write(&elsewhere, "of somebody").unwrap();
        let create =
            |path: &Path| WholeFile::create(path, Existing::Replace, Readers::AsUsual).unwrap();
        for begin in
            [create as fn(&Path) -> WholeFile, |path: &Path| with_a_name(path, Existing::Replace)]
        {
            let _there = fs::remove_file(&path);
            symlink(&elsewhere, &path).unwrap();
            let whole = begin(&path);
            whole.file().unwrap().write_all(b"new").unwrap();
            whole.finish().unwrap();
            assert!(path.symlink_metadata().unwrap().is_file());
            assert_eq!(fs::read(&path).unwrap(), b"new");
        }
        assert_eq!(fs::read(&elsewhere).unwrap(), b"of somebody");
        assert_eq!(names(dir.path()), 2);
    }

    #[test]
    fn a_file_that_appeared_meanwhile_is_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t");
        let keep = |path: &Path| WholeFile::create(path, Existing::Keep, Readers::AsUsual).unwrap();
        for begin in
            [keep as fn(&Path) -> WholeFile, |path: &Path| with_a_name(path, Existing::Keep)]
        {
            let whole = begin(&path);
            fs::write(&path, "another").unwrap();
            assert!(whole.finish().unwrap_err().to_string().contains("already exists"));
            assert_eq!(fs::read(&path).unwrap(), b"another");
            assert_eq!(names(dir.path()), 1);
            fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn a_stream_is_written_directly() {
        let whole = WholeFile::create(Path::new("/dev/null"), Existing::Replace, Readers::AsUsual);
        let whole = whole.unwrap();
        whole.file().unwrap().write_all(b"x").unwrap();
        whole.finish().unwrap();
        assert!(!Path::new("/dev/null").metadata().unwrap().is_file());
    }
}
