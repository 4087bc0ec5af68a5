//! Files whose pages can be evicted and read again.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, fadvise, fdatasync};

use crate::error::{Error, Result};
use crate::files::UnnamedPlace;
use crate::support::Support;

/// File systems that keep their files in memory: `TMPFS_MAGIC`,
/// `RAMFS_MAGIC`, `HUGETLBFS_MAGIC` of `include/uapi/linux/magic.h`.
const IN_MEMORY: [u32; 3] = [0x0102_1994, 0x8584_58f6, 0x9584_58f6];

/// An unnamed file, which disappears when it is closed, for any reason.
#[derive(Debug)]
pub struct ScratchFile {
    file: File,
    directory: PathBuf,
}

impl ScratchFile {
    /// A new file on the file system of `directory`; `No` if that keeps its
    /// files in memory, or does not support unnamed files. Root follows no link
    /// of another user to the directory.
    ///
    /// # Errors
    /// `File` with the directory; `Permission` for a link that belongs to
    /// another user.
    pub fn create(directory: &Path) -> Result<Support<Self>> {
        let place = UnnamedPlace::open(directory, "create a file in")?;
        if IN_MEMORY.contains(&place.file_system()?) {
            return Ok(Support::no(format!(
                "{} is in memory: its files are never read from storage",
                directory.display()
            )));
        }
        let file = place.create()?;
        Ok(file.map(|file| Self { file, directory: directory.to_owned() }))
    }

    /// The open file, for mappings of its pages.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// `File` with the directory, for example because it is full.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|source| self.error("write a file in", source))
    }

    /// Writes everything to storage and evicts the pages, so that the next
    /// access reads them from storage. Mapped pages stay: unmap first.
    ///
    /// # Errors
    /// `File` with the directory.
    pub fn evict(&self) -> Result<()> {
        fdatasync(&self.file)
            .and_then(|()| fadvise(&self.file, 0, None, Advice::DontNeed))
            .map_err(|source| self.error("evict a file in", source.into()))
    }

    fn error(&self, action: &'static str, source: io::Error) -> Error {
        Error::file(action, &self.directory, source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_not_storage() {
        let answer = ScratchFile::create(Path::new("/dev/shm")).unwrap();
        assert!(answer.reason().unwrap().starts_with("/dev/shm is in memory"));
    }

    #[test]
    fn a_scratch_file_has_no_name_and_can_be_evicted() {
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let mut scratch = ScratchFile::create(dir.path()).unwrap().yes().unwrap();
        scratch.append(b"gone soon").unwrap();
        scratch.evict().unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_missing_directory_is_named() {
        let error = ScratchFile::create(Path::new("/no/such/dir")).unwrap_err().to_string();
        assert!(error.starts_with("cannot create a file in /no/such/dir: "), "{error}");
    }
}
