//! Files without a name (`O_TMPFILE` of `open(2)`), which disappear when they
//! are closed, for any reason.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags, fstatfs, openat};
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::support::Support;
use crate::trusted_place::{Missing, open_untrusted_directory};

/// A directory for files without a name. It may belong to any user.
#[derive(Debug)]
pub(crate) struct UnnamedPlace<'path> {
    path: &'path Path,
    /// What is done there, for errors: `create a file in`.
    action: &'static str,
    directory: OwnedFd,
}

impl<'path> UnnamedPlace<'path> {
    /// Opens the directory `path`; root follows no link of another user.
    ///
    /// # Errors
    /// `File` with the action; `Permission` for a link that belongs to another
    /// user.
    pub(crate) fn open(path: &'path Path, action: &'static str) -> Result<Self> {
        match open_untrusted_directory(path, Missing::Refuse) {
            Ok((directory, _)) => Ok(Self { path, action, directory }),
            Err(Error::File { source, .. }) => Err(Error::file(action, path, source)),
            Err(other) => Err(other),
        }
    }

    /// The magic number of its file system: `f_type` of `statfs(2)`.
    ///
    /// # Errors
    /// `File` with the action.
    pub(crate) fn file_system(&self) -> Result<u32> {
        // The kernel's type is a signed long on some architectures; magic
        // numbers have 32 bits.
        let kind = fstatfs(&self.directory).map_err(|errno| self.error(errno))?.f_type;
        Ok(kind as u32)
    }

    /// A new file for reading and writing; `No` if the file system does not
    /// support files without a name.
    ///
    /// # Errors
    /// `File` with the action.
    pub(crate) fn create(&self) -> Result<Support<File>> {
        let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
        match openat(&self.directory, ".", flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => Ok(Support::Yes(file.into())),
            Err(Errno::OPNOTSUPP | Errno::ISDIR) => Ok(Support::no(format!(
                "the file system of {} does not support unnamed files (O_TMPFILE)",
                self.path.display()
            ))),
            Err(errno) => Err(self.error(errno)),
        }
    }

    fn error(&self, errno: Errno) -> Error {
        Error::file(self.action, self.path, errno.into())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{lchown, symlink};

    use super::*;
    use crate::error::ErrorClass;

    #[test]
    fn the_file_lies_in_the_directory_that_was_opened() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("ours")).unwrap();
        symlink("ours", at("link")).unwrap();
        let linked = at("link");
        let place = UnnamedPlace::open(&linked, "create a file in").unwrap();
        fs::remove_file(at("link")).unwrap();
        let Support::Yes(_file) = place.create().unwrap() else { return };
        assert_eq!(fs::read_dir(at("ours")).unwrap().count(), 0, "it has no name");
        let error = UnnamedPlace::open(&linked, "create a file in").unwrap_err().to_string();
        assert!(error.starts_with(&format!("cannot create a file in {}: ", linked.display())));
    }

    #[test]
    fn root_follows_no_link_of_another_user() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("link");
        symlink(".", &link).unwrap();
        if lchown(&link, Some(65534), None).is_err() {
            return println!("only root can give links to another user");
        }
        let error = UnnamedPlace::open(&link, "create a file in").unwrap_err();
        assert_eq!(error.class(), ErrorClass::Permission, "{error}");
        assert!(error.to_string().contains("link (a link: it belongs to user 65534"), "{error}");
    }
}
