//! A copy of the files that were read, for use elsewhere: in a bug report, or
//! as a test fixture.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};
use crate::files::write_tree;
use unjank_units::Bytes;

/// The size limit. A machine's description is some hundred small files.
const LARGEST_RECORDING: u64 = 64 << 20;

/// The files read through a [`Root`](crate::Root) that was
/// [`recorded_by`](crate::Root::recorded_by) this recording: contents by the
/// path on the machine. Symbolic links are replaced by the files behind them.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    files: Arc<Mutex<BTreeMap<PathBuf, Vec<u8>>>>,
}

impl Recording {
    /// An empty recording.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps a copy of a file that was read; a second read replaces the first.
    pub(crate) fn note(&self, path: &Path, bytes: &[u8]) {
        self.files().insert(path.to_owned(), bytes.to_owned());
    }

    /// Replaces each file's content by the result of `keep`.
    pub(crate) fn filter(&self, keep: impl Fn(&Path, Vec<u8>) -> Vec<u8>) {
        for (path, bytes) in self.files().iter_mut() {
            *bytes = keep(path, std::mem::take(bytes));
        }
    }

    /// The number of files.
    pub fn len(&self) -> usize {
        self.files().len()
    }

    /// Whether nothing was read.
    pub fn is_empty(&self) -> bool {
        self.files().is_empty()
    }

    /// The total size of all files.
    pub fn size(&self) -> Bytes {
        Bytes(self.files().values().map(|bytes| bytes.len() as u64).sum())
    }

    /// Writes the files below `dir`, which is created if necessary, so that
    /// [`Root::at`](crate::Root::at) of it reads the same.
    ///
    /// # Errors
    /// `Invalid` if `dir` is not empty or the recording exceeds 64 MiB, `File`
    /// if something cannot be written.
    pub fn write_to(&self, dir: &Path) -> Result<()> {
        let size = self.size();
        if size.get() > LARGEST_RECORDING {
            return Err(Error::Invalid(format!(
                "the recording has {size}; at most {} are allowed",
                Bytes(LARGEST_RECORDING)
            )));
        }
        let files = self.files();
        write_tree(dir, files.iter().map(|(path, bytes)| (path.as_path(), bytes.as_slice())))
    }

    fn files(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Vec<u8>>> {
        // A panic elsewhere leaves no half-written entry behind.
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::root::Root;

    #[test]
    fn a_recording_reads_like_the_machine() {
        let machine = tempfile::tempdir().unwrap();
        fs::create_dir(machine.path().join("proc")).unwrap();
        fs::write(machine.path().join("proc/version"), "Linux\n").unwrap();
        fs::write(machine.path().join("proc/secret"), "1234\n").unwrap();

        let recording = Recording::new();
        let root = Root::at(machine.path()).recorded_by(&recording);
        root.read("/proc/version").unwrap();
        root.read_if_there("/proc/nothing").unwrap();
        assert_eq!((recording.len(), recording.size()), (1, Bytes(6)));

        let copy = tempfile::tempdir().unwrap();
        recording.write_to(copy.path()).unwrap();
        let copy = Root::at(copy.path());
        assert_eq!(copy.read("/proc/version").unwrap(), "Linux");
        assert!(!copy.exists("/proc/secret"));
    }

    #[test]
    fn a_recording_needs_an_empty_directory() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("notes"), "mine").unwrap();
        let error = Recording::new().write_to(dir.path()).unwrap_err();
        assert!(error.to_string().ends_with("name a new or empty directory for the recording"));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
