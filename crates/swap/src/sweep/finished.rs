//! Where finished cells are kept: in one file of this process, or in a directory that several
//! processes share, on any number of machines.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use unjank_host::Result;

use super::cell::Cell;
use super::checkpoint::in_use;
use super::unit::{Unit, UnitKey};
use super::{Checkpoint, Options, lock};

/// Finished cells, for all units or by unit.
#[derive(Debug)]
pub enum Finished {
    /// In one file, which this process has claimed.
    File(Arc<Mutex<Checkpoint>>),
    /// A file for each unit. Processes claim units; a claim ends with its process.
    Directory(PathBuf),
}

/// What is to do for a unit.
#[derive(Debug)]
pub enum Claim {
    /// Nothing: all its cells are finished.
    Done,
    /// Another process works on it.
    Taken,
    /// This process may work on it, and keeps its cells here.
    Claimed(Arc<Mutex<Checkpoint>>),
}

impl Finished {
    /// The cells in this file alone; with `anew`, without those that are there.
    ///
    /// # Errors
    /// The file is in use by another sweep, or is not a file of a sweep.
    pub fn in_file(path: &Path, anew: bool) -> Result<Self> {
        let mut checkpoint = if anew { Checkpoint::anew(path)? } else { Checkpoint::open(path)? };
        if !anew && !checkpoint.claim()? {
            return Err(in_use(path));
        }
        Ok(Self::File(Arc::new(Mutex::new(checkpoint))))
    }

    /// Claims a unit.
    ///
    /// # Errors
    /// Its file is of another kind, or cannot be read or written.
    pub fn claim(&self, unit: &Unit, options: &Options) -> Result<Claim> {
        let is_done =
            |checkpoint: &Checkpoint| options.missing(unit.key, checkpoint).next().is_none();
        match self {
            Self::File(checkpoint) if is_done(&lock(checkpoint)) => Ok(Claim::Done),
            Self::File(checkpoint) => Ok(Claim::Claimed(checkpoint.clone())),
            Self::Directory(directory) => {
                let mut checkpoint = Checkpoint::open(&file_of(directory, unit.key))?;
                if is_done(&checkpoint) {
                    return Ok(Claim::Done);
                }
                if !checkpoint.claim()? {
                    return Ok(Claim::Taken);
                }
                // Its last owner may have finished in the meantime.
                if is_done(&checkpoint) {
                    return Ok(Claim::Done);
                }
                Ok(Claim::Claimed(Arc::new(Mutex::new(checkpoint))))
            }
        }
    }

    /// The finished cells of these units that a sweep asks for, sorted by combination, with the
    /// traces' names of this sweep.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn cells(&self, units: &[Unit], options: &Options) -> Result<Vec<Cell>> {
        let mut cells = Vec::new();
        let mut take = |unit: &Unit, checkpoint: &Checkpoint| {
            let asked = checkpoint.cells(unit.key).iter().filter(|cell| options.asks_for(cell));
            cells.extend(asked.cloned().map(|mut cell| {
                cell.combination.trace.clone_from(&unit.trace);
                cell
            }));
        };
        for unit in units {
            match self {
                Self::File(checkpoint) => take(unit, &lock(checkpoint)),
                Self::Directory(directory) => {
                    take(unit, &Checkpoint::open(&file_of(directory, unit.key))?);
                }
            }
        }
        cells.sort_by(|one, other| one.combination.cmp(&other.combination));
        Ok(cells)
    }

    /// Removes the file of this process. A shared directory stays as it is.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn remove(self) -> Result<()> {
        match self {
            Self::File(checkpoint) => {
                let checkpoint = Arc::into_inner(checkpoint).and_then(|it| it.into_inner().ok());
                checkpoint.map_or(Ok(()), Checkpoint::remove)
            }
            Self::Directory(_) => Ok(()),
        }
    }
}

fn file_of(directory: &Path, unit: UnitKey) -> PathBuf {
    directory.join(format!("{unit}.cells"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{options, unit};
    use super::*;

    #[test]
    fn a_unit_has_one_owner_at_a_time_and_is_computed_once() {
        let directory = tempfile::tempdir().unwrap();
        let [one, other] = [0, 1].map(|_| Finished::Directory(directory.path().to_owned()));
        let (unit, options) = (unit(1), options());
        let Claim::Claimed(checkpoint) = one.claim(&unit, &options).unwrap() else { panic!() };
        assert!(matches!(other.claim(&unit, &options).unwrap(), Claim::Taken));
        let finish = |cell: Cell| lock(&checkpoint).keep(unit.key, cell).unwrap();
        for (tier, policy) in options.places() {
            finish(super::super::cell::tests::cell(&policy, tier, 1, 2));
        }
        assert!(matches!(other.claim(&unit, &options).unwrap(), Claim::Done));
        let cells = other.cells(&[unit], &options).unwrap();
        assert_eq!(cells.len(), 4);
        assert!(cells.iter().all(|cell| cell.combination.trace == "trace 1"), "{cells:?}");
    }

    #[test]
    fn the_work_of_a_killed_owner_is_taken_over() {
        let directory = tempfile::tempdir().unwrap();
        let finished = Finished::Directory(directory.path().to_owned());
        let (unit, options) = (unit(1), options());
        let Claim::Claimed(checkpoint) = finished.claim(&unit, &options).unwrap() else { panic!() };
        let (tier, policy) = options.places().next().unwrap();
        let cell = super::super::cell::tests::cell(&policy, tier, 1, 2);
        lock(&checkpoint).keep(unit.key, cell).unwrap();
        drop(checkpoint);
        let Claim::Claimed(checkpoint) = finished.claim(&unit, &options).unwrap() else { panic!() };
        assert_eq!(options.missing(unit.key, &lock(&checkpoint)).count(), 3);
    }
}
