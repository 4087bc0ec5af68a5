//! The checkpoint of a sweep: a file with a header line and a line of JSON for each finished cell.
//! An incomplete last line, which a killed sweep may leave, is cut off.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use unjank_host::files::Destination;
use unjank_host::{Error, Result};

use super::cell::{Cell, Combination};

/// The maximum length of a cell's line, in bytes: a trace's name may be a path.
const LONGEST: u64 = 64 * 1024;

/// The finished cells of a sweep.
#[derive(Debug)]
pub struct Checkpoint {
    path: PathBuf,
    file: File,
    cells: Vec<Cell>,
    combinations: HashSet<Combination>,
}

impl Checkpoint {
    /// Opens or creates the file. `of` is the header line, which identifies the sweep.
    ///
    /// # Errors
    /// The file is of another sweep, is in use, or cannot be read or written.
    pub fn open(path: &Path, of: &str) -> Result<Self> {
        let error = |source| Error::file("open", path, source);
        let mut file = Destination::open(path)?.open_or_create()?;
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
                        "{} holds another sweep; --restart starts over",
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
        Ok(Self { path: path.to_owned(), file, cells, combinations })
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
        let error = |source| Error::file("write", &self.path, source);
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
        std::fs::remove_file(&self.path).map_err(|source| Error::file("remove", &self.path, source))
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
        let mut checkpoint = Checkpoint::open(&path, "x").unwrap();
        checkpoint.keep(cell("b", 1, 2, 3)).unwrap();
        checkpoint.keep(cell("a", 1, 2, 3)).unwrap();
        assert!(Checkpoint::open(&path, "x").unwrap_err().to_string().contains("in use"));
        drop(checkpoint);
        // An incomplete line.
        let whole = std::fs::metadata(&path).unwrap().len();
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"trace\":").unwrap();
        let mut checkpoint = Checkpoint::open(&path, "x").unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), whole);
        assert_eq!(checkpoint.cells(), [cell("a", 1, 2, 3), cell("b", 1, 2, 3)]);
        assert!(
            checkpoint.has(&cell("a", 1, 9, 9).combination)
                && !checkpoint.has(&cell("c", 1, 2, 3).combination)
        );
        checkpoint.keep(cell("c", 1, 2, 3)).unwrap();
        drop(checkpoint);
        assert_eq!(Checkpoint::open(&path, "x").unwrap().cells().len(), 3);
        assert!(Checkpoint::open(&path, "y").unwrap_err().to_string().contains("another sweep"));
        Checkpoint::open(&path, "x").unwrap().finish().unwrap();
        assert!(!path.exists());
    }
}
