//! Transports as they are typed.

use unjank_ipc::Transport;

/// A transport as it is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum TransportName {
    /// A plain call, without another process
    Passthrough,
    /// A stream socket pair
    Unix,
    /// Two pipes
    Pipe,
    /// Shared memory with a futex in each direction, without spinning
    Futex,
    /// Shared memory that lends the server its client's priority
    Pi,
    /// The binder driver (/dev/binder), where the kernel has it
    Binder,
    /// The same driver as hwbinder uses it (/dev/hwbinder): scatter-gather
    Hwbinder,
}

impl From<TransportName> for Transport {
    fn from(name: TransportName) -> Self {
        match name {
            TransportName::Passthrough => Self::Passthrough,
            TransportName::Unix => Self::Unix,
            TransportName::Pipe => Self::Pipe,
            TransportName::Futex => Self::Futex,
            TransportName::Pi => Self::Pi,
            TransportName::Binder => Self::Binder,
            TransportName::Hwbinder => Self::Hwbinder,
        }
    }
}
