//! The checkpoint of a sweep: a file with a line of JSON for the sweep's [`Identity`], and one for
//! each finished cell.
//! An incomplete last line, which a killed sweep may leave, is cut off.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;
use unjank_host::files::Destination;
use unjank_host::{Error, Result};

use super::cell::{Cell, Combination};
use crate::trace::Options;

/// The maximum length of a cell's line, in bytes: a trace's name may be a path.
const LONGEST: u64 = 64 * 1024;

/// The name and major version of a checkpoint's form.
const SCHEMA: &str = "unjank.sweep/1";

/// Everything that determines the cells of a sweep beside their combination. Cells with another
/// identity belong to another sweep.
#[derive(Debug, Clone, Serialize)]
pub struct Identity {
    schema: &'static str,
    version: &'static str,
    /// The seed of synthetic phones.
    pub seed: u64,
    /// The simulated machine, as in the run record.
    pub machine: BTreeMap<String, Value>,
    /// Options for reading traces.
    pub reading: Options,
    /// The files, with their sizes in bytes.
    pub traces: Vec<(String, u64)>,
}

impl Identity {
    /// The identity of a sweep over files and synthetic phones.
    pub fn new(
        seed: u64,
        machine: BTreeMap<String, Value>,
        reading: Options,
        traces: &[PathBuf],
    ) -> Self {
        let size = |trace: &PathBuf| std::fs::metadata(trace).map_or(0, |file| file.len());
        let named = |trace: &PathBuf| (trace.display().to_string(), size(trace));
        let traces = traces.iter().map(named).collect();
        Self { schema: SCHEMA, version: env!("CARGO_PKG_VERSION"), seed, machine, reading, traces }
    }
}

/// The finished cells of a sweep.
#[derive(Debug)]
pub struct Checkpoint {
    destination: Destination,
    file: File,
    cells: Vec<Cell>,
    combinations: HashSet<Combination>,
}

impl Checkpoint {
    /// Opens or creates the file of the sweep `of`.
    ///
    /// # Errors
    /// The file is of another sweep, is in use, or cannot be read or written.
    pub fn open(path: &Path, of: &Identity) -> Result<Self> {
        let of = serde_json::to_string(of).map_err(|why| {
            Error::Invalid(format!("the sweep's options have no JSON form: {why}"))
        })?;
        let error = |source| Error::file("open", path, source);
        let destination = Destination::open(path)?;
        let mut file = destination.open_or_create()?;
        file.try_lock().map_err(|_| {
            Error::Invalid(format!("{} is in use by another sweep", path.display()))
        })?;
        let mut cells = Vec::new();
        let mut whole = 0;
        let mut reader = BufReader::new(&file);
        let mut line = Vec::new();
        loop {
            line.clear();
            let mut bounded = std::io::Read::take(&mut reader, LONGEST);
            let read = bounded.read_until(b'\n', &mut line).map_err(error)? as u64;
            if line.last() != Some(&b'\n') {
                break;
            }
            let text = &line[..line.len() - 1];
            if whole == 0 {
                if text != of.as_bytes() {
                    return Err(Error::Invalid(format!(
                        "{} belongs to another sweep; --restart starts over",
                        path.display()
                    )));
                }
            } else {
                let Ok(cell) = serde_json::from_slice::<Cell>(text) else { break };
                cells.push(cell);
            }
            whole += read;
        }
        drop(reader);
        file.set_len(whole).map_err(error)?;
        file.seek(SeekFrom::Start(whole)).map_err(error)?;
        if whole == 0 {
            file.write_all(format!("{of}\n").as_bytes()).map_err(error)?;
        }
        let combinations = cells.iter().map(|cell| cell.combination.clone()).collect();
        Ok(Self { destination, file, cells, combinations })
    }

    /// Whether this combination is finished.
    pub fn has(&self, combination: &Combination) -> bool {
        self.combinations.contains(combination)
    }

    /// Adds a finished cell.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep(&mut self, cell: Cell) -> Result<()> {
        let error = |source| Error::file("write", self.destination.path(), source);
        let mut line = serde_json::to_vec(&cell).map_err(|why| error(why.into()))?;
        line.push(b'\n');
        // A single write: a line is complete, or it is cut off when the file is opened again.
        self.file.write_all(&line).map_err(error)?;
        self.combinations.insert(cell.combination.clone());
        self.cells.push(cell);
        Ok(())
    }

    /// All cells, sorted by combination.
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = self.cells.clone();
        cells.sort_by(|one, other| one.combination.cmp(&other.combination));
        cells
    }

    /// Removes the file.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn finish(self) -> Result<()> {
        self.destination.remove()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;

    use super::super::cell::tests::cell;
    use super::*;

    #[test]
    fn a_killed_sweep_continues() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sweep");
        let identity = |seed| Identity::new(seed, BTreeMap::new(), Options::default(), &[]);
        let open = |seed| Checkpoint::open(&path, &identity(seed));
        let mut checkpoint = open(1).unwrap();
        checkpoint.keep(cell("b", 1, 2, 3)).unwrap();
        checkpoint.keep(cell("a", 1, 2, 3)).unwrap();
        assert!(open(1).unwrap_err().to_string().contains("in use"));
        drop(checkpoint);
        // An incomplete line.
        let whole = std::fs::metadata(&path).unwrap().len();
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"trace\":").unwrap();
        let header = std::fs::read_to_string(&path).unwrap();
        let header: Value = serde_json::from_str(header.lines().next().unwrap()).unwrap();
        assert_eq!((&header["schema"], &header["seed"]), (&SCHEMA.into(), &1.into()));
        assert_eq!(header["reading"]["stage"], "auto");
        let mut checkpoint = open(1).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), whole);
        assert_eq!(checkpoint.cells(), [cell("a", 1, 2, 3), cell("b", 1, 2, 3)]);
        assert!(
            checkpoint.has(&cell("a", 1, 9, 9).combination)
                && !checkpoint.has(&cell("c", 1, 2, 3).combination)
        );
        checkpoint.keep(cell("c", 1, 2, 3)).unwrap();
        drop(checkpoint);
        assert_eq!(open(1).unwrap().cells().len(), 3);
        assert!(open(2).unwrap_err().to_string().contains("another sweep"));
        open(1).unwrap().finish().unwrap();
        assert!(!path.exists());
    }
}
