//! Reads facts one by one, and records the reason for each missing one.

use std::path::Path;

use crate::error::Result;
use crate::root::Root;
use crate::support::{Support, Unsupported};

/// A value of sysfs is one line of words; longer ones are cut.
const LONGEST_VALUE: usize = 1024;

/// One pass over a machine's files.
#[derive(Debug)]
pub(crate) struct Reader<'root> {
    root: &'root Root,
    unsupported: Vec<Unsupported>,
}

impl<'root> Reader<'root> {
    pub(crate) fn new(root: &'root Root) -> Self {
        Self { root, unsupported: Vec::new() }
    }

    pub(crate) fn root(&self) -> &'root Root {
        self.root
    }

    /// Records why `what` is missing. Only the first reason for each `what` is
    /// kept, so a machine with a thousand odd CPUs has one entry.
    pub(crate) fn miss(&mut self, what: &str, reason: impl Into<String>) {
        if !self.unsupported.iter().any(|noted| noted.what == what) {
            self.unsupported
                .push(Unsupported { what: what.to_owned(), reason: one_line(&reason.into()) });
        }
    }

    /// A fact that may be absent: only a failure is recorded.
    pub(crate) fn optional<T>(&mut self, what: &str, found: Result<Option<T>>) -> Option<T> {
        found.unwrap_or_else(|error| {
            self.miss(what, error.to_string());
            None
        })
    }

    /// A fact whose absence is recorded with a reason.
    pub(crate) fn wanted<T>(
        &mut self,
        what: &str,
        found: Result<Option<T>>,
        absent: &str,
    ) -> Option<T> {
        match found {
            Ok(None) => {
                self.miss(what, absent);
                None
            }
            found => self.optional(what, found),
        }
    }

    /// A fact that has its own reason for being absent.
    pub(crate) fn supported<T>(&mut self, what: &str, support: Support<T>) -> Option<T> {
        match support {
            Support::Yes(value) => Some(value),
            Support::No(reason) => {
                self.miss(what, reason);
                None
            }
        }
    }

    /// All missing facts, with the reasons.
    pub(crate) fn finish(self) -> Vec<Unsupported> {
        self.unsupported
    }
}

/// The first line of `path`, if it exists and is not empty.
pub(crate) fn line(root: &Root, path: impl AsRef<Path>) -> Result<Option<String>> {
    let text = root.read_if_there(path)?;
    Ok(text.map(|text| one_line(&text)).filter(|line| !line.is_empty()))
}

/// The first line of `text`, without control characters, which could manipulate
/// a terminal.
pub(crate) fn one_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.trim().chars().filter(|c| !c.is_control()).take(LONGEST_VALUE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn absence_and_failure_are_noted_with_their_reasons() {
        let root = Root::at("/nowhere");
        let mut reader = Reader::new(&root);
        assert_eq!(reader.wanted::<u8>("idle", Ok(None), "no cpuidle driver"), None);
        assert_eq!(reader.optional::<u8>("boost", Ok(None)), None);
        let failure = || Err(Error::parse("/proc/stat", 1, "expected a number"));
        assert_eq!(reader.optional::<u8>("steal", failure()), None);
        assert_eq!(reader.wanted::<u8>("steal", failure(), "again"), None);
        assert_eq!(reader.wanted("kernel", Ok(Some(6)), "never"), Some(6));
        let noted: Vec<String> =
            reader.finish().iter().map(|note| format!("{}: {}", note.what, note.reason)).collect();
        assert_eq!(
            noted,
            [
                "idle: no cpuidle driver",
                "steal: cannot parse /proc/stat, line 1: expected a number"
            ]
        );
    }

    #[test]
    fn a_value_is_one_line_without_control_characters() {
        assert_eq!(one_line(" menu \u{1b}[2J\r\nteo"), "menu [2J");
        assert_eq!(one_line(&"x".repeat(5_000)).len(), LONGEST_VALUE);
    }
}
