//! A place for a file: its directory, open, and its name there.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, FileType, Mode, OFlags, accessat, fstat, openat, statat};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::error::{Error, Result};
use crate::trusted_place::{Missing, open_way};

/// Where a file is going to be written.
#[derive(Debug)]
pub struct Destination {
    path: PathBuf,
    pub(super) place: Place,
}

/// What is written to.
#[derive(Debug)]
pub(super) enum Place {
    /// A stream of this process.
    Stream,
    /// An entry of a directory.
    Entry { directory: OwnedFd, name: OsString },
}

impl Destination {
    /// Opens the directory of `path`, and checks that a file can be written
    /// there. Nothing is made.
    ///
    /// # Errors
    /// `Invalid` if the directory is not there, or something other than a file
    /// has that name; `File` or `Permission` if it may not be written.
    pub fn open(path: &Path) -> Result<Self> {
        let error = |source: Errno| Error::file("write", path, source.into()).of_named_file();
        let owned = path.to_owned();
        if is_stream(path) {
            stream(path).map_err(|source| Error::file("write", path, source))?;
            return Ok(Self { path: owned, place: Place::Stream });
        }
        let name = path.file_name().ok_or_else(|| error(Errno::ISDIR))?.to_owned();
        let (directory, _) =
            open_way(directory_of(path), Missing::Refuse).map_err(|e| match e {
                Error::File { source, .. } => Error::file("write", path, source).of_named_file(),
                other => other,
            })?;
        match statat(&directory, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile | FileType::Symlink => {}
                FileType::Directory => return Err(error(Errno::ISDIR)),
                _ => return Err(no_file(path)),
            },
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(error(errno)),
        }
        accessat(&directory, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::empty())
            .map_err(error)?;
        Ok(Self { path: owned, place: Place::Entry { directory, name } })
    }

    /// The file, as the user named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a file that is gone on with, for reading and writing, or makes it,
    /// for its owner alone.
    ///
    /// # Errors
    /// `Invalid` if it is no regular file, `Permission` if it belongs to
    /// somebody else or has another name, which may be a trap.
    pub fn go_on(&self) -> Result<File> {
        let error = |source: Errno| Error::file("open", &self.path, source.into());
        let Place::Entry { directory, name } = &self.place else { return Err(no_file(&self.path)) };
        let flags = OFlags::RDWR
            | OFlags::CREATE
            | OFlags::NOFOLLOW
            | OFlags::NONBLOCK
            | OFlags::NOCTTY
            | OFlags::CLOEXEC;
        let opened = openat(directory, name, flags, Mode::RUSR | Mode::WUSR).map_err(error)?;
        let stat = fstat(&opened).map_err(error)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(no_file(&self.path));
        }
        if geteuid().is_root() && (stat.st_uid != 0 || stat.st_nlink != 1) {
            return Err(Error::Permission {
                what: format!("going on with {}", self.path.display()),
                needs: "a file of root's, with one name".to_owned(),
            });
        }
        Ok(opened.into())
    }
}

/// Opens a stream of this process.
pub(super) fn stream(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).custom_flags(libc::O_NOCTTY).open(path)
}

/// Whether `path` names a stream by the links that Linux has for them.
fn is_stream(path: &Path) -> bool {
    let named = ["/dev/stdout", "/dev/stderr", "/dev/null", "/dev/tty"];
    named.iter().any(|stream| path == Path::new(stream))
        || matches!(path.parent(), Some(above)
            if above == Path::new("/dev/fd") || above == Path::new("/proc/self/fd"))
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

fn no_file(path: &Path) -> Error {
    Error::Invalid(format!("cannot write {}: it is not a regular file", path.display()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::error::ErrorClass;

    #[test]
    fn what_cannot_be_written_is_said_before_anything_is_done() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let class = |path: &Path| Destination::open(path).map(drop).map_err(|error| error.class());
        assert_eq!(class(&at("new")), Ok(()));
        assert_eq!(class(&at("nothing/new")), Err(ErrorClass::Usage));
        assert_eq!(class(dir.path()), Err(ErrorClass::Usage));
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        assert_eq!(class(&at("pipe")), Err(ErrorClass::Usage));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is made");
        if !geteuid().is_root() {
            fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o555))
                .unwrap();
            assert_eq!(class(&at("new")), Err(ErrorClass::Permission));
        }
    }

    #[test]
    fn what_is_gone_on_with_is_a_file_and_no_link() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let go_on = |path: &Path| Destination::open(path)?.go_on();
        go_on(&at("cells")).unwrap().write_all(b"x").unwrap();
        assert_eq!(io::read_to_string(go_on(&at("cells")).unwrap()).unwrap(), "x");
        symlink("cells", at("link")).unwrap();
        assert!(go_on(&at("link")).is_err());
    }
}
