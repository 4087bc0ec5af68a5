//! `unjank lab fetch`: fetches the virtual phone's kernel.

use std::process::ExitCode;

use anyhow::Result;
use unjank_lab::kernel::MIRROR;

use super::kernel::{Arch, architecture, cache, fetched};
use crate::output;

/// Arguments of `unjank lab fetch`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank lab fetch
  unjank lab fetch --arch aarch64
  unjank lab fetch --mirror http://ftp.de.debian.org/debian

The kernel is Debian's, from bookworm-backports, and takes 120 MB of disk. It is
looked up with apt, whose own lists and settings stay as they are; its signature
is checked. No root is needed. The kernel is kept in unjank/lab of the user's
cache directory.")]
pub(crate) struct Args {
    /// The archive to fetch it from
    #[arg(long, value_name = "URL", default_value = MIRROR)]
    mirror: String,
    /// The phone's processor [default: that of this machine]
    #[arg(long, value_name = "ARCH")]
    arch: Option<Arch>,
}

/// Fetches the kernel, and prints its path.
pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let kernel = fetched(&cache(architecture(args.arch))?, &args.mirror)?;
    output::print(&kernel.image.display().to_string())?;
    Ok(ExitCode::SUCCESS)
}
