//! What to measure.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use unjank_host::{Bytes, Error, Nanos, Result};

/// What `swap probe` measures.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Options {
    /// Which pages to evict.
    pub pages: Pages,
    /// How much memory to evict and bring back in each round.
    pub size: Bytes,
    /// For all rounds together; a round under way is cut short.
    pub duration: Nanos,
    /// Where a scratch file may lie.
    pub directory: PathBuf,
}

/// Which pages to evict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pages {
    /// Anonymous ones where there is swap, else those of a file.
    Auto,
    /// Anonymous ones, through swap.
    Anonymous,
    /// Those of a scratch file, through its file system.
    File,
}

impl Options {
    /// The least that gives a tail: 256 pages of 4 KiB.
    pub const SMALLEST: Bytes = Bytes::from_mib(1);
    /// The most: this is a probe, not a load.
    pub const LARGEST: Bytes = Bytes::from_mib(4 << 10);

    /// 8 MiB of whatever this machine swaps.
    pub fn usual(duration: Nanos, directory: PathBuf) -> Self {
        Self { pages: Pages::Auto, size: Bytes::from_mib(8), duration, directory }
    }

    pub(crate) fn check(&self) -> Result<()> {
        if (Self::SMALLEST..=Self::LARGEST).contains(&self.size) {
            Ok(())
        } else {
            Err(Error::Invalid(format!(
                "{} to evict: it goes from {} to {}",
                self.size,
                Self::SMALLEST,
                Self::LARGEST
            )))
        }
    }
}
