//! Opens files of a machine without leaving its directory.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, open, unlinkat};
use rustix::io::Errno;

use super::Root;
use crate::beneath;
use crate::error::{Error, Result};
use crate::trusted_place::{Missing, open_untrusted_directory};

impl Root {
    /// Opens a file for reading. A tree from elsewhere may hold a named pipe in
    /// place of a file, which must not block.
    pub(crate) fn open(&self, path: &Path) -> io::Result<File> {
        self.open_file(path, OFlags::RDONLY)
    }

    /// Opens an existing file for writing, and empties it.
    pub(crate) fn open_for_writing(&self, path: &Path) -> io::Result<File> {
        self.open_file(path, OFlags::WRONLY | OFlags::TRUNC)
    }

    fn open_file(&self, path: &Path, flags: OFlags) -> io::Result<File> {
        if self.is_system() {
            return self.open_with(path, flags).map(File::from);
        }
        let flags = flags | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = File::from(self.open_with(path, flags)?);
        if file.metadata()?.is_file() {
            Ok(file)
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
        }
    }

    /// Opens `path` without leaving the root.
    pub(crate) fn open_with(&self, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        if self.is_system() {
            return Ok(open(self.resolve(path), flags | OFlags::CLOEXEC, Mode::empty())?);
        }
        beneath::open(self.directory()?, path, flags).map_err(io_error)
    }

    /// Creates the directory `path`.
    pub(crate) fn make_directory(&self, path: &Path) -> io::Result<()> {
        let (above, name) = self.open_above(path)?;
        Ok(mkdirat(above, name, Mode::from_raw_mode(0o777))?)
    }

    /// Removes the directory `path`.
    pub(crate) fn remove_directory(&self, path: &Path) -> io::Result<()> {
        let (above, name) = self.open_above(path)?;
        Ok(unlinkat(above, name, AtFlags::REMOVEDIR)?)
    }

    /// Opens the parent directory of `path`, and returns it with the last
    /// component.
    fn open_above<'path>(&self, path: &'path Path) -> io::Result<(OwnedFd, &'path OsStr)> {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Errno::INVAL.into());
        };
        Ok((self.open_with(above, OFlags::PATH | OFlags::DIRECTORY)?, name))
    }

    /// The real path of `path` below the root, without links, and an `O_PATH`
    /// handle for it.
    pub(crate) fn find(&self, path: &Path) -> io::Result<(PathBuf, OwnedFd)> {
        beneath::find(self.directory()?, path).map_err(io_error)
    }

    /// The same machine, with its directory's path resolved.
    ///
    /// # Errors
    /// If the directory cannot be opened.
    pub(crate) fn settled(&self) -> Result<Self> {
        if self.is_system() {
            return Ok(self.clone());
        }
        let (opened, dir) = open_untrusted_directory(&self.dir, Missing::Refuse)?;
        let root = Self { dir, opened: Arc::default(), recording: self.recording.clone() };
        if !root.is_system() {
            let _nobody_else_has_it = root.opened.set(opened);
        }
        Ok(root)
    }

    fn directory(&self) -> io::Result<&OwnedFd> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let (opened, _) =
            open_untrusted_directory(&self.dir, Missing::Refuse).map_err(|error| match error {
                Error::File { source, .. } => source,
                other => io::Error::new(io::ErrorKind::PermissionDenied, other.to_string()),
            })?;
        Ok(self.opened.get_or_init(|| opened))
    }
}

/// The error of the kernel, with a clearer message where its own misleads.
fn io_error(errno: Errno) -> io::Error {
    match errno {
        Errno::XDEV => io::Error::new(io::ErrorKind::InvalidInput, OUTSIDE),
        other => other.into(),
    }
}

/// The message about links that leave the root.
const OUTSIDE: &str = "a link leads out of the tree";

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_pipe_in_a_recorded_tree_does_not_block() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        rustix::fs::mknodat(
            rustix::fs::CWD,
            dir.path().join("stat"),
            rustix::fs::FileType::Fifo,
            0o600.into(),
            0,
        )
        .unwrap();
        let error = root.read("/stat").unwrap_err().to_string();
        assert_eq!(error, "cannot read /stat: not a regular file");
    }

    #[test]
    fn nothing_outside_the_tree_is_reached_through_links() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        let outside = tempfile::tempdir().unwrap();
        let file = outside.path().join("file");
        fs::write(&file, "7\n").unwrap();
        std::os::unix::fs::symlink(&file, dir.path().join("knob")).unwrap();
        std::os::unix::fs::symlink(outside.path(), dir.path().join("sys")).unwrap();
        let error = root.read("/knob").unwrap_err().to_string();
        assert_eq!(error, "cannot read /knob: a link leads out of the tree");
        assert!(root.write("/sys/file", "8").is_err());
        assert!(root.list("/sys").is_err());
        assert!(!root.exists("/sys/file"));
        assert_eq!(fs::read_to_string(&file).unwrap(), "7\n");
    }
}
