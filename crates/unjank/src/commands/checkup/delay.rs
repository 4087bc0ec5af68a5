//! The five delays and their names.

/// The five delays, in the order in which a touch meets them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Delay {
    /// The CPU is still slow when an app starts
    Launch,
    /// The app's pages were swapped out
    Swap,
    /// The thread is woken late
    Jitter,
    /// The thread waits for a lock
    Lock,
    /// The answer comes from another process
    Ipc,
}

impl Delay {
    pub(super) const ALL: [Self; 5] =
        [Self::Launch, Self::Swap, Self::Jitter, Self::Lock, Self::Ipc];

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|delay| delay.name() == name)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Launch => "launch",
            Self::Swap => "swap",
            Self::Jitter => "jitter",
            Self::Lock => "lock",
            Self::Ipc => "ipc",
        }
    }
}
