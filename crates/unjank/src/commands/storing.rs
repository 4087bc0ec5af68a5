//! Stores a run. The store's place is checked before anything is measured; the run
//! is written at the end.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use unjank_host::Timestamp;
use unjank_host::files::Destination;
use unjank_measure::{Error, RunRecord, Store};

use super::in_time::{self, Step};
use crate::output;
use crate::paths;

/// How long a busy store is waited for before anything is measured, in a run with
/// a time limit: the store may be free when the run is stored.
const TRIAL: Duration = Duration::from_millis(100);
/// Time to report that a store was busy until the end of a run.
const REPORT: Duration = Duration::from_millis(50);
const NOT_STORED: &str = "the run was measured, but not stored";

/// Checks a store's place before anything is measured, in a run that must have ended
/// by `end`. A store that is not `named` must only be safe to write: whatever else is
/// wrong with it, the measurement is printed first.
pub(super) fn check(named: Option<&Path>, end: Option<Timestamp>) -> Result<()> {
    if let Some(path) = named {
        let opened = match end {
            Some(_) => Store::open_patiently(path, TRIAL),
            None => Store::open(path),
        };
        match opened {
            Err(Error::Busy(_)) if end.is_some() => {}
            opened => drop(opened?),
        }
        Store::check_place(path)?;
        Destination::open(first_missing(path)).context("cannot prepare the store's place")?;
    } else if let Some(path) = paths::store() {
        Store::check_place(&path)
            .context("the run would not be stored (--no-store skips the store)")?;
    }
    Ok(())
}

/// The file of a store, or the topmost directory above it that does not exist
/// yet: these are created with the store.
fn first_missing(store: &Path) -> &Path {
    let exists = |above: &Path| above == Path::new("") || above.is_dir();
    store.ancestors().find(|path| path.parent().is_none_or(exists)).unwrap_or(store)
}

/// The store's file: the named one, or the user's. If neither is known, a note
/// is printed and the result is `None`: the measurement is still printed.
pub(super) fn store_path(named: Option<&Path>) -> Option<PathBuf> {
    let path = named.map(Path::to_owned).or_else(paths::store);
    if path.is_none() {
        output::remark(
            "not stored: neither HOME nor XDG_DATA_HOME is an absolute path; name a store with \
             --store FILE, or give --no-store",
        );
    }
    path
}

/// Stores the run in the named store, or in the user's. A run with a time limit is
/// not stored if that takes longer than until `end`. A transaction that the end of this
/// process cuts off leaves the store as it was.
pub(super) fn keep(record: &RunRecord, named: Option<&Path>, end: Option<Timestamp>) -> Step<()> {
    let Some(path) = store_path(named) else { return Step::Done(Ok(())) };
    let Some(end) = end else {
        let stored = Store::open(&path).and_then(|mut store| store.put(record)).map(drop);
        return Step::Done(
            stored.with_context(|| format!("{NOT_STORED} (--no-store skips the store)")),
        );
    };
    let record = record.clone();
    Step::begin(Some(end), NOT_STORED.to_owned(), move || {
        let patience = Duration::from(in_time::left(end)).saturating_sub(REPORT);
        let stored = Store::open_patiently(&path, patience);
        stored.and_then(|mut store| store.put(&record)).map(drop).context(NOT_STORED)
    })
}
