//! `unjank lab fetch`: the virtual phone's kernel.

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use unjank_lab::Kernel;
use unjank_lab::kernel::{Cache, MIRROR};

use super::cache;
use crate::interrupt::Interrupt;
use crate::output::{self, Progress};

/// Arguments of `unjank lab fetch`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank lab fetch
  unjank lab fetch --mirror http://ftp.de.debian.org/debian

The kernel is Debian's, from bookworm-backports, and takes 120 MB of disk. It is
looked up with apt, whose own lists and settings stay as they are; its signature
is checked. No root is needed. What is fetched is kept in unjank/lab of the
user's cache directory.")]
pub(crate) struct Args {
    /// The archive it is fetched from
    #[arg(long, value_name = "URL", default_value = MIRROR)]
    mirror: String,
}

/// Fetches it, and says where it is.
pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let kernel = fetched(&cache()?, &args.mirror)?;
    output::print(&kernel.image.display().to_string())?;
    Ok(ExitCode::SUCCESS)
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
