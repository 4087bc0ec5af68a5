//! What happens while a phone is on.

use unjank_host::Nanos;

use crate::channel::End;

/// Something that happens while the phone is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// Its console: the kernel's messages, and QEMU's.
    Console(&'a [u8]),
    /// It has booted, and begins with the first command.
    Up {
        /// How long that took.
        after: Nanos,
    },
    /// What a command prints on stdout.
    Stdout(&'a [u8]),
    /// What it prints on stderr.
    Stderr(&'a [u8]),
    /// A command has ended.
    Ended(End),
    /// The record of a run that was measured there, as JSON.
    Record(&'a str),
    /// Something that the user should know.
    Remark(&'a str),
}
