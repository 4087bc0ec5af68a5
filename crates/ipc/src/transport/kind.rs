//! The transports and their names.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A transport of calls from one process to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// A plain call within the caller's thread: no transport at all.
    Passthrough,
    /// A stream socket pair: `unix(7)`.
    Unix,
    /// Two pipes: `pipe(7)`.
    Pipe,
    /// Shared memory with a futex in each direction, without spinning.
    Futex,
    /// Shared memory that lends the server its client's priority.
    Pi,
    /// The binder driver: the payload is copied in one piece.
    Binder,
    /// The same driver behind hwbinder's device: the payload is gathered from its
    /// place.
    Hwbinder,
}

impl Transport {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Passthrough,
        Self::Unix,
        Self::Pipe,
        Self::Futex,
        Self::Pi,
        Self::Binder,
        Self::Hwbinder,
    ];

    /// The transports to another process.
    pub const BETWEEN_PROCESSES: [Self; 6] =
        [Self::Unix, Self::Pipe, Self::Futex, Self::Pi, Self::Binder, Self::Hwbinder];

    /// Whether it is the binder driver.
    pub(crate) fn is_binder(self) -> bool {
        matches!(self, Self::Binder | Self::Hwbinder)
    }

    /// The name in series and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Passthrough => "passthrough",
            Self::Unix => "unix",
            Self::Pipe => "pipe",
            Self::Futex => "futex",
            Self::Pi => "pi",
            Self::Binder => "binder",
            Self::Hwbinder => "hwbinder",
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
