//! What is explained, and the commands that come next.

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
}

/// A change whose saving is predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Remedy {
    HighestClock,
    PagesInMemory,
    FreeCpu,
    SpunLocks,
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

    /// A command to try `remedy` with; `launches` were explained.
    pub(super) fn next(&self, remedy: Remedy, launches: usize) -> Option<String> {
        let ready = match self.ready.as_str() {
            "" | "exit" => String::new(),
            ready => format!(" --ready {}", shlex::try_quote(ready).ok()?),
        };
        let Some(command) = self.quoted() else {
            let process = self.process?;
            return match remedy {
                Remedy::FreeCpu => Some(format!("sudo unjank rt set {process} --process nice:-10")),
                Remedy::SpunLocks => Some(format!("sudo unjank lock doctor {process}")),
                Remedy::PagesInMemory => Some("sudo unjank checkup --only swap".to_owned()),
                Remedy::HighestClock | Remedy::All => None,
            };
        };
        Some(match remedy {
            Remedy::HighestClock => {
                format!("sudo unjank launch bench --b min_freq=max --b boost{ready} -- {command}")
            }
            // The next launches find the pages in memory, unless it is short.
            Remedy::PagesInMemory if launches == 1 => {
                format!("sudo unjank why -n 5{ready} -- {command}")
            }
            Remedy::PagesInMemory => "sudo unjank checkup --only swap".to_owned(),
            Remedy::FreeCpu => {
                format!("sudo unjank why -n 5{ready} -- nice -n -10 {command}")
            }
            // A program that ends at once cannot be watched.
            Remedy::SpunLocks if ready.is_empty() => "unjank lock bench --quick".to_owned(),
            Remedy::SpunLocks => format!("{command} & sudo unjank lock doctor $!"),
            Remedy::All => {
                format!("sudo unjank why -n 10{ready} -- {command}")
            }
        })
    }
}

impl Remedy {
    /// The name in tables.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::HighestClock => "highest clock",
            Self::PagesInMemory => "pages in memory",
            Self::FreeCpu => "no wait for a CPU",
            Self::SpunLocks => "locks spun instead of parked",
            Self::All => "all of these",
        }
    }

    /// The condition in a sentence.
    pub(super) const fn condition(self) -> &'static str {
        match self {
            Self::HighestClock => "at the highest clock",
            Self::PagesInMemory => "with its pages in memory",
            Self::FreeCpu => "with a CPU whenever it needs one",
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

    const ALL: [Remedy; 5] = [
        Remedy::HighestClock,
        Remedy::PagesInMemory,
        Remedy::FreeCpu,
        Remedy::SpunLocks,
        Remedy::All,
    ];

    fn about(command: &[&str], ready: &str) -> About {
        let command = command.iter().map(|&word| word.to_owned()).collect();
        About { command, ready: ready.to_owned(), ..About::default() }
    }

    #[test]
    fn every_change_has_a_command_that_a_shell_reads_back() {
        let words = ["sh", "-c", "echo 'a b' > /dev/null; ls", ""];
        let about = about(&words, "stdout:it is up");
        for remedy in ALL {
            for launches in [1, 2] {
                let next = about.next(remedy, launches).unwrap();
                let read = shlex::split(&next).unwrap();
                let whole = read.windows(words.len()).any(|window| window == words);
                assert!(whole || next.contains("checkup"), "{next}");
                let ready = read.iter().position(|word| word == "--ready");
                assert!(ready.is_none_or(|at| read[at + 1] == "stdout:it is up"), "{next}");
            }
        }
    }

    #[test]
    fn a_recording_has_commands_only_for_a_process_that_runs() {
        assert!(ALL.iter().all(|remedy| About::default().next(*remedy, 1).is_none()));
        let running = About { process: Some(47), ..About::default() };
        let next = running.next(Remedy::SpunLocks, 1);
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
