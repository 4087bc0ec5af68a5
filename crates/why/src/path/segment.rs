//! A piece of the critical path.

use unjank_host::Timestamp;
use unjank_host::inode::FileId;
use unjank_host::sched::ThreadId;
use unjank_units::Nanos;

use crate::history::{InterruptId, RequestId};

/// A piece of the critical path: one thread in one state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Its begin.
    pub from: Timestamp,
    /// Its end.
    pub to: Timestamp,
    /// The thread that the path is on.
    pub thread: ThreadId,
    /// How the path left the explained thread.
    pub way: Way,
    /// What happened.
    pub activity: Activity,
    /// More about it.
    pub detail: Detail,
    /// Of a page-in: the page.
    pub page: Option<Page>,
    /// How sure it is.
    pub certainty: Certainty,
    /// The wait of the explained thread that it is in: an index of
    /// [`Path::waits`](super::Path::waits).
    pub wait: Option<u32>,
    /// The innermost wait for a lock that it is in: an index of
    /// [`Path::locks`](super::Path::locks).
    pub lock: Option<u32>,
    /// The number of wake-ups between the explained thread and this one.
    pub depth: u8,
}

impl Segment {
    /// Its length.
    pub fn length(&self) -> Nanos {
        self.to.since(self.from)
    }
}

/// A page that a thread touched, and that was not in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// The thread.
    pub thread: ThreadId,
    /// Its file, if it is known to be one.
    pub file: Option<FileId>,
}

/// How the path first left the explained thread, and those that it descends from
/// within its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Way {
    /// It did not.
    Own,
    /// The thread waited in a futex, and another thread woke it, but not by a signal.
    Lock,
    /// It waited for a message of another thread: a pipe, a socket, binder.
    Ipc,
    /// It waited for the end of a process or a thread, or for an exec; or another thread
    /// ended its process.
    Child,
    /// It waited for a thread of the kernel.
    Work,
    /// It waited for another thread, and the trace does not have in what.
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
    /// It was woken, and was on its way to a run queue.
    Waking,
    /// It could have run, but had no CPU.
    RunQueue,
    /// A page that it touched came from storage.
    PageIn,
    /// Storage, but for pages that it touched.
    Storage,
    /// A timer.
    Timer,
    /// A packet from outside.
    Network,
    /// Another device.
    Device,
    /// The trace does not tell.
    Unknown,
}

/// More about a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Nothing.
    None,
    /// The CPU that it had, or in whose queue it was.
    Cpu(usize),
    /// The request that it waited for.
    Request(RequestId),
    /// The interrupt.
    Interrupt(InterruptId),
}

/// How sure a segment is to be on the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// The last waker is taken for the reason of the wait, or nothing is known.
    Inferred,
    /// The trace shows that the thread needed what the path leads to: its own
    /// state, its own request, a message, the end of its child, a lock whose
    /// holder had its priority. That it needed the work item in which a thread of
    /// the kernel woke it is inferred, and so is what other threads did before they
    /// queued the work item, issued the request or armed the timer.
    Proved,
}
