//! Finished cells in a file: a line of JSON that names its form, and one for each cell with the key
//! of its unit. An incomplete last line, which a killed sweep may leave, is cut off.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom, Write as _};
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

    /// Locks the file for this process, reads what another one has added meanwhile, and cuts an
    /// incomplete line off. Returns false if another process has it. The lock ends with the
    /// process, however that ends.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn claim(&mut self) -> Result<bool> {
        if self.file.try_lock().is_err() {
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
                    "{} is no file of a sweep, or of another version; --restart starts over",
                    self.destination.path().display()
                )));
            }
            if !is_whole {
                return Ok(());
            }
            if self.whole > 0 {
                let Ok(Line { unit, cell }) = serde_json::from_slice(&line) else { return Ok(()) };
                let done = self.units.entry(unit).or_default();
                if done.places.insert(place(&cell)) {
                    done.cells.push(cell);
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
        self.destination.remove()
    }

    fn error(&self, action: &'static str, source: io::Error) -> Error {
        Error::file(action, self.destination.path(), source)
    }
}

fn place(cell: &Cell) -> Place {
    (cell.combination.tier, cell.combination.policy.clone())
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;

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
        let whole = std::fs::metadata(&path).unwrap().len();
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"unit\":").unwrap();
        assert!(other.claim().unwrap(), "its owner is gone");
        assert_eq!(std::fs::metadata(&path).unwrap().len(), whole);
        assert_eq!(names(&other, key(1)), ["b", "c"]);
        other.keep(key(1), cell("d", 1, 2, 3)).unwrap();
        drop(other);
        let again = Checkpoint::open(&path).unwrap();
        assert_eq!(again.cells(key(1)).last(), Some(&cell("d", 1, 2, 3)));
        again.remove().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn other_files_are_refused_and_stay_as_they_are() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sweep");
        for text in ["notes\n", "notes", "{\"schema\":\"unjank.sweep/1\"}\n"] {
            std::fs::write(&path, text).unwrap();
            let error = Checkpoint::open(&path).unwrap_err().to_string();
            assert!(error.contains("no file of a sweep"), "{error}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }
}
