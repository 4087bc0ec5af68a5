//! The subject of an explanation, and the changes whose savings are predicted.

use std::ffi::OsString;

use super::handoff::Handoff;
use super::shell;
use crate::path::Activity;
use crate::split::Cell;

/// The subject of an explanation, for sentences and for commands that can be pasted.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// The command that was launched; empty for a recording.
    pub command: Vec<OsString>,
    /// What was launched in a recording: the package of an Android app.
    pub package: Option<String>,
    /// Options of `unjank why` that its next runs need as well: `--ready`,
    /// `stdout:up`, `--timeout`, `2m`.
    pub options: Vec<OsString>,
    /// The number of launches that the user asked for.
    pub launches: u32,
    /// The explained process, if it was running before.
    pub process: Option<u32>,
    /// The [server](super::Explained::server) of the shown launch, if it runs on.
    pub server: Option<u32>,
    /// The command that shows this run as a page; empty if it is not stored.
    pub show: Vec<OsString>,
    /// The time of a lock hand-off on this machine, if it was measured.
    pub handoff: Option<Handoff>,
}

/// A change whose saving is predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// Every CPU is at its highest clock.
    HighestClock,
    /// All data that the program reads from storage is in memory.
    Cached,
    /// No page is read from a swap area, and no thread looks for pages to evict.
    EnoughMemory,
    /// The program's threads run before those of other programs.
    ProgramFirst,
    /// The threads of the server run before those of other programs. The server is the process
    /// that answers the program's messages and waits longest for a CPU.
    ServersFirst,
    /// A thread that waits for a lock runs at once when it gets it.
    SpunLocks,
    /// All of these.
    All,
    /// Threads compute half as long in critical sections of locks that the path waits for.
    HalfSections,
}

/// The longest command in a sentence, in characters.
const LONGEST: usize = 60;

impl About {
    /// `gcc -O1 fault.c`, shortened.
    pub(super) fn subject(&self) -> String {
        let text = self.package.clone().unwrap_or_else(|| shell::line(&self.command));
        match text.char_indices().nth(LONGEST) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }
}

impl Remedy {
    /// The remedies that `unjank why --prove` tries: by a condition of its own, or by one that the
    /// user gives.
    pub const PROVABLE: [Self; 6] = [
        Self::ProgramFirst,
        Self::ServersFirst,
        Self::Cached,
        Self::EnoughMemory,
        Self::HighestClock,
        Self::HalfSections,
    ];

    /// Its value of `--prove`; `None` if no condition of `launch bench` can make the change.
    pub const fn option(self) -> Option<&'static str> {
        match self {
            Self::HighestClock => Some("clock"),
            Self::Cached => Some("cache"),
            Self::EnoughMemory => Some("swap"),
            Self::ProgramFirst => Some("cpu"),
            Self::ServersFirst => Some("servers"),
            Self::HalfSections => Some("sections"),
            Self::SpunLocks | Self::All => None,
        }
    }

    /// Whether it may be the best change: one by itself, with which the program does the same work.
    pub(super) const fn is_candidate(self) -> bool {
        !matches!(self, Self::All | Self::HalfSections)
    }

    /// Whether it gives threads a CPU before others that are ready.
    pub(super) const fn is_first_in_queue(self) -> bool {
        matches!(self, Self::ProgramFirst | Self::ServersFirst)
    }

    /// The form of a condition of `launch bench` to try it by, if unjank has none of its own.
    pub const fn by(self) -> Option<&'static str> {
        match self {
            Self::HalfSections => Some("env:NAME=VALUE"),
            _ => None,
        }
    }

    /// A condition that stands for it on machines that lack unjank's own. It may do less, and has
    /// other effects.
    pub const fn instead(self) -> Option<&'static str> {
        match self {
            Self::EnoughMemory => Some("vm.swappiness=0"),
            _ => None,
        }
    }

    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HighestClock => "highest clock",
            Self::Cached => "everything it reads in memory",
            Self::EnoughMemory => "enough memory",
            Self::ProgramFirst => "first in the run queue",
            Self::ServersFirst => "its server first in the run queue",
            Self::SpunLocks => "locks spun instead of parked",
            Self::All => "all of these",
            Self::HalfSections => "critical sections half as long",
        }
    }

    /// The remedy as a condition in a sentence: `with all changes`.
    pub(super) const fn condition(self) -> &'static str {
        match self {
            Self::HighestClock => "at the highest clock",
            Self::Cached => "with everything it reads in memory",
            Self::EnoughMemory => "with enough memory",
            Self::ProgramFirst => "with a CPU before other programs",
            Self::ServersFirst => "with its server before other programs",
            Self::SpunLocks => "with locks that spin instead of sleeping",
            Self::All => "with all changes",
            Self::HalfSections => "with critical sections half as long",
        }
    }
}

/// The activity of a cell in a sentence.
pub(super) const fn doing(cell: Cell) -> &'static str {
    match cell {
        Cell::Of(Activity::Computing) => "computing",
        Cell::SlowClock => "lost to a slow clock",
        Cell::Of(Activity::Reclaim) => "freeing memory",
        Cell::Of(Activity::Waking) => "being woken",
        Cell::Of(Activity::RunQueue) => "waiting for a CPU",
        Cell::Of(Activity::PageIn) => "waiting for its pages from storage",
        Cell::Of(Activity::Storage) => "waiting for storage",
        Cell::Of(Activity::Timer) => "sleeping",
        Cell::Of(Activity::Network) => "waiting for the network",
        Cell::Of(Activity::Device) => "waiting for a device",
        Cell::Of(Activity::Unknown) => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::super::what_if::REMEDIES;
    use super::*;

    fn subject(command: &[&str]) -> String {
        let command = command.iter().map(OsString::from).collect();
        About { command, ..About::default() }.subject()
    }

    #[test]
    fn the_changes_that_can_be_proved_have_names() {
        let provable = REMEDIES.into_iter().filter(|remedy| remedy.option().is_some());
        assert_eq!(provable.count(), Remedy::PROVABLE.len());
        assert!(Remedy::PROVABLE.iter().all(|remedy| remedy.option().is_some()));
    }

    #[test]
    fn long_commands_are_shortened_in_sentences() {
        assert_eq!(subject(&["git", "status"]), "git status");
        let long = subject(&[&"ä".repeat(80)]);
        assert!(long.ends_with('…') && long.chars().count() == LONGEST + 1, "{long}");
        assert_eq!(subject(&[]), "");
    }
}
