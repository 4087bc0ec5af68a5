//! A piece of the critical path.

use unjank_host::Timestamp;
use unjank_host::inode::FileId;
use unjank_host::sched::ThreadId;
use unjank_units::Nanos;

use crate::history::{InterruptId, RequestId};

/// A piece of the critical path: one thread in one state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// When it begins.
    pub from: Timestamp,
    /// When it ends; the next segment begins there.
    pub to: Timestamp,
    /// The thread that the path is on.
    pub thread: ThreadId,
    /// How the path left the explained thread.
    pub way: Way,
    /// What the thread did or waited for.
    pub activity: Activity,
    /// The CPU, the request or the interrupt of the activity.
    pub detail: Detail,
    /// The page that a page-in brought into memory.
    pub page: Option<Page>,
    /// Whether the trace proves that it is on the path.
    pub certainty: Certainty,
    /// The wait of the explained thread that it is in: an index of
    /// [`Path::waits`](super::Path::waits).
    pub wait: Option<u32>,
    /// The innermost wait for a lock that it is in: an index of
    /// [`Path::locks`](super::Path::locks).
    pub lock: Option<u32>,
    /// The number of wake-ups between the explained thread and this one.
    pub depth: u32,
}

impl Segment {
    /// The time from its beginning to its end.
    pub fn length(&self) -> Nanos {
        self.to.since(self.from)
    }
}

/// A page that a thread touched, and that was not in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// The thread that touched it.
    pub thread: ThreadId,
    /// Its file, if it is known to be one.
    pub file: Option<FileId>,
}

/// How the path first left the explained thread and its ancestors in the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Way {
    /// It did not leave them.
    Own,
    /// The thread waited in a futex, for a kernel lock, or in `flock` and the like, and another
    /// thread woke it. If a signal ended a wait in a futex or for a kernel lock, that is
    /// [`Self::Ipc`].
    Lock,
    /// It waited for a message of another thread: a pipe, a socket, binder, a signal.
    Ipc,
    /// It waited for the end of a process or a thread, or for an exec; or another thread
    /// ended its process.
    Child,
    /// It waited for a thread of the kernel.
    Work,
    /// It waited for another thread in any other way, or the trace does not show in which call.
    Other,
}

impl Way {
    /// All ways, in the order of tables.
    pub const ALL: [Self; 6] =
        [Self::Own, Self::Lock, Self::Ipc, Self::Child, Self::Work, Self::Other];

    /// The name in records and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Lock => "lock",
            Self::Ipc => "ipc",
            Self::Child => "child",
            Self::Work => "work",
            Self::Other => "other",
        }
    }
}

/// What a segment's thread did, or waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Activity {
    /// It had a CPU.
    Computing,
    /// It had a CPU, and looked for pages to evict, because it needed memory.
    Reclaim,
    /// It was woken, and was on its way to a run queue.
    Waking,
    /// It could have run, but had no CPU.
    RunQueue,
    /// A page that it touched came from storage.
    PageIn,
    /// It waited for storage, but not for a page that it touched.
    Storage,
    /// A timer.
    Timer,
    /// A packet from outside.
    Network,
    /// Another device.
    Device,
    /// The trace does not show it.
    Unknown,
}

impl Activity {
    /// Whether the thread had a CPU.
    pub fn has_cpu(self) -> bool {
        matches!(self, Self::Computing | Self::Reclaim)
    }
}

/// The CPU, the request or the interrupt of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Nothing.
    None,
    /// The CPU that it had, or in whose queue it was.
    Cpu(usize),
    /// The request that it waited for.
    Request(RequestId),
    /// The device's interrupt that it waited for.
    Interrupt(InterruptId),
}

/// The evidence that a segment is on the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// The last waker is taken for the reason of the wait, or nothing is known.
    Inferred,
    /// The trace shows that the thread depended on what the path leads to: its own
    /// state, its own request, a message, the end of its child, a lock whose holder
    /// had its priority, a lock of the kernel. Two things stay inferred: that the thread
    /// needed the work item in which a kernel thread woke it, and the time of other
    /// threads before they queued a work item, issued a request or armed a timer.
    Proved,
}
