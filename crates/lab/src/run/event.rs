//! Events of a running phone.

use unjank_host::Nanos;

use crate::channel::End;

/// An event of a running phone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// Console output of the kernel or of QEMU.
    Console(&'a [u8]),
    /// It has booted, and begins the first command.
    Up {
        /// The length of the boot.
        after: Nanos,
    },
    /// Output of a command on stdout.
    Stdout(&'a [u8]),
    /// Output of a command on stderr.
    Stderr(&'a [u8]),
    /// A command has ended.
    Ended(End),
    /// The record of a run in the phone, as JSON.
    Record(&'a str),
    /// A note for the user.
    Remark(&'a str),
}
