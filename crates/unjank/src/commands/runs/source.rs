//! Where runs are read from: the store, or files.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use unjank_measure::store::Selector;
use unjank_measure::{RunRecord, Store};

use crate::paths;

/// The option that names a store.
#[derive(Debug, clap::Args)]
pub(super) struct StoreArgs {
    /// The store [default: unjank/runs.sqlite in the user's data directory]
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

impl StoreArgs {
    /// Opens the store. One that is not there yet is empty.
    pub(super) fn open(&self) -> Result<Store> {
        let path = self.store.clone().or_else(paths::store).context(
            "no store: neither HOME nor XDG_DATA_HOME says where it is (--store FILE does)",
        )?;
        Ok(Store::open(&path)?)
    }

    /// The run that `name` means: a file with a record, or a run of the store
    /// by its id, the beginning of it, `last` or `last~1`.
    pub(super) fn find(&self, name: &str) -> Result<RunRecord> {
        let file = Path::new(name);
        if file.is_file() {
            return Ok(RunRecord::from_json(&read(file)?, name)?);
        }
        let Ok(selector) = name.parse::<Selector>();
        Ok(self.open()?.get(&selector)?)
    }
}

/// The whole text of a file.
pub(super) fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("while reading {}", file.display()))
}
