//! The options for the places of knobs and journals.

use std::path::PathBuf;

use anyhow::Result;
use unjank_host::Root;

use crate::paths;

/// Where the knobs and the journals are.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Places")]
pub(crate) struct PlaceArgs {
    /// A directory tree that stands for the machine, instead of this machine
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// The directory of the journals [default: /var/lib/unjank/journal for
    /// root, ~/.local/state/unjank/journal for others]
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
}

impl PlaceArgs {
    /// The machine below `--root`, or the running one.
    pub(crate) fn root(&self) -> Root {
        self.root.as_ref().map_or_else(Root::system, Root::at)
    }

    /// The directory of the journals.
    pub(crate) fn state_dir(&self) -> Result<PathBuf> {
        Ok(self.state_dir.clone().map_or_else(paths::journal, Ok)?)
    }
}
