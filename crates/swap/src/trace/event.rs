//! Events of a trace.

use unjank_host::Nanos;

/// Bytes of a page in all traces.
pub use unjank_cachesim::page::PAGE;

/// Something that happened to one page, or to one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Event {
    /// Time since the first event of the trace; always zero if the format has no times.
    pub at: Nanos,
    /// Number of the page of [`PAGE`] bytes within its space; 0 for events of processes.
    pub page: u64,
    /// The process or app.
    pub who: ProcessIndex,
    /// The device or file that the page belongs to.
    pub space: Space,
    /// The operation on the page or process.
    pub operation: Operation,
    /// The backing of the page.
    pub backing: Backing,
}

/// A process or app: an index into [`Names`](super::Names).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessIndex(pub u32);

impl ProcessIndex {
    /// The trace does not name the process.
    pub const UNKNOWN: Self = Self(0);
}

/// A device, a file or another address space: an index into [`Names`](super::Names).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Space(pub u16);

impl Space {
    /// No space: the event concerns a process.
    pub const NONE: Self = Self(0);
}

/// An operation on a page or process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Operation {
    /// The page was read.
    Read,
    /// The page was written.
    Write,
    /// The page was brought into memory.
    PageIn,
    /// The page was evicted, and its contents were written out.
    PageOut,
    /// The page was evicted; its contents were already on storage.
    CleanDrop,
    /// The page was touched for the first time, and had no contents before.
    FirstTouch,
    /// The process exited, which frees its anonymous pages.
    Exit,
    /// The app was launched.
    Launch,
}

impl Operation {
    /// All variants, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::Read,
        Self::Write,
        Self::PageIn,
        Self::PageOut,
        Self::CleanDrop,
        Self::FirstTouch,
        Self::Exit,
        Self::Launch,
    ];

    /// The name used in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::PageIn => "page-in",
            Self::PageOut => "page-out",
            Self::CleanDrop => "clean-drop",
            Self::FirstTouch => "first-touch",
            Self::Exit => "exit",
            Self::Launch => "launch",
        }
    }

    /// The operation with this name; also takes `R`, `W` and names in any case.
    pub fn from_name(name: &[u8]) -> Option<Self> {
        let same = |operation: &&Self| name.eq_ignore_ascii_case(operation.name().as_bytes());
        match name {
            b"R" | b"r" => Some(Self::Read),
            b"W" | b"w" => Some(Self::Write),
            _ => Self::ALL.iter().find(same).copied(),
        }
    }

    /// Whether it concerns a page rather than a process.
    pub const fn is_of_page(self) -> bool {
        !matches!(self, Self::Exit | Self::Launch)
    }
}

/// The backing of a page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Backing {
    /// The trace does not say.
    #[default]
    Unknown,
    /// Anonymous memory, backed by swap.
    Anonymous,
    /// Memory of a file, backed by that file.
    File,
}

impl Backing {
    /// All variants, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Unknown, Self::Anonymous, Self::File];

    /// The name used in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Anonymous => "anonymous",
            Self::File => "file",
        }
    }

    /// The backing with this name.
    pub fn from_name(name: &[u8]) -> Option<Self> {
        let same = |backing: &&Self| name.eq_ignore_ascii_case(backing.name().as_bytes());
        Self::ALL.iter().find(same).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for (number, operation) in Operation::ALL.into_iter().enumerate() {
            assert_eq!(operation as usize, number);
            assert_eq!(Operation::from_name(operation.name().as_bytes()), Some(operation));
        }
        for (number, backing) in Backing::ALL.into_iter().enumerate() {
            assert_eq!(backing as usize, number);
            assert_eq!(Backing::from_name(backing.name().as_bytes()), Some(backing));
        }
        assert_eq!(Operation::from_name(b"Write"), Some(Operation::Write));
        assert_eq!(Operation::from_name(b""), None);
    }

    #[test]
    fn an_event_is_small() {
        assert_eq!(size_of::<Event>(), 24);
    }
}
