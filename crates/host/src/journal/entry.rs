//! The lines of a journal: JSON with a checksum, one entry a line, only ever
//! appended.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::ledger::Ledger;
use crate::checked_lines::{self, Damaged};
use crate::error::{Error, Result};

/// The name and major version of the journal's form. A reader refuses others.
pub const SCHEMA: &str = "unjank.journal/2";
/// The form of before, in which lines have no checksum. It is still read.
const UNCHECKED_SCHEMA: &str = "unjank.journal/1";

/// No journal is longer. A session stops announcing changes well before, so
/// that there is always room to write down how they ended.
pub const LARGEST_JOURNAL: u64 = 8 << 20;

/// The first line: whose changes follow, and on which machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The process that made the changes.
    pub pid: u32,
    /// `/proc/sys/kernel/random/boot_id` at that time, where the kernel tells.
    pub boot_id: Option<String>,
    /// The namespace whose control groups it names, as `/proc/self/ns/cgroup`
    /// has it, where the kernel tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup_namespace: Option<String>,
    /// The directory that stood for the machine: `/` for the running one.
    pub root: String,
    /// When the session began, RFC 3339 in UTC.
    pub started_at: String,
}

/// Every further line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// Something is about to be changed for the first time. On the disk
    /// before the change is made.
    Intent {
        /// The number by which later entries name it, ascending.
        seq: u64,
        /// Where it lies on the machine, without symbolic links.
        path: String,
        /// What is about to happen to it.
        #[serde(flatten)]
        change: Change,
    },
    /// A held file is about to get another value.
    Set {
        /// Which one.
        seq: u64,
        /// The value that is going to be written.
        value: String,
    },
    /// The change is made.
    Settled {
        /// Which one.
        seq: u64,
        /// What the file reads now, which need not be what was written:
        /// kernels round, clamp and spell out. Absent for what has no value.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<String>,
    },
    /// The change is undone, or not ours to undo any more.
    Restored {
        /// Which one.
        seq: u64,
    },
}

/// The kinds of change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Change {
    /// A file of the kernel gets another value.
    File {
        /// What it reads now, and is put back to.
        before: String,
        /// What is going to be written.
        wanted: String,
    },
    /// A directory is made; it is removed again.
    Directory,
    /// The machine begins to swap to a loop device; that is turned off again.
    SwapArea,
}

/// What a journal says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Journal {
    /// The first line; `None` if the session ended before it was whole, and
    /// so before it changed anything.
    pub header: Option<Header>,
    /// What the session still held when the journal ends.
    pub ledger: Ledger,
    /// Lines that are not as they were written, counted from 1. What they said
    /// is not known, so what is known of the changes before them is in doubt.
    pub damaged: Vec<usize>,
    /// The length of what is to be kept. What follows is a torn line.
    pub intact: u64,
}

impl Journal {
    /// Reads a journal; `origin` names it in errors. A last line that was cut
    /// off is left out: the change it announces was never made.
    ///
    /// # Errors
    /// `Parse` names the first line that no session of this version wrote, and
    /// a first line that is damaged: without it, nothing can be done.
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
                    // It may speak of a change that a damaged line announced.
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

/// What is said of a damaged line.
pub(crate) const DAMAGED: &str = "it is damaged: it does not have its checksum";

impl Header {
    /// Reads the first line of a journal.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Head {
            schema: String,
        }
        let head: Head = serde_json::from_slice(line).map_err(|e| e.to_string())?;
        if ![SCHEMA, UNCHECKED_SCHEMA].contains(&head.schema.as_str()) {
            return Err(format!("its schema is {:?}; this unjank reads {SCHEMA:?}", head.schema));
        }
        serde_json::from_slice(line).map_err(|e| e.to_string())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::checked_lines::line;

    fn header() -> Header {
        Header {
            schema: SCHEMA.to_owned(),
            pid: 77,
            boot_id: Some("b660de06".to_owned()),
            cgroup_namespace: None,
            root: "/".to_owned(),
            started_at: "2026-11-21T10:15:30Z".to_owned(),
        }
    }

    fn swappiness() -> Entry {
        Entry::Intent {
            seq: 1,
            path: "/proc/sys/vm/swappiness".to_owned(),
            change: Change::File { before: "60".to_owned(), wanted: "10".to_owned() },
        }
    }

    fn parse(text: &str) -> Result<Journal> {
        Journal::parse(Path::new("j"), text.as_bytes())
    }

    #[test]
    fn the_lines_are_as_documented() {
        let json = |entry: &Entry| serde_json::to_string(entry).unwrap();
        assert_eq!(
            serde_json::to_string(&header()).unwrap(),
            "{\"schema\":\"unjank.journal/2\",\"pid\":77,\"boot_id\":\"b660de06\",\"root\":\"/\",\
             \"started_at\":\"2026-11-21T10:15:30Z\"}"
        );
        assert_eq!(
            json(&swappiness()),
            "{\"intent\":{\"seq\":1,\"path\":\"/proc/sys/vm/swappiness\",\"kind\":\"file\",\
             \"before\":\"60\",\"wanted\":\"10\"}}"
        );
        let directory =
            Entry::Intent { seq: 2, path: "/sys/a".to_owned(), change: Change::Directory };
        assert_eq!(
            json(&directory),
            "{\"intent\":{\"seq\":2,\"path\":\"/sys/a\",\"kind\":\"directory\"}}"
        );
        assert_eq!(json(&Entry::Settled { seq: 2, value: None }), "{\"settled\":{\"seq\":2}}");
        assert_eq!(json(&Entry::Restored { seq: 2 }), "{\"restored\":{\"seq\":2}}");
    }

    #[test]
    fn a_torn_last_line_was_never_acted_upon() {
        let head = line(&header());
        let whole = format!("{head}{}", line(&swappiness()));
        for cut in 0..=whole.len() {
            let journal = parse(&whole[..cut]).unwrap();
            // Without its line end, a line is whole all the same.
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
            "cannot parse j, line 1: it is damaged: it does not have its checksum"
        );
        assert_eq!(
            wrong(&format!("{head}{}", line(&"nonsense"))),
            "cannot parse j, line 2: unknown variant `nonsense`, expected one of `intent`, `set`, \
             `settled`, `restored` at line 1 column 10"
        );
        assert_eq!(
            wrong(&format!("{head}{}", line(&Entry::Restored { seq: 4 }))),
            "cannot parse j, line 2: there is no change 4 to speak of"
        );
        assert_eq!(
            wrong("{\"schema\":\"unjank.journal/9\"}\n"),
            "cannot parse j, line 1: its schema is \"unjank.journal/9\"; this unjank reads \
             \"unjank.journal/2\""
        );
    }

    fn any_entry() -> impl Strategy<Value = Entry> {
        let seq = 1_u64..4;
        let value = ".{0,12}";
        prop_oneof![
            (seq.clone(), ".{0,12}", value, value).prop_map(|(seq, path, before, wanted)| {
                Entry::Intent { seq, path, change: Change::File { before, wanted } }
            }),
            (seq.clone(), ".{0,12}").prop_map(|(seq, path)| Entry::Intent {
                seq,
                path,
                change: Change::Directory
            }),
            (seq.clone(), value).prop_map(|(seq, value)| Entry::Set { seq, value }),
            (seq.clone(), proptest::option::of(value))
                .prop_map(|(seq, value)| Entry::Settled { seq, value }),
            seq.prop_map(|seq| Entry::Restored { seq }),
        ]
    }

    proptest! {
        #[test]
        fn an_entry_survives_its_line(entry in any_entry()) {
            let line = line(&entry);
            prop_assert_eq!(line.matches('\n').count(), 1);
            let lines = checked_lines::read(line.as_bytes());
            prop_assert_eq!(lines.texts.len(), 1);
            let text = lines.texts[0].expect("it is whole");
            prop_assert_eq!(serde_json::from_slice::<Entry>(text).unwrap(), entry);
        }

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
