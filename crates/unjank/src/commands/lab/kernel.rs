//! The virtual phone's kernel: where it is kept, and how it gets there.

use anyhow::{Context as _, Result};
use unjank_lab::Kernel;
use unjank_lab::kernel::Cache;

use crate::interrupt::Interrupt;
use crate::output::Progress;
use crate::paths;

/// Where kernels are kept.
pub(super) fn cache() -> Result<Cache> {
    Ok(Cache::at(paths::lab()?))
}

/// The kernel of the cache, fetched if there is none yet.
pub(super) fn fetched(cache: &Cache, mirror: &str) -> Result<Kernel> {
    if let Some(kernel) = cache.find() {
        return Ok(kernel);
    }
    // Nothing asks it yet: Ctrl-C ends apt, which has the same terminal.
    let progress = Progress::new("lab fetch", Interrupt::default());
    let kernel = cache.fetch(mirror, &progress);
    progress.clear();
    kernel.context("while fetching a kernel (unjank lab run --kernel takes one by hand)")
}
