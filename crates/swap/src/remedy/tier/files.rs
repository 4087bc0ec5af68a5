//! The files of a tier that its supervisor makes and removes.

use std::fs::{self, File};
use std::io;

use unjank_host::{Error, Result, Support, memory_fs};

use super::directory::{DOWN, FILLED, LOCK};
use super::lock::{HeldTier, Part};
use super::map::Map;
use super::published::Published;
use super::settings::Settings;

impl HeldTier {
    /// Makes the files, with all their memory.
    ///
    /// # Errors
    /// `Unsupported` on an old kernel; the kernel's error, as without enough memory.
    pub fn fill(&self, settings: &Settings) -> Result<()> {
        let path = self.directory.path();
        if let Support::No(reason) = memory_fs::make(&path, settings.memory())? {
            return Err(Error::Unsupported(reason));
        }
        let sizes = [
            ("map", Map::bytes(settings.slots) as u64),
            ("counts", Published::BYTES as u64),
            ("memory", settings.fast_memory()),
        ];
        for (name, bytes) in sizes {
            memory_fs::make_file(&self.directory.file(name), bytes)?;
        }
        // As a whole: a device is added only when they are there.
        let (text, path) = (serde_json::to_string(settings), self.directory.file("settings"));
        let new = self.directory.file("settings.new");
        fs::write(&new, text.expect("settings are plain data"))
            .and_then(|()| fs::rename(&new, &path))
            .and_then(|()| File::create_new(self.directory.beside(FILLED)).map(drop))
            .map_err(|error| Error::file("write", &path, error))
    }

    /// Removes everything. Processes that wait for the lock find that it is gone.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn remove(self) -> Result<()> {
        // First: the files are not to be visible any more.
        self.remove_beside(FILLED)?;
        memory_fs::remove(&self.directory.path())?;
        let parts = Part::ALL.map(Part::name);
        // The lock is last: whoever gets it then removes the others.
        let mut beside = [DOWN].into_iter().chain(parts).chain([LOCK]);
        beside.try_for_each(|kind| self.remove_beside(kind))
    }

    fn remove_beside(&self, kind: &str) -> Result<()> {
        let path = self.directory.beside(kind);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error::file("remove", path, error))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_not_visible_are_not_taken_for_gone() {
        let dir = tempfile::tempdir().unwrap();
        let held = HeldTier::make(&dir.path().join("tiers")).unwrap();
        assert!(held.directory.settings().unwrap().is_none());
        File::create_new(held.directory.beside(FILLED)).unwrap();
        let error = held.directory.settings().unwrap_err();
        assert_eq!(error.class(), unjank_host::ErrorClass::Unsupported);
    }
}
