//! The file that a recording goes to: there when it is whole, and nobody else's to read.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use unjank_host::{Error, Result};

use crate::trace::parquet::Writer;
use crate::trace::{Event, Names};

/// A trace that is being written beside its place.
pub(super) struct Output {
    path: PathBuf,
    force: bool,
    temporary: NamedTempFile,
    writer: Writer<BufWriter<File>>,
}

impl Output {
    /// # Errors
    /// `Invalid` if there is a file already, unless `force` says to replace it; `File` if its
    /// directory cannot be written.
    pub(super) fn create(path: &Path, force: bool) -> Result<Self> {
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
        // What a process pages, and when, is its user's secret.
        let temporary = tempfile::Builder::new()
            .prefix(".unjank-")
            .permissions(std::fs::Permissions::from_mode(0o600))
            .tempfile_in(directory)
            .map_err(error)?;
        let file = temporary.as_file().try_clone().map_err(error)?;
        let writer = Writer::new(BufWriter::new(file)).map_err(|why| failed(path, &why))?;
        Ok(Self { path: path.to_owned(), force, temporary, writer })
    }

    /// Appends; what is not written yet is bounded.
    pub(super) fn write(&mut self, events: &[Event], names: &Names) -> Result<()> {
        self.writer.write(events, names).map_err(|why| failed(&self.path, &why))
    }

    /// Puts the whole file in its place.
    pub(super) fn finish(self, names: &Names) -> Result<u64> {
        let Self { path, force, temporary, writer } = self;
        let error = |source| Error::file("write", &path, source);
        let mut out = writer.finish(names).map_err(|why| failed(&path, &why))?;
        out.flush().map_err(error)?;
        let bytes = out.get_ref().metadata().map_err(error)?.len();
        let kept =
            if force { temporary.persist(&path) } else { temporary.persist_noclobber(&path) };
        match kept {
            Err(why) if why.error.kind() == io::ErrorKind::AlreadyExists => Err(exists(&path)),
            Err(why) => Err(error(why.error)),
            Ok(_) => Ok(bytes),
        }
    }
}

fn failed(path: &Path, why: &::parquet::errors::ParquetError) -> Error {
    Error::file("write", path, io::Error::other(why.to_string()))
}

pub(super) fn exists(path: &Path) -> Error {
    Error::Invalid(format!("{} is there already; --force replaces it", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_when_it_is_whole_and_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trace.parquet");
        let output = Output::create(&path, false).unwrap();
        assert!(!path.exists());
        output.finish(&Names::default()).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let Err(error) = Output::create(&path, false) else { panic!("it is there") };
        assert!(error.to_string().ends_with("is there already; --force replaces it"), "{error}");
        drop(Output::create(&path, true).unwrap());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left over");
        assert!(Output::create(dir.path(), true).is_err());
    }
}
