//! The configuration of a phone, and its time limit.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use unjank_host::input::Stop;
use unjank_host::{Bytes, Error as HostError, Nanos};

use crate::architecture::Architecture;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::pstates::Profile;
use crate::qemu::Accelerator;

/// The kernel and its initramfs need at least this.
const LEAST_MEMORY: Bytes = Bytes::from_mib(256);
/// The allowed sizes of a disk.
const DISKS: RangeInclusive<Bytes> = Bytes::from_mib(8)..=Bytes::from_mib(64 << 10);
/// The most CPUs of QEMU's machine q35; virt has more.
const MOST_CPUS: usize = 255;

/// The configuration of a phone, and its time limit.
#[derive(Debug)]
pub struct Options {
    /// Its processor.
    pub architecture: Architecture,
    /// The kernel to boot.
    pub kernel: Kernel,
    /// The unjank that runs in the phone.
    pub guest: PathBuf,
    /// This build of unjank, to detect a guest of another build; `None` if it
    /// is not known.
    pub build: Option<String>,
    /// More programs for its `/bin`.
    pub programs: Vec<PathBuf>,
    /// Virtual CPUs.
    pub cpus: usize,
    /// Its RAM, at least 256 MiB.
    pub memory: Bytes,
    /// The size of its disk, if it has one: an empty file system at `/data`.
    pub disk: Option<Bytes>,
    /// Its P-states, if any.
    pub profile: Option<Profile>,
    /// What executes its instructions; `None` tries KVM and falls back to
    /// emulation.
    pub accelerator: Option<Accelerator>,
    /// The time limit from power-on to the end of the last command.
    pub limit: Option<Nanos>,
    /// Whether the kernel prints all messages to its console.
    pub verbose: bool,
    /// A directory for files that are removed after the run.
    pub scratch: PathBuf,
    /// A request to stop ends the reading of the files that are packed.
    pub stop: Stop,
}

impl Options {
    /// Checks whether such a phone is possible.
    pub(super) fn check(&self) -> Result<()> {
        let wrong = |what: String| Err(HostError::Invalid(what).into());
        if self.cpus == 0 || self.cpus > MOST_CPUS {
            return wrong(format!("a phone has 1 to {MOST_CPUS} CPUs, not {}", self.cpus));
        }
        if self.accelerator == Some(Accelerator::Kvm)
            && self.architecture != Architecture::default()
        {
            return Err(HostError::Unsupported(format!(
                "KVM executes instructions of this machine's processor only, not of {}",
                self.architecture
            ))
            .into());
        }
        if self.profile.is_some() && self.architecture != Architecture::X86_64 {
            return Err(HostError::Unsupported(format!(
                "a phone of {} has no P-states: they are described by an ACPI table, which only \
                 that of x86-64 has",
                self.architecture
            ))
            .into());
        }
        if self.disk.is_some_and(|size| !DISKS.contains(&size)) {
            return wrong(format!("a disk has {} to {}", DISKS.start(), DISKS.end()));
        }
        if self.memory < LEAST_MEMORY {
            return wrong(format!(
                "{} of memory is too little: the kernel and its programs need {LEAST_MEMORY}",
                self.memory
            ));
        }
        Ok(())
    }
}
