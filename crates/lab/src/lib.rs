//! The virtual phone: a stock distribution kernel in QEMU, with the P-states
//! of a real device, the binder driver, ublk and zram, and unjank as its only
//! program.
//!
//! The host side ([`run()`]) packs an initramfs, boots it and hears what happens
//! through one port; the guest side ([`guest::run`]) is `init` there, runs the
//! commands, and tells. Nothing of it needs root, a network or a disk.
//!
//! | module | subject |
//! |---|---|
//! | [`mod@run`] | from options to the end of the last command |
//! | [`kernel`] | the kernel and its modules: found, fetched, cached |
//! | [`modules`] | which modules a phone needs, and with what parameters |
//! | [`program`] | programs for the guest, and their shared libraries |
//! | [`initramfs`] | the archive that the kernel unpacks as its root |
//! | [`pstates`] | profiles of a device's clock, and their ACPI table |
//! | [`qemu`] | the emulator's command line, and whether KVM works |
//! | [`channel`] | what guest and host say to each other |
//! | [`order`] | what the guest is told to do |
//! | [`guest`] | the guest's side of it all |

pub mod channel;
mod error;
pub mod guest;
pub mod initramfs;
pub mod kernel;
pub mod modules;
pub mod order;
pub mod program;
pub mod pstates;
pub mod qemu;
pub mod run;
mod tail;

pub use error::{Error, Result};
pub use kernel::Kernel;
pub use pstates::{Clock, Profile};
pub use qemu::Accelerator;
pub use run::{Event, Options, Outcome, run};
