//! The virtual phone: a stock distribution kernel in QEMU, with the P-states of
//! a real device, the binder driver, ublk and zram, and unjank as its only
//! program.
//!
//! The host side ([`run()`]) packs an initramfs, boots it and receives events
//! through one port. The guest side ([`guest::run`]) is `init` in the phone: it
//! runs the commands and reports. Root, a network or a disk are not needed.
//!
//! | module | subject |
//! |---|---|
//! | [`architecture`] | the processors of phones |
//! | [`mod@run`] | one run, from its options to the end of the last command |
//! | [`kernel`] | the kernel and its modules: found, fetched, cached |
//! | [`modules`] | the modules that a phone needs, with their parameters |
//! | [`program`] | programs for the guest, and their shared libraries |
//! | [`initramfs`] | the archive that the kernel unpacks as its root |
//! | [`pstates`] | profiles of a device's clock, and their ACPI table |
//! | [`qemu`] | the emulator's command line, and whether KVM works |
//! | [`channel`] | the protocol between guest and host |
//! | [`order`] | the order to the guest |
//! | [`guest`] | the guest side |

pub mod architecture;
pub mod channel;
mod error;
pub mod guest;
pub mod initramfs;
pub mod kernel;
pub mod modules;
pub mod order;
mod packed_file;
pub mod program;
pub mod pstates;
pub mod qemu;
pub mod run;
mod tail;

pub use architecture::Architecture;
pub use error::{Error, Result};
pub use kernel::Kernel;
pub use pstates::{Clock, Profile};
pub use qemu::{Accelerator, InstructionTime};
pub use run::{Event, Options, RunResult, run};
