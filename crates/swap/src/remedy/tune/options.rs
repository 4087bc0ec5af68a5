//! What to measure with.

use std::path::PathBuf;

use unjank_host::memory::page_size;
use unjank_host::{Bytes, Error, Result};

/// Options of the measurement.
#[derive(Debug, Clone)]
pub struct Options {
    /// How much of other programs' memory to compress with each algorithm.
    pub sample: Bytes,
    /// A directory on the file system that files are read from.
    pub directory: PathBuf,
}

impl Options {
    /// The smallest sample: 256 pages of 4 KiB.
    pub const SMALLEST: Bytes = Bytes::from_mib(1);
    /// The largest: it is in memory, and once more in each zram device.
    pub const LARGEST: Bytes = Bytes::from_mib(1024);

    /// The pages of the sample.
    ///
    /// # Errors
    /// `Invalid` beyond the limits.
    pub(super) fn pages(&self) -> Result<usize> {
        if !(Self::SMALLEST..=Self::LARGEST).contains(&self.sample) {
            return Err(Error::Invalid(format!(
                "a sample of {} is not possible: use {} to {}",
                self.sample.typed(),
                Self::SMALLEST.typed(),
                Self::LARGEST.typed()
            )));
        }
        Ok((self.sample.get() / page_size().get()) as usize)
    }
}
