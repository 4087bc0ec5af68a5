//! Names of ARM cores by the numbers of their main ID register.
//!
//! The numbers are in each core's Technical Reference Manual ("MIDR") and in
//! the kernel's `arch/arm64/include/asm/cputype.h`.

/// `CPU implementer` of `/proc/cpuinfo` for Arm Limited.
const ARM: u32 = 0x41;

/// The name of a core design, if Arm Limited made it.
pub(super) fn name(implementer: u32, part: u32) -> Option<&'static str> {
    if implementer != ARM {
        return None;
    }
    Some(match part {
        0xc05 => "Cortex-A5",
        0xc07 => "Cortex-A7",
        0xc08 => "Cortex-A8",
        0xc09 => "Cortex-A9",
        0xc0d => "Cortex-A12",
        0xc0e => "Cortex-A17",
        0xc0f => "Cortex-A15",
        0xd01 => "Cortex-A32",
        0xd03 => "Cortex-A53",
        0xd04 => "Cortex-A35",
        0xd05 => "Cortex-A55",
        0xd06 => "Cortex-A65",
        0xd07 => "Cortex-A57",
        0xd08 => "Cortex-A72",
        0xd09 => "Cortex-A73",
        0xd0a => "Cortex-A75",
        0xd0b => "Cortex-A76",
        0xd0c => "Neoverse-N1",
        0xd0d => "Cortex-A77",
        0xd0e => "Cortex-A76AE",
        0xd40 => "Neoverse-V1",
        0xd41 => "Cortex-A78",
        0xd42 => "Cortex-A78AE",
        0xd44 => "Cortex-X1",
        0xd46 => "Cortex-A510",
        0xd47 => "Cortex-A710",
        0xd48 => "Cortex-X2",
        0xd49 => "Neoverse-N2",
        0xd4b => "Cortex-A78C",
        0xd4c => "Cortex-X1C",
        0xd4d => "Cortex-A715",
        0xd4e => "Cortex-X3",
        0xd4f => "Neoverse-V2",
        0xd80 => "Cortex-A520",
        0xd81 => "Cortex-A720",
        0xd82 => "Cortex-X4",
        0xd83 => "Neoverse-V3AE",
        0xd84 => "Neoverse-V3",
        0xd85 => "Cortex-X925",
        0xd87 => "Cortex-A725",
        0xd8a => "C1-Nano",
        0xd8b => "C1-Pro",
        0xd8c => "C1-Ultra",
        0xd8e => "Neoverse-N3",
        0xd90 => "C1-Premium",
        _ => return None,
    })
}
