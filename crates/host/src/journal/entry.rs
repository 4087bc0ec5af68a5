//! The lines of a journal: JSON with a checksum, one entry a line, only ever
//! appended.

use serde::{Deserialize, Serialize};

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
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::checked_lines::{self, line};

    pub(in crate::journal) fn header() -> Header {
        Header {
            schema: SCHEMA.to_owned(),
            pid: 77,
            boot_id: Some("b660de06".to_owned()),
            cgroup_namespace: None,
            root: "/".to_owned(),
            started_at: "2026-11-21T10:15:30Z".to_owned(),
        }
    }

    pub(in crate::journal) fn swappiness() -> Entry {
        Entry::Intent {
            seq: 1,
            path: "/proc/sys/vm/swappiness".to_owned(),
            change: Change::File { before: "60".to_owned(), wanted: "10".to_owned() },
        }
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

    pub(in crate::journal) fn any_entry() -> impl Strategy<Value = Entry> {
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
    }
}
