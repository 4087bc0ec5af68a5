//! The parsed content of a journal.

use std::path::Path;

use super::entry::Header;
use super::ledger::Ledger;
use crate::checked_lines::{self, Damaged};
use crate::error::{Error, Result};

/// The parsed content of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Journal {
    /// The first line; `None` if the session ended before it was complete, and
    /// so before it changed anything.
    pub header: Option<Header>,
    /// The changes that the session still held at the end of the journal.
    pub ledger: Ledger,
    /// Damaged lines, counted from 1. Their content is unknown, so the state of
    /// the changes before them is doubtful.
    pub damaged: Vec<usize>,
    /// The length in bytes to keep. A torn line follows.
    pub intact: u64,
}

impl Journal {
    /// Parses a journal; `origin` names it in errors. A last line that was cut
    /// off is skipped: the change that it announces was never made.
    ///
    /// # Errors
    /// `Parse` names a line with a correct checksum that no session of this
    /// version writes, or a damaged first line, which makes the journal
    /// unusable.
    pub fn parse(origin: &Path, bytes: &[u8]) -> Result<Self> {
        let lines = checked_lines::read(bytes);
        let (ledger, intact) = (Ledger::default(), lines.intact);
        let mut journal = Self { header: None, ledger, damaged: Vec::new(), intact };
        for (text, number) in lines.texts.into_iter().zip(1..) {
            let wrong = |what: String| Error::parse(origin, number, what);
            match text {
                Ok(line) if number == 1 => {
                    journal.header = Some(Header::parse(line).map_err(wrong)?);
                }
                Err(Damaged) if number == 1 => return Err(wrong(DAMAGED.to_owned())),
                Ok(line) => {
                    let entry = serde_json::from_slice(line).map_err(|e| wrong(e.to_string()))?;
                    let applied = journal.ledger.apply(&entry);
                    // A damaged line may have announced its change.
                    if journal.damaged.is_empty() {
                        applied.map_err(wrong)?;
                    }
                }
                Err(Damaged) => {
                    journal.damaged.push(number);
                    journal.ledger.doubt();
                }
            }
        }
        Ok(journal)
    }
}

/// The error for a damaged line.
pub(crate) const DAMAGED: &str = "it is damaged: its checksum is wrong";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::entry::Entry;
    use super::super::entry::tests::{any_entry, header, swappiness};
    use super::*;
    use crate::checked_lines::line;

    fn parse(text: &str) -> Result<Journal> {
        Journal::parse(Path::new("j"), text.as_bytes())
    }

    #[test]
    fn a_torn_last_line_was_never_acted_upon() {
        let head = line(&header());
        let whole = format!("{head}{}", line(&swappiness()));
        for cut in 0..=whole.len() {
            let journal = parse(&whole[..cut]).unwrap();
            // A line without its line end is complete.
            assert_eq!(journal.header.is_some(), cut + 1 >= head.len());
            assert_eq!(journal.ledger.held().len(), usize::from(cut + 1 >= whole.len()));
            assert!(journal.intact <= cut as u64 && journal.damaged.is_empty());
        }
    }

    #[test]
    fn a_line_that_no_session_wrote_is_named() {
        let head = line(&header());
        let wrong = |text: &str| parse(text).unwrap_err().to_string();
        assert_eq!(parse(&format!("{head}nonsense\n")).unwrap().damaged, [2]);
        assert_eq!(
            wrong(&format!("nonsense\n{head}")),
            "cannot parse j, line 1: it is damaged: its checksum is wrong"
        );
        assert_eq!(
            wrong(&format!("{head}{}", line(&"nonsense"))),
            "cannot parse j, line 2: unknown variant `nonsense`, expected one of `intent`, `set`, \
             `settled`, `restored`, `kept` at line 1 column 10"
        );
        assert_eq!(
            wrong(&format!("{head}{}", line(&Entry::Restored { seq: 4 }))),
            "cannot parse j, line 2: change 4 is not held"
        );
        assert_eq!(
            wrong("{\"schema\":\"unjank.journal/9\"}\n"),
            "cannot parse j, line 1: its schema is \"unjank.journal/9\"; this unjank reads \
             \"unjank.journal/2\""
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _read_or_refused = Journal::parse(Path::new("j"), &bytes);
        }

        #[test]
        fn any_order_of_entries_is_read_or_refused(
            entries in proptest::collection::vec(any_entry(), 0..20),
            cut in any::<proptest::sample::Index>(),
        ) {
            let mut text = line(&header());
            text.extend(entries.iter().map(line));
            let _read_or_refused = Journal::parse(Path::new("j"), &text.as_bytes()[..cut.index(text.len())]);
        }
    }
}
