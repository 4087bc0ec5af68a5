//! A file that is there when it is whole: written under another name beside its
//! place, and then moved into it.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use unjank_host::{Error, Result};

/// Who may read the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readers {
    /// Its owner.
    Owner,
    /// Whoever may read files that its owner makes.
    AsUsual,
}

/// A file that is being written.
#[derive(Debug)]
pub(crate) struct WholeFile {
    path: PathBuf,
    force: bool,
    temporary: NamedTempFile,
}

impl WholeFile {
    /// Nothing so far. What is left unfinished is removed.
    ///
    /// # Errors
    /// `Invalid` if there is a file already, unless `force` says to replace it; `File` if its
    /// directory cannot be written.
    pub(crate) fn create(path: &Path, force: bool, readers: Readers) -> Result<Self> {
        let error = |source| Error::file("write", path, source);
        if path.file_name().is_none() || path.is_dir() {
            return Err(error(io::ErrorKind::IsADirectory.into()));
        }
        if !force && path.symlink_metadata().is_ok() {
            return Err(exists(path));
        }
        let directory = match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let mode = match readers {
            Readers::Owner => 0o600,
            Readers::AsUsual => 0o666,
        };
        let temporary = tempfile::Builder::new()
            .prefix(".unjank-")
            .permissions(Permissions::from_mode(mode))
            .tempfile_in(directory)
            .map_err(error)?;
        Ok(Self { path: path.to_owned(), force, temporary })
    }

    /// What is written to.
    ///
    /// # Errors
    /// There is no descriptor left.
    pub(crate) fn file(&self) -> Result<File> {
        self.temporary.as_file().try_clone().map_err(|why| self.error(why))
    }

    /// Why it could not be written.
    pub(crate) fn error(&self, why: io::Error) -> Error {
        Error::file("write", &self.path, why)
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    /// `Invalid` if another one has appeared there; `File` if it cannot be moved.
    pub(crate) fn finish(self) -> Result<()> {
        let Self { path, force, temporary } = self;
        let kept =
            if force { temporary.persist(&path) } else { temporary.persist_noclobber(&path) };
        match kept {
            Err(why) if why.error.kind() == io::ErrorKind::AlreadyExists => Err(exists(&path)),
            Err(why) => Err(Error::file("write", &path, why.error)),
            Ok(_) => Ok(()),
        }
    }
}

/// There is a file that nobody said to replace.
pub(crate) fn exists(path: &Path) -> Error {
    Error::Invalid(format!("{} is there already; --force replaces it", path.display()))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_file_appears_when_it_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trace.parquet");
        let whole = WholeFile::create(&path, false, Readers::Owner).unwrap();
        whole.file().unwrap().write_all(b"x").unwrap();
        assert!(!path.exists());
        whole.finish().unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let error = WholeFile::create(&path, false, Readers::Owner).unwrap_err();
        assert!(error.to_string().ends_with("is there already; --force replaces it"), "{error}");
        drop(WholeFile::create(&path, true, Readers::AsUsual).unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), b"x");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left over");
        assert!(WholeFile::create(dir.path(), true, Readers::Owner).is_err());
    }

    #[test]
    fn one_that_appeared_meanwhile_is_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t");
        let whole = WholeFile::create(&path, false, Readers::AsUsual).unwrap();
        std::fs::write(&path, "another").unwrap();
        assert!(whole.finish().unwrap_err().to_string().contains("is there already"));
        assert_eq!(std::fs::read(&path).unwrap(), b"another");
    }
}
