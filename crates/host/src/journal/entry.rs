//! The lines of a journal: JSON, one entry a line, only ever appended.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::ledger::Ledger;
use crate::error::{Error, Result};

/// The name and major version of the journal's form. A reader refuses others.
pub const SCHEMA: &str = "unjank.journal/1";

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
    /// The length of the whole lines. What follows them is a torn line.
    pub intact: u64,
}

impl Journal {
    /// Reads a journal; `origin` names it in errors. A last line without a
    /// line end is left out: the change it announces was never made.
    ///
    /// # Errors
    /// `Parse` names the first line that no session of this version wrote.
    pub fn parse(origin: &Path, bytes: &[u8]) -> Result<Self> {
        let intact = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let mut lines = bytes[..intact].split_inclusive(|&byte| byte == b'\n').zip(1..);
        let mut journal = Self { header: None, ledger: Ledger::default(), intact: intact as u64 };
        if let Some((line, _)) = lines.next() {
            let header = Header::parse(line).map_err(|what| Error::parse(origin, 1, what))?;
            journal.header = Some(header);
        }
        for (line, number) in lines {
            let wrong = |what: String| Error::parse(origin, number, what);
            let entry: Entry = serde_json::from_slice(line).map_err(|e| wrong(e.to_string()))?;
            journal.ledger.apply(&entry).map_err(wrong)?;
        }
        Ok(journal)
    }
}

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
        if head.schema != SCHEMA {
            return Err(format!("its schema is {:?}; this unjank reads {SCHEMA:?}", head.schema));
        }
        serde_json::from_slice(line).map_err(|e| e.to_string())
    }

    /// Whether the machine has surely been started anew since: both boots are
    /// known, and differ.
    pub fn is_of_another_boot(&self, boot_id: Option<&str>) -> bool {
        matches!((self.boot_id.as_deref(), boot_id), (Some(then), Some(now)) if then != now)
    }
}

/// One line of a journal, with its line end.
pub(super) fn line(entry: &impl Serialize) -> String {
    let mut line = serde_json::to_string(entry).expect("an entry has only string keys");
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn header() -> Header {
        Header {
            schema: SCHEMA.to_owned(),
            pid: 77,
            boot_id: Some("b660de06".to_owned()),
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
        assert_eq!(
            line(&header()),
            "{\"schema\":\"unjank.journal/1\",\"pid\":77,\"boot_id\":\"b660de06\",\"root\":\"/\",\
             \"started_at\":\"2026-11-21T10:15:30Z\"}\n"
        );
        assert_eq!(
            line(&swappiness()),
            "{\"intent\":{\"seq\":1,\"path\":\"/proc/sys/vm/swappiness\",\"kind\":\"file\",\
             \"before\":\"60\",\"wanted\":\"10\"}}\n"
        );
        let directory =
            Entry::Intent { seq: 2, path: "/sys/a".to_owned(), change: Change::Directory };
        assert_eq!(
            line(&directory),
            "{\"intent\":{\"seq\":2,\"path\":\"/sys/a\",\"kind\":\"directory\"}}\n"
        );
        assert_eq!(line(&Entry::Settled { seq: 2, value: None }), "{\"settled\":{\"seq\":2}}\n");
        assert_eq!(line(&Entry::Restored { seq: 2 }), "{\"restored\":{\"seq\":2}}\n");
    }

    #[test]
    fn a_torn_last_line_was_never_acted_upon() {
        let head = line(&header());
        let whole = format!("{head}{}", line(&swappiness()));
        for cut in 0..=whole.len() {
            let journal = parse(&whole[..cut]).unwrap();
            assert_eq!(journal.header.is_some(), cut >= head.len());
            assert_eq!(journal.ledger.held().len(), usize::from(cut == whole.len()));
            assert!(journal.intact <= cut as u64);
        }
    }

    #[test]
    fn a_line_that_no_session_wrote_is_named() {
        let head = line(&header());
        let wrong = |text: &str| parse(text).unwrap_err().to_string();
        assert!(wrong(&format!("{head}nonsense\n{{}}")).starts_with("cannot parse j, line 2: "));
        assert_eq!(
            wrong(&format!("{head}{{\"restored\":{{\"seq\":4}}}}\n")),
            "cannot parse j, line 2: there is no change 4 to speak of"
        );
        assert_eq!(
            wrong("{\"schema\":\"unjank.journal/9\"}\n"),
            "cannot parse j, line 1: its schema is \"unjank.journal/9\"; this unjank reads \
             \"unjank.journal/1\""
        );
    }

    #[test]
    fn another_boot_must_be_known_to_be_another() {
        let then = header();
        assert!(then.is_of_another_boot(Some("another")));
        assert!(!then.is_of_another_boot(Some("b660de06")));
        assert!(!then.is_of_another_boot(None));
        assert!(!Header { boot_id: None, ..then }.is_of_another_boot(Some("another")));
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
            prop_assert_eq!(serde_json::from_str::<Entry>(&line).unwrap(), entry);
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
