//! The virtual phone's kernel: its cache directory, and how it is fetched.

use anyhow::{Context as _, Result};
use unjank_lab::Kernel;
use unjank_lab::kernel::Cache;

use crate::interrupt::Interrupt;
use crate::output::Progress;
use crate::paths;

/// The cache of kernels.
pub(crate) fn cache() -> Result<Cache> {
    Ok(Cache::at(paths::lab()?))
}

/// The kernel from the cache; it is fetched if the cache is empty.
pub(crate) fn fetched(cache: &Cache, mirror: &str) -> Result<Kernel> {
    if let Some(kernel) = cache.find() {
        return Ok(kernel);
    }
    // Nothing reads this interrupt: Ctrl-C ends apt, which has the same
    // terminal.
    let progress = Progress::new("lab fetch", Interrupt::default());
    let kernel = cache.fetch(mirror, &progress);
    progress.clear();
    kernel.context("while fetching a kernel (or give one with unjank lab run --kernel)")
}
