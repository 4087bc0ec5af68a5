//! `/proc/cpuinfo`, which has a different form on every architecture.

use std::collections::{BTreeMap, BTreeSet};

use super::arm_core;
use super::reader::one_line;
use crate::error::Result;
use crate::root::Root;

/// The parts of `/proc/cpuinfo` that this crate uses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CpuInfo {
    /// The processor's own name: `model name` (x86), `Processor` (old ARM),
    /// `cpu` (Power), `uarch` (RISC-V).
    name: Option<String>,
    /// The board's name, on old ARM kernels without a device tree.
    board: Option<String>,
    /// x86: the features of the first CPU.
    flags: BTreeSet<String>,
    /// ARM: `CPU architecture`.
    arm_architecture: Option<String>,
    /// RISC-V: `isa`.
    isa: Option<String>,
    /// ARM: implementer and part, by CPU.
    cores: BTreeMap<usize, ArmCore>,
    /// ARM before Linux 3.8 has one entry for all CPUs.
    any_core: ArmCore,
}

/// The two numbers in an ARM core's main ID register that identify its design.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct ArmCore {
    implementer: Option<u32>,
    part: Option<u32>,
}

impl CpuInfo {
    /// Reads the file; empty if it does not exist.
    pub(crate) fn read(root: &Root) -> Result<Self> {
        Ok(Self::parse(&root.read_if_there("/proc/cpuinfo")?.unwrap_or_default()))
    }

    /// Lines of `key : value` in paragraphs, one for each CPU. Other lines are
    /// skipped: the keys differ between architectures.
    pub(crate) fn parse(text: &str) -> Self {
        let mut info = Self::default();
        let mut cpu = None;
        for line in text.lines() {
            let Some((key, value)) = line.split_once(':') else {
                if line.trim().is_empty() {
                    cpu = None;
                }
                continue;
            };
            let (key, value) = (key.trim(), value.trim());
            if key == "processor" && value.parse::<usize>().is_ok() {
                cpu = value.parse().ok();
            } else {
                info.take(cpu, key, value);
            }
        }
        info
    }

    fn take(&mut self, cpu: Option<usize>, key: &str, value: &str) {
        let core = match cpu {
            Some(cpu) => self.cores.entry(cpu).or_default(),
            None => &mut self.any_core,
        };
        match key {
            "model name" | "Processor" | "cpu" | "cpu model" | "uarch" if self.name.is_none() => {
                self.name = Some(one_line(value)).filter(|name| !name.is_empty());
            }
            "Hardware" if self.board.is_none() => self.board = Some(one_line(value)),
            "flags" if self.flags.is_empty() => {
                self.flags = value.split_whitespace().map(str::to_owned).collect();
            }
            "CPU architecture" if self.arm_architecture.is_none() => {
                self.arm_architecture = Some(one_line(value));
            }
            "isa" if self.isa.is_none() => self.isa = Some(one_line(value)),
            "CPU implementer" => core.implementer = hexadecimal(value),
            "CPU part" => core.part = hexadecimal(value),
            _ => {}
        }
    }

    /// The name of one CPU's core design, on ARM: `Cortex-A55`, or the two
    /// numbers if the design is unknown.
    pub(crate) fn core_name(&self, cpu: usize) -> Option<String> {
        let core = self.cores.get(&cpu).copied().unwrap_or_default();
        let implementer = core.implementer.or(self.any_core.implementer)?;
        let part = core.part.or(self.any_core.part)?;
        Some(match arm_core::name(implementer, part) {
            Some(name) => name.to_owned(),
            None => format!("implementer {implementer:#04x} part {part:#05x}"),
        })
    }

    /// The processor's own name.
    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The name of the board.
    pub(crate) fn board(&self) -> Option<&str> {
        self.board.as_deref().filter(|board| !board.is_empty())
    }

    /// Whether x86's CPUID reports a hypervisor; `None` on other architectures.
    pub(crate) fn hypervisor_flag(&self) -> Option<bool> {
        (!self.flags.is_empty()).then(|| self.flags.contains("hypervisor"))
    }

    /// The architecture as `uname -m` prints it, derived from the processor. On
    /// x86 a 32-bit kernel on a 64-bit processor is not recognised.
    pub(crate) fn architecture(&self) -> Option<&'static str> {
        if !self.flags.is_empty() {
            return Some(if self.flags.contains("lm") { "x86_64" } else { "i686" });
        }
        if let Some(isa) = &self.isa {
            return Some(if isa.starts_with("rv32") { "riscv32" } else { "riscv64" });
        }
        match self.arm_architecture.as_deref()? {
            "8" | "AArch64" => Some("aarch64"),
            "7" => Some("armv7l"),
            "6" | "6TEJ" => Some("armv6l"),
            _ => None,
        }
    }
}

fn hexadecimal(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x86_names_the_processor_and_shows_its_flags() {
        let info = CpuInfo::parse(
            "processor\t: 0\nmodel name\t: AMD EPYC\nflags\t\t: fpu lm hypervisor\n\n\
             processor\t: 1\nmodel name\t: AMD EPYC\nflags\t\t: fpu lm\n",
        );
        assert_eq!(info.name(), Some("AMD EPYC"));
        assert_eq!(info.hypervisor_flag(), Some(true));
        assert_eq!(info.architecture(), Some("x86_64"));
        assert_eq!(info.core_name(0), None);
    }

    #[test]
    fn arm_names_each_core() {
        let info = CpuInfo::parse(
            "processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd46\n\n\
             processor\t: 4\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd4e\n\n\
             processor\t: 5\nCPU implementer\t: 0x99\nCPU architecture: 8\nCPU part\t: 0x001\n",
        );
        assert_eq!(info.core_name(0).as_deref(), Some("Cortex-A510"));
        assert_eq!(info.core_name(4).as_deref(), Some("Cortex-X3"));
        assert_eq!(info.core_name(5).as_deref(), Some("implementer 0x99 part 0x001"));
        assert_eq!(info.hypervisor_flag(), None);
        assert_eq!(info.architecture(), Some("aarch64"));
    }

    #[test]
    fn old_arm_names_the_core_once_for_all() {
        let info = CpuInfo::parse(
            "Processor\t: ARMv7 Processor rev 1 (v7l)\nprocessor\t: 0\nBogoMIPS\t: 1592.52\n\n\
             processor\t: 1\nBogoMIPS\t: 2388.78\n\nFeatures\t: swp half neon\n\
             CPU implementer\t: 0x41\nCPU architecture: 7\nCPU part\t: 0xc09\n\n\
             Hardware\t: SMDK4210\nSerial\t\t: 304d19f36a02309e\n",
        );
        assert_eq!(info.name(), Some("ARMv7 Processor rev 1 (v7l)"));
        assert_eq!(info.core_name(0).as_deref(), Some("Cortex-A9"));
        assert_eq!(info.core_name(1).as_deref(), Some("Cortex-A9"));
        assert_eq!(info.board(), Some("SMDK4210"));
        assert_eq!(info.architecture(), Some("armv7l"));
    }

    #[test]
    fn malformed_text_gives_nothing() {
        assert_eq!(CpuInfo::parse(""), CpuInfo::default());
        assert_eq!(CpuInfo::parse("::\nprocessor: x\n\u{0}").core_name(0), None);
    }
}
