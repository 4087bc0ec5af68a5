//! The virtual phone's kernel: its cache directory, and how it is fetched.

use anyhow::{Context as _, Result};
use unjank_lab::kernel::Cache;
use unjank_lab::{Architecture, Kernel};

use crate::interrupt::Interrupt;
use crate::output::Progress;
use crate::paths;

/// The cache of kernels for this architecture.
pub(crate) fn cache(architecture: Architecture) -> Result<Cache> {
    Ok(Cache::at(paths::lab()?, architecture))
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

/// The architecture of a phone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Arch {
    /// x86-64, the one with P-states
    #[value(name = "x86_64")]
    X86,
    /// 64-bit ARM
    #[value(name = "aarch64")]
    Arm,
}

impl From<Arch> for Architecture {
    fn from(arch: Arch) -> Self {
        match arch {
            Arch::X86 => Self::X86_64,
            Arch::Arm => Self::Aarch64,
        }
    }
}

/// The named architecture, or that of this program.
pub(super) fn architecture(named: Option<Arch>) -> Architecture {
    named.map_or_else(Architecture::default, Architecture::from)
}
