//! What a phone has, and how long it may take.

use std::path::PathBuf;

use unjank_host::{Bytes, Error as HostError, Nanos};

use crate::error::Result;
use crate::kernel::Kernel;
use crate::pstates::Profile;
use crate::qemu::Accelerator;

/// Less, and the kernel and its initramfs do not fit.
const LEAST_MEMORY: Bytes = Bytes::from_mib(256);
/// QEMU's q35 takes no more.
const MOST_CPUS: usize = 255;

/// A phone, and how long it may take.
#[derive(Debug)]
pub struct Options {
    /// Its kernel.
    pub kernel: Kernel,
    /// Its program: an unjank.
    pub guest: PathBuf,
    /// Which build of unjank this is, to tell a guest of another one; `None`
    /// where that is not known.
    pub build: Option<String>,
    /// Further programs for its `/bin`.
    pub programs: Vec<PathBuf>,
    /// Virtual CPUs.
    pub cpus: usize,
    /// Its memory.
    pub memory: Bytes,
    /// Its P-states, if it is to have any.
    pub profile: Option<Profile>,
    /// Who runs it; `None` tries KVM and falls back to emulation.
    pub accelerator: Option<Accelerator>,
    /// The limit on everything from power-on to the end of the last command.
    pub limit: Option<Nanos>,
    /// Whether the kernel tells its console all.
    pub talkative: bool,
    /// A directory for files that are gone when the run is over.
    pub scratch: PathBuf,
}

impl Options {
    /// Whether there can be such a phone.
    pub(super) fn check(&self) -> Result<()> {
        let wrong = |what: String| Err(HostError::Invalid(what).into());
        if self.cpus == 0 || self.cpus > MOST_CPUS {
            return wrong(format!("a phone has 1 to {MOST_CPUS} CPUs, not {}", self.cpus));
        }
        if self.memory < LEAST_MEMORY {
            return wrong(format!(
                "{} are too little: the kernel and its programs need {LEAST_MEMORY}",
                self.memory
            ));
        }
        Ok(())
    }
}
