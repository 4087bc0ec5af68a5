//! The processors of phones, and what depends on them.

use std::fmt;

use object::elf::{EM_AARCH64, EM_X86_64, Machine};

/// The architecture of a phone's processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    /// x86-64, in QEMU's machine q35: the one with P-states.
    X86_64,
    /// 64-bit ARM, in QEMU's machine virt.
    Aarch64,
}

impl Default for Architecture {
    /// That of this program.
    fn default() -> Self {
        if cfg!(target_arch = "aarch64") { Self::Aarch64 } else { Self::X86_64 }
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::X86_64 => "x86-64",
            Self::Aarch64 => "aarch64",
        })
    }
}

impl Architecture {
    /// Debian's name for it.
    pub(crate) fn debian(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }

    /// The emulator.
    pub(crate) fn emulator(self) -> &'static str {
        match self {
            Self::X86_64 => "qemu-system-x86_64",
            Self::Aarch64 => "qemu-system-aarch64",
        }
    }

    /// Debian's package with the emulator.
    pub(crate) fn emulator_package(self) -> &'static str {
        match self {
            Self::X86_64 => "qemu-system-x86",
            Self::Aarch64 => "qemu-system-arm",
        }
    }

    /// The emulator's machine.
    pub(crate) fn machine(self) -> &'static str {
        match self {
            Self::X86_64 => "q35",
            // The older interrupt controller has at most eight CPUs.
            Self::Aarch64 => "virt,gic-version=3",
        }
    }

    /// The emulator's processor where it translates instructions.
    pub(crate) fn emulated_cpu(self) -> &'static str {
        match self {
            // acpi-cpufreq leaves AMD's family 15, which QEMU's own processor claims to be, to
            // other drivers.
            Self::X86_64 => "max,vendor=GenuineIntel,family=6,model=94",
            // Emulating the architecture's own algorithm of pointer authentication would take longer
            // than all else.
            Self::Aarch64 => "max,pauth-impdef=on",
        }
    }

    /// The kernel's name for the serial port.
    pub(crate) fn console(self) -> &'static str {
        match self {
            Self::X86_64 => "ttyS0",
            Self::Aarch64 => "ttyAMA0",
        }
    }

    /// The machine in the header of a program.
    pub(crate) fn elf(self) -> Machine {
        match self {
            Self::X86_64 => EM_X86_64,
            Self::Aarch64 => EM_AARCH64,
        }
    }

    /// Dynamic linkers that list libraries without running the program: glibc's and musl's. An
    /// unknown one could be any program, which must not be run on this machine.
    pub(crate) fn dynamic_linkers(self) -> &'static [&'static str] {
        match self {
            Self::X86_64 => &[
                "/lib64/ld-linux-x86-64.so.2",
                "/lib/ld-linux-x86-64.so.2",
                "/lib/ld-musl-x86_64.so.1",
            ],
            Self::Aarch64 => &["/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-aarch64.so.1"],
        }
    }
}
