//! What is explained, and the commands that come next.

use super::handoff::Handoff;
use crate::path::Activity;
use crate::split::Cell;

/// What is explained, for sentences and for commands that can be pasted.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// The command that was launched; empty for a recording.
    pub command: Vec<String>,
    /// When it is ready, as `--ready` takes it; empty for the default.
    pub ready: String,
    /// A process that still runs.
    pub process: Option<u32>,
    /// Whether the run is stored.
    pub stored: bool,
    /// What the hand-off of a lock costs on this machine, if it was measured.
    pub handoff: Option<Handoff>,
}

/// A change whose saving is predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// Every CPU at its highest clock.
    HighestClock,
    /// What it reads from storage is in memory.
    Cached,
    /// The program's threads run before those of other programs.
    ProgramFirst,
    /// The threads that answer the program's messages run before others.
    ServersFirst,
    /// A thread that waits for a lock runs at once when it gets it.
    SpunLocks,
    /// All of these.
    All,
}

/// The longest command in a sentence, in characters.
const LONGEST: usize = 60;

impl About {
    /// `gcc -O1 fault.c`, shortened.
    pub(super) fn subject(&self) -> String {
        let text = self.quoted().unwrap_or_default();
        match text.char_indices().nth(LONGEST) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }

    /// The command, quoted for a shell; `None` for a recording.
    fn quoted(&self) -> Option<String> {
        let words = self.command.iter().map(String::as_str);
        shlex::try_join(words).ok().filter(|text| !text.is_empty())
    }

    /// A command to try `remedy` with.
    pub(super) fn next(&self, remedy: Remedy) -> Option<String> {
        let ready = match self.ready.as_str() {
            "" | "exit" => String::new(),
            ready => format!(" --ready {}", shlex::try_quote(ready).ok()?),
        };
        let Some(command) = self.quoted() else {
            let process = self.process?;
            return match remedy {
                Remedy::ProgramFirst => {
                    Some(format!("sudo unjank rt set {process} --process nice:-10"))
                }
                Remedy::SpunLocks => Some(format!("sudo unjank lock doctor {process}")),
                Remedy::Cached => Some("sudo unjank checkup --only swap".to_owned()),
                Remedy::HighestClock | Remedy::ServersFirst | Remedy::All => None,
            };
        };
        if let Some(name) = remedy.option() {
            return Some(format!("sudo unjank why --prove={name}{ready} -- {command}"));
        }
        Some(match remedy {
            // A program that ends at once cannot be watched.
            Remedy::SpunLocks if ready.is_empty() => "unjank lock bench --quick".to_owned(),
            Remedy::SpunLocks => format!("{command} & sudo unjank lock doctor $!"),
            // Which servers these are, the table of waits says.
            Remedy::ServersFirst => "unjank rt list".to_owned(),
            _ => format!("sudo unjank why -n 10{ready} -- {command}"),
        })
    }
}

impl Remedy {
    /// Those that `unjank why --prove` can apply to another program.
    pub const PROVABLE: [Self; 3] = [Self::ProgramFirst, Self::Cached, Self::HighestClock];

    /// What `--prove` calls it; `None` if it cannot be applied from outside.
    pub const fn option(self) -> Option<&'static str> {
        match self {
            Self::HighestClock => Some("clock"),
            Self::Cached => Some("cache"),
            Self::ProgramFirst => Some("cpu"),
            Self::ServersFirst | Self::SpunLocks | Self::All => None,
        }
    }

    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HighestClock => "highest clock",
            Self::Cached => "everything it reads in memory",
            Self::ProgramFirst => "first in the run queue",
            Self::ServersFirst => "its servers first in the run queue",
            Self::SpunLocks => "locks spun instead of parked",
            Self::All => "all of these",
        }
    }

    /// The condition in a sentence.
    pub(super) const fn condition(self) -> &'static str {
        match self {
            Self::HighestClock => "at the highest clock",
            Self::Cached => "with everything it reads in memory",
            Self::ProgramFirst => "with a CPU before other programs",
            Self::ServersFirst => "with its servers before other programs",
            Self::SpunLocks => "with locks that spin instead of sleeping",
            Self::All => "with all changes",
        }
    }
}

/// What a thread does in a cell, in a sentence.
pub(super) const fn doing(cell: Cell) -> &'static str {
    match cell {
        Cell::Of(Activity::Computing) => "computing",
        Cell::SlowClock => "lost to a slow clock",
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
    use super::*;

    const ALL: [Remedy; 6] = [
        Remedy::HighestClock,
        Remedy::Cached,
        Remedy::ProgramFirst,
        Remedy::ServersFirst,
        Remedy::SpunLocks,
        Remedy::All,
    ];

    fn about(command: &[&str], ready: &str) -> About {
        let command = command.iter().map(|&word| word.to_owned()).collect();
        About { command, ready: ready.to_owned(), ..About::default() }
    }

    #[test]
    fn the_changes_that_can_be_proved_have_names() {
        let provable = ALL.into_iter().filter(|remedy| remedy.option().is_some());
        assert!(provable.eq([Remedy::HighestClock, Remedy::Cached, Remedy::ProgramFirst]));
        assert!(Remedy::PROVABLE.iter().all(|remedy| remedy.option().is_some()));
    }

    #[test]
    fn every_change_has_a_command_that_a_shell_reads_back() {
        let words = ["sh", "-c", "echo 'a b' > /dev/null; ls", ""];
        let about = about(&words, "stdout:it is up");
        for remedy in ALL {
            let next = about.next(remedy).unwrap();
            let read = shlex::split(&next).unwrap();
            let whole = read.windows(words.len()).any(|window| window == words);
            assert!(whole || next == "unjank rt list", "{next}");
            let ready = read.iter().position(|word| word == "--ready");
            assert!(ready.is_none_or(|at| read[at + 1] == "stdout:it is up"), "{next}");
        }
    }

    #[test]
    fn a_recording_has_commands_only_for_a_process_that_runs() {
        assert!(ALL.iter().all(|remedy| About::default().next(*remedy).is_none()));
        let running = About { process: Some(47), ..About::default() };
        let next = running.next(Remedy::SpunLocks);
        assert_eq!(next.as_deref(), Some("sudo unjank lock doctor 47"));
    }

    #[test]
    fn long_commands_are_shortened_in_sentences() {
        assert_eq!(about(&["git", "status"], "").subject(), "git status");
        let long = about(&[&"ä".repeat(80)], "").subject();
        assert!(long.ends_with('…') && long.chars().count() == LONGEST + 1, "{long}");
        assert_eq!(About::default().subject(), "");
    }
}
