//! The output file of a recording. It appears when it is complete, and only its owner can read it.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use unjank_host::files::{Existing, Readers, WholeFile};
use unjank_host::{Error, Result};

use crate::trace::parquet::Writer;
use crate::trace::{Event, Names};

/// A trace that is being written to a temporary file.
pub(super) struct Output {
    path: PathBuf,
    whole: WholeFile,
    writer: Writer<BufWriter<File>>,
}

impl Output {
    /// # Errors
    /// `Invalid` if the file exists and `force` is false; `File` if its directory cannot be
    /// written.
    pub(super) fn create(path: &Path, force: bool) -> Result<Self> {
        // Which pages a process swaps, and when, is private to its user.
        let whole = WholeFile::create(path, Existing::replaced_if(force), Readers::Owner)?;
        let writer =
            Writer::new(BufWriter::new(whole.file()?)).map_err(|why| failed(path, &why))?;
        Ok(Self { path: path.to_owned(), whole, writer })
    }

    /// Appends events. Memory for events that are not written yet is bounded.
    pub(super) fn write(&mut self, events: &[Event], names: &Names) -> Result<()> {
        self.writer.write(events, names).map_err(|why| failed(&self.path, &why))
    }

    /// Moves the complete file to its place and returns its size in bytes.
    pub(super) fn finish(self, names: &Names) -> Result<u64> {
        let Self { path, whole, writer } = self;
        let error = |source| Error::file("write", &path, source);
        let mut out = writer.finish(names).map_err(|why| failed(&path, &why))?;
        out.flush().map_err(error)?;
        let bytes = out.get_ref().metadata().map_err(error)?.len();
        whole.finish()?;
        Ok(bytes)
    }
}

fn failed(path: &Path, why: &::parquet::errors::ParquetError) -> Error {
    Error::file("write", path, io::Error::other(why.to_string()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_trace_appears_when_it_is_complete_and_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trace.parquet");
        let output = Output::create(&path, false).unwrap();
        assert!(!path.exists());
        output.finish(&Names::default()).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(Output::create(&path, false).is_err());
    }
}
