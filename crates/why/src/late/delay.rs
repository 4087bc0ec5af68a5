//! A delay, and what causes it.

use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;
use unjank_units::Nanos;

/// A wait that a thread did not choose, or several that follow each other closely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delay {
    /// The thread that was held up.
    pub thread: ThreadId,
    /// When the wait began.
    pub from: Timestamp,
    /// When the thread ran again, or the end of the searched time.
    pub to: Timestamp,
    /// What held it up.
    pub by: HeldUp,
    /// The stopped thread that it waited for.
    pub behind: Option<ThreadId>,
    /// The number of waits in it.
    pub waits: u32,
}

/// What holds a thread up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HeldUp {
    /// No CPU was free after it was woken.
    RunQueue,
    /// An uninterruptible sleep: storage, a page, a lock of the kernel.
    Blocked,
    /// A signal had stopped it.
    Stopped,
    /// Another thread that it waited for was stopped by a signal.
    Stalled,
    /// TCP sent a packet again before it was woken: the network lost it, or was slow.
    Network,
    /// The whole launch of a program. [`delays`](super::delays) does not return it.
    Launch,
    /// The time in which a server left a socket unread. [`delays`](super::delays) does not return it.
    Silence,
}

impl HeldUp {
    /// Whether the cause, a signal or the network, is known without a critical path.
    pub const fn needs_no_path(self) -> bool {
        matches!(self, Self::Stopped | Self::Stalled | Self::Network)
    }

    /// The name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RunQueue => "run-queue",
            Self::Blocked => "blocked",
            Self::Stopped => "stopped",
            Self::Stalled => "stalled",
            Self::Network => "network",
            Self::Launch => "launch",
            Self::Silence => "silent",
        }
    }
}

impl Delay {
    /// A delay between two moments.
    pub fn new(thread: ThreadId, (from, to): (Timestamp, Timestamp), by: HeldUp) -> Self {
        Self { thread, from, to, by, behind: None, waits: 1 }
    }

    /// How long it lasted.
    pub fn length(&self) -> Nanos {
        self.to.since(self.from)
    }
}
