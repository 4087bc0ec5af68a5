//! Options of `swap probe`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use unjank_host::{Bytes, Error, Nanos, Result};

/// Options of `swap probe`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Options {
    /// The pages to evict.
    pub pages: Pages,
    /// Amount of memory to evict and bring back in each round.
    pub size: Bytes,
    /// The length of all rounds together; the last round is cut short.
    pub duration: Nanos,
    /// The directory for a scratch file.
    pub directory: PathBuf,
}

/// The pages to evict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pages {
    /// Anonymous pages if there is swap, else file pages.
    Auto,
    /// Anonymous pages, through swap.
    Anonymous,
    /// Pages of a scratch file, through its file system.
    File,
}

impl Options {
    /// The smallest size: 256 pages of 4 KiB give a tail.
    pub const SMALLEST: Bytes = Bytes::from_mib(1);
    /// The largest size: this is a probe, not a load.
    pub const LARGEST: Bytes = Bytes::from_mib(4 << 10);

    /// The default: 8 MiB of anonymous or file pages.
    pub fn usual(duration: Nanos, directory: PathBuf) -> Self {
        Self { pages: Pages::Auto, size: Bytes::from_mib(8), duration, directory }
    }

    pub(crate) fn check(&self) -> Result<()> {
        if (Self::SMALLEST..=Self::LARGEST).contains(&self.size) {
            Ok(())
        } else {
            Err(Error::Invalid(format!(
                "cannot evict {}; the size is {} to {}",
                self.size.typed(),
                Self::SMALLEST.typed(),
                Self::LARGEST.typed()
            )))
        }
    }
}
