//! Finished cells in a file: a line of JSON that names its form, and one for each cell with the key
//! of its unit. An incomplete last line, which a killed sweep may leave, is cut off.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, Metadata, TryLockError};
use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};
use unjank_host::files::Destination;
use unjank_host::{Error, Result};

use super::cell::Cell;
use super::unit::UnitKey;

/// The maximum length of a cell's line, in bytes: a trace's name may be a path.
const LONGEST: u64 = 64 * 1024;

/// The first line: the name and major version of the form.
const HEADER: &[u8] = b"{\"schema\":\"unjank.sweep/2\"}\n";

#[derive(Debug, Serialize, Deserialize)]
struct Line {
    unit: UnitKey,
    #[serde(flatten)]
    cell: Cell,
}

/// The size of a tier, and a policy.
type Place = (u64, String);

/// The finished cells of a unit.
#[derive(Debug, Default)]
struct Done {
    cells: Vec<Cell>,
    places: HashSet<Place>,
}

/// Finished cells in a file, by unit. The process that has claimed the file adds to it; others may
/// read it meanwhile.
#[derive(Debug)]
pub struct Checkpoint {
    destination: Destination,
    file: File,
    units: HashMap<UnitKey, Done>,
    /// The length of what was read, in bytes: whole lines.
    whole: u64,
}

impl Checkpoint {
    /// Opens or creates a file, and reads its cells.
    ///
    /// # Errors
    /// It is no such file, or cannot be read or written.
    pub fn open(path: &Path) -> Result<Self> {
        let destination = Destination::open(path)?;
        let file = destination.open_or_create()?;
        let mut checkpoint = Self { destination, file, units: HashMap::new(), whole: 0 };
        checkpoint.read_on()?;
        Ok(checkpoint)
    }

    /// Opens or creates a file and locks it for this process, without its cells.
    ///
    /// # Errors
    /// Another process has it, or it cannot be written.
    pub fn anew(path: &Path) -> Result<Self> {
        let destination = Destination::open(path)?;
        let file = destination.open_or_create()?;
        let mut checkpoint = Self { destination, file, units: HashMap::new(), whole: 0 };
        if !checkpoint.lock()? {
            return Err(in_use(path));
        }
        checkpoint.file.set_len(0).map_err(|why| checkpoint.error("write", why))?;
        checkpoint.claim()?;
        Ok(checkpoint)
    }

    /// Locks the file for this process, reads what another one has added meanwhile, and cuts an
    /// incomplete line off. Returns false if another process has it. The lock ends with the
    /// process, however that ends.
    ///
    /// # Errors
    /// The file cannot be read or written, or its file system has no locks.
    pub fn claim(&mut self) -> Result<bool> {
        if !self.lock()? {
            return Ok(false);
        }
        self.read_on()?;
        self.file.set_len(self.whole).map_err(|why| self.error("open", why))?;
        self.file.seek(SeekFrom::Start(self.whole)).map_err(|why| self.error("open", why))?;
        if self.whole == 0 {
            self.file.write_all(HEADER).map_err(|why| self.error("write", why))?;
            self.whole = HEADER.len() as u64;
        }
        Ok(true)
    }

    /// Locks the file that has the path now. Returns false if another process has it.
    fn lock(&mut self) -> Result<bool> {
        loop {
            match self.file.try_lock() {
                Ok(()) if self.has_its_path() => return Ok(true),
                // Its last owner has removed it since it was opened.
                Ok(()) => {
                    self.file = self.destination.open_or_create()?;
                    (self.units, self.whole) = (HashMap::new(), 0);
                }
                Err(TryLockError::WouldBlock) => return Ok(false),
                Err(TryLockError::Error(why)) => return Err(self.error("lock", why)),
            }
        }
    }

    /// Whether the path still leads to this file.
    fn has_its_path(&self) -> bool {
        let identity = |data: Metadata| (data.dev(), data.ino());
        let own = self.file.metadata().map(identity);
        let there = fs::symlink_metadata(self.destination.path()).map(identity);
        matches!((own, there), (Ok(own), Ok(there)) if own == there)
    }

    /// Reads the whole lines that were added since the last time.
    fn read_on(&mut self) -> Result<()> {
        let error = |source| Error::file("read", self.destination.path(), source);
        self.file.seek(SeekFrom::Start(self.whole)).map_err(error)?;
        let mut reader = BufReader::new(&self.file);
        let mut line = Vec::new();
        loop {
            line.clear();
            let mut bounded = io::Read::take(&mut reader, LONGEST);
            let read = bounded.read_until(b'\n', &mut line).map_err(error)? as u64;
            let is_whole = line.last() == Some(&b'\n');
            if self.whole == 0 && (line != HEADER) && (is_whole || !HEADER.starts_with(&line)) {
                return Err(Error::Invalid(format!(
                    "{} is not a file of a sweep, or has another version; --restart starts over",
                    self.destination.path().display()
                )));
            }
            if !is_whole {
                return Ok(());
            }
            if self.whole > 0 {
                // A damaged line costs its cell only.
                if let Ok(Line { unit, cell }) = serde_json::from_slice(&line) {
                    let done = self.units.entry(unit).or_default();
                    if done.places.insert(place(&cell)) {
                        done.cells.push(cell);
                    }
                }
            }
            self.whole += read;
        }
    }

    /// Whether the cell of this tier and policy is finished.
    pub fn has(&self, unit: UnitKey, tier: u64, policy: &str) -> bool {
        let done = self.units.get(&unit);
        done.is_some_and(|done| done.places.contains(&(tier, policy.to_owned())))
    }

    /// Adds a finished cell. The file must have been [claimed](Self::claim).
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep(&mut self, unit: UnitKey, cell: Cell) -> Result<()> {
        let line = Line { unit, cell };
        let mut text = serde_json::to_vec(&line).map_err(|why| self.error("write", why.into()))?;
        text.push(b'\n');
        // A single write: a line is complete, or it is cut off when the file is claimed again.
        self.file.write_all(&text).map_err(|why| self.error("write", why))?;
        self.whole += text.len() as u64;
        let done = self.units.entry(unit).or_default();
        done.places.insert(place(&line.cell));
        done.cells.push(line.cell);
        Ok(())
    }

    /// All units that have finished cells, in no order.
    pub fn units(&self) -> impl Iterator<Item = UnitKey> {
        self.units.keys().copied()
    }

    /// The finished cells of a unit.
    pub fn cells(&self, unit: UnitKey) -> &[Cell] {
        self.units.get(&unit).map_or(&[], |done| &done.cells)
    }

    /// Removes the file.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn remove(self) -> Result<()> {
        if self.has_its_path() { self.destination.remove() } else { Ok(()) }
    }

    fn error(&self, action: &'static str, source: io::Error) -> Error {
        Error::file(action, self.destination.path(), source)
    }
}

/// The error for a file that another process has claimed.
pub(super) fn in_use(path: &Path) -> Error {
    Error::Invalid(format!("{} is in use by another sweep", path.display()))
}

fn place(cell: &Cell) -> Place {
    (cell.combination.tier, cell.combination.policy.clone())
}

#[cfg(test)]
mod tests {
    use fs::OpenOptions;

    use super::super::cell::tests::cell;
    use super::*;

    fn key(number: u64) -> UnitKey {
        format!("{number:x}").try_into().unwrap()
    }

    fn names(checkpoint: &Checkpoint, unit: UnitKey) -> Vec<&str> {
        checkpoint.cells(unit).iter().map(|cell| &*cell.combination.policy).collect()
    }

    #[test]
    fn a_killed_sweep_continues() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sweep");
        let mut checkpoint = Checkpoint::open(&path).unwrap();
        assert!(checkpoint.claim().unwrap());
        checkpoint.keep(key(1), cell("b", 1, 2, 3)).unwrap();
        checkpoint.keep(key(2), cell("a", 1, 2, 3)).unwrap();
        // Others see what is finished, and cannot add to it.
        let mut other = Checkpoint::open(&path).unwrap();
        assert!(other.has(key(1), 1, "b") && !other.has(key(2), 1, "b"));
        assert!(!other.claim().unwrap());
        checkpoint.keep(key(1), cell("c", 1, 2, 3)).unwrap();
        drop(checkpoint);
        let whole = fs::metadata(&path).unwrap().len();
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"unit\":").unwrap();
        assert!(other.claim().unwrap(), "its owner is gone");
        assert_eq!(fs::metadata(&path).unwrap().len(), whole);
        assert_eq!(names(&other, key(1)), ["b", "c"]);
        other.keep(key(1), cell("d", 1, 2, 3)).unwrap();
        drop(other);
        let again = Checkpoint::open(&path).unwrap();
        assert_eq!(again.cells(key(1)).last(), Some(&cell("d", 1, 2, 3)));
        again.remove().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_damaged_line_costs_its_cell_only() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sweep");
        let mut checkpoint = Checkpoint::anew(&path).unwrap();
        for policy in ["a", "b", "c"] {
            checkpoint.keep(key(1), cell(policy, 1, 2, 3)).unwrap();
        }
        assert!(Checkpoint::anew(&path).unwrap_err().to_string().contains("in use"));
        drop(checkpoint);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("\"b\"", "\"b")).unwrap();
        let mut checkpoint = Checkpoint::open(&path).unwrap();
        assert!(checkpoint.claim().unwrap());
        assert_eq!(names(&checkpoint, key(1)), ["a", "c"]);
        drop(checkpoint);
        assert!(Checkpoint::anew(&path).unwrap().units().next().is_none());
    }

    #[test]
    fn a_removed_file_is_made_anew() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sweep");
        let mut first = Checkpoint::anew(&path).unwrap();
        first.keep(key(1), cell("a", 1, 2, 3)).unwrap();
        let mut second = Checkpoint::open(&path).unwrap();
        first.remove().unwrap();
        assert!(second.claim().unwrap());
        second.keep(key(1), cell("b", 1, 2, 3)).unwrap();
        assert_eq!(names(&Checkpoint::open(&path).unwrap(), key(1)), ["b"]);
        // Another one's file stays.
        fs::rename(&path, directory.path().join("moved")).unwrap();
        fs::write(&path, "other").unwrap();
        second.remove().unwrap();
        assert!(path.exists());
    }

    #[test]
    fn other_files_are_refused_and_stay_as_they_are() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sweep");
        for text in ["notes\n", "notes", "{\"schema\":\"unjank.sweep/1\"}\n"] {
            fs::write(&path, text).unwrap();
            let error = Checkpoint::open(&path).unwrap_err().to_string();
            assert!(error.contains("not a file of a sweep"), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }
}
