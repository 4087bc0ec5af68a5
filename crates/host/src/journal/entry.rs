//! The lines of a journal: JSON with a checksum, one entry per line, append-only.

use serde::{Deserialize, Serialize};

/// The name and major version of the journal's form. A reader refuses others.
pub const SCHEMA: &str = "unjank.journal/2";
/// The previous form, whose lines have no checksum. It is still read.
const UNCHECKED_SCHEMA: &str = "unjank.journal/1";

/// The largest journal in bytes. A session stops announcing changes well below
/// this length, so that there is always room to record how they ended.
pub const LARGEST_JOURNAL: u64 = 8 << 20;

/// The first line: the session and its machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The process that made the changes.
    pub pid: u32,
    /// `/proc/sys/kernel/random/boot_id` at that time, if it was readable.
    pub boot_id: Option<String>,
    /// The cgroup namespace of its paths, as in `/proc/self/ns/cgroup`, if it
    /// was readable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup_namespace: Option<String>,
    /// The network namespace of its paths, as in `/proc/self/ns/net`, if it was
    /// readable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_namespace: Option<String>,
    /// The directory that stands for the machine: `/` for the running one.
    pub root: String,
    /// Start of the session, RFC 3339 in UTC.
    pub started_at: String,
}

/// Any later line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// A first change is about to be made. The entry is on the disk before the
    /// change.
    Intent {
        /// Number of the change in later entries; numbers ascend.
        seq: u64,
        /// Its path on the machine, without symbolic links.
        path: String,
        /// Kind of the change, with its values.
        #[serde(flatten)]
        change: Change,
    },
    /// A held file is about to get another value.
    Set {
        /// Number of the change.
        seq: u64,
        /// The value about to be written.
        value: String,
    },
    /// The change is made.
    Settled {
        /// Number of the change.
        seq: u64,
        /// What the file reads now, which may differ from what was written:
        /// kernels round, clamp and spell values differently. Absent for
        /// directories, swap areas and zram devices.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<String>,
    },
    /// The change is undone, or must not be undone any more.
    Restored {
        /// Number of the change.
        seq: u64,
    },
    /// All changes stay until the command that made them takes them back.
    Kept {
        /// That command: `swap tune`.
        by: String,
    },
}

/// The kinds of change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Change {
    /// A file of the kernel gets another value.
    File {
        /// The present value, which is put back.
        before: String,
        /// The value about to be written.
        wanted: String,
        /// Whether the kernel changes it with another knob, and no value is wanted.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        dependant: bool,
    },
    /// A directory is made.
    Directory,
    /// A loop device is turned on as swap area.
    SwapArea,
    /// A zram device is set up.
    Zram,
}

impl Header {
    /// Parses the first line of a journal.
    ///
    /// # Errors
    /// The reason why it is not one.
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
            network_namespace: None,
            root: "/".to_owned(),
            started_at: "2026-11-21T10:15:30Z".to_owned(),
        }
    }

    pub(in crate::journal) fn swappiness() -> Entry {
        Entry::Intent {
            seq: 1,
            path: "/proc/sys/vm/swappiness".to_owned(),
            change: Change::File {
                before: "60".to_owned(),
                wanted: "10".to_owned(),
                dependant: false,
            },
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
        let change =
            Change::File { before: "1".to_owned(), wanted: "1".to_owned(), dependant: true };
        assert_eq!(
            json(&Entry::Intent { seq: 2, path: "/sys/a".to_owned(), change }),
            "{\"intent\":{\"seq\":2,\"path\":\"/sys/a\",\"kind\":\"file\",\"before\":\"1\",\
             \"wanted\":\"1\",\"dependant\":true}}"
        );
        let directory =
            Entry::Intent { seq: 2, path: "/sys/a".to_owned(), change: Change::Directory };
        assert_eq!(
            json(&directory),
            "{\"intent\":{\"seq\":2,\"path\":\"/sys/a\",\"kind\":\"directory\"}}"
        );
        assert_eq!(json(&Entry::Settled { seq: 2, value: None }), "{\"settled\":{\"seq\":2}}");
        assert_eq!(json(&Entry::Restored { seq: 2 }), "{\"restored\":{\"seq\":2}}");
        let kept = Entry::Kept { by: "swap tune".to_owned() };
        assert_eq!(json(&kept), "{\"kept\":{\"by\":\"swap tune\"}}");
    }

    pub(in crate::journal) fn any_entry() -> impl Strategy<Value = Entry> {
        let seq = 1_u64..4;
        let value = ".{0,12}";
        prop_oneof![
            (seq.clone(), ".{0,12}", value, value, any::<bool>()).prop_map(
                |(seq, path, before, wanted, dependant)| {
                    let change = Change::File { before, wanted, dependant };
                    Entry::Intent { seq, path, change }
                }
            ),
            (seq.clone(), ".{0,12}").prop_map(|(seq, path)| Entry::Intent {
                seq,
                path,
                change: Change::Directory
            }),
            (seq.clone(), value).prop_map(|(seq, value)| Entry::Set { seq, value }),
            (seq.clone(), proptest::option::of(value))
                .prop_map(|(seq, value)| Entry::Settled { seq, value }),
            seq.prop_map(|seq| Entry::Restored { seq }),
            value.prop_map(|by| Entry::Kept { by }),
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
