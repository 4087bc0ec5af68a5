//! The changes that a session holds: the sum of its journal's lines.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::entry::{Change, Entry};

/// The values of a directory in reports.
pub(super) const ABSENT: &str = "not there";
pub(super) const PRESENT: &str = "there";
/// The values of a zram device in reports.
pub(super) const REMOVED: &str = "not added";
pub(super) const ADDED: &str = "added";
/// The values of a swap area in reports.
pub(super) const OFF: &str = "off";
pub(super) const ON: &str = "on";

/// What was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// A file of the kernel, with a value.
    File,
    /// A directory that the session made.
    Directory,
    /// A swap area that the session turned on.
    SwapArea,
    /// A zram device that the session added.
    Zram,
}

/// A change that is not put back yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Its number in the journal.
    pub seq: u64,
    /// Its path on the machine.
    pub path: String,
    /// File, directory or swap area.
    pub kind: ChangeKind,
    /// The value to put back.
    pub before: String,
    /// The value last written, or the one read back after that.
    pub during: String,
    /// Every value that this session wrote or read back after writing. While
    /// the file reads one of them, no other program has changed it.
    pub ours: BTreeSet<String>,
    /// Whether the last write is known to have been made and was read back.
    pub settled: bool,
    /// Whether a damaged line follows, which may have recorded more about it.
    pub doubtful: bool,
    /// Whether it is held only because the kernel changes it with another knob.
    pub dependant: bool,
}

/// All changes that a session holds, in the order in which they were made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    held: Vec<Held>,
    last_seq: u64,
    kept_by: Option<String>,
}

impl Ledger {
    /// The command that left the changes in place on purpose.
    pub fn kept_by(&self) -> Option<&str> {
        self.kept_by.as_deref()
    }

    /// The changes that are not put back, oldest first.
    pub fn held(&self) -> &[Held] {
        &self.held
    }

    /// The held change with the number `seq`.
    pub fn get(&self, seq: u64) -> Option<&Held> {
        self.held.iter().find(|held| held.seq == seq)
    }

    /// The held change of `path`.
    pub fn at(&self, path: &str) -> Option<&Held> {
        self.held.iter().rfind(|held| held.path == path)
    }

    /// The number of the next change.
    pub fn next_seq(&self) -> u64 {
        self.last_seq.saturating_add(1)
    }

    /// Applies one entry.
    ///
    /// # Errors
    /// Why the entry does not fit the entries before it.
    pub fn apply(&mut self, entry: &Entry) -> Result<(), String> {
        match entry {
            Entry::Intent { seq, path, change } => self.intend(*seq, path, change),
            Entry::Set { seq, value } => {
                let held = self.find(*seq)?;
                held.settled = false;
                held.during.clone_from(value);
                held.ours.insert(value.clone());
                Ok(())
            }
            Entry::Settled { seq, value } => {
                let held = self.find(*seq)?;
                held.settled = true;
                if let Some(value) = value {
                    held.during.clone_from(value);
                    held.ours.insert(value.clone());
                }
                Ok(())
            }
            Entry::Restored { seq } => {
                self.find(*seq)?;
                self.held.retain(|held| held.seq != *seq);
                Ok(())
            }
            Entry::Kept { by } => {
                self.kept_by = Some(by.clone());
                Ok(())
            }
        }
    }

    /// Notes that a held file has a value that is already in the journal.
    pub(super) fn note_value(&mut self, seq: u64, value: &str) {
        if let Ok(held) = self.find(seq) {
            value.clone_into(&mut held.during);
        }
    }

    /// Marks all changes so far as doubtful: an unreadable line may be about any
    /// of them.
    pub(super) fn doubt(&mut self) {
        self.held.iter_mut().for_each(|held| held.doubtful = true);
    }

    fn intend(&mut self, seq: u64, path: &str, change: &Change) -> Result<(), String> {
        if seq <= self.last_seq {
            return Err(format!(
                "change {seq} follows change {}; numbers must ascend",
                self.last_seq
            ));
        }
        self.last_seq = seq;
        let dependant = matches!(change, Change::File { dependant: true, .. });
        let (kind, before, during) = match change {
            Change::File { before, wanted, .. } => {
                (ChangeKind::File, before.as_str(), wanted.as_str())
            }
            Change::Directory => (ChangeKind::Directory, ABSENT, PRESENT),
            Change::SwapArea => (ChangeKind::SwapArea, OFF, ON),
            Change::Zram => (ChangeKind::Zram, REMOVED, ADDED),
        };
        self.held.push(Held {
            seq,
            path: path.to_owned(),
            kind,
            before: before.to_owned(),
            during: during.to_owned(),
            ours: BTreeSet::from([during.to_owned()]),
            settled: false,
            doubtful: false,
            dependant,
        });
        Ok(())
    }

    fn find(&mut self, seq: u64) -> Result<&mut Held, String> {
        self.held
            .iter_mut()
            .find(|held| held.seq == seq)
            .ok_or_else(|| format!("change {seq} is not held"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intent(seq: u64, before: &str, wanted: &str) -> Entry {
        Entry::Intent {
            seq,
            path: "/proc/sys/vm/swappiness".to_owned(),
            change: Change::File {
                before: before.to_owned(),
                wanted: wanted.to_owned(),
                dependant: false,
            },
        }
    }

    fn sum(entries: &[Entry]) -> Result<Ledger, String> {
        let mut ledger = Ledger::default();
        entries.iter().try_for_each(|entry| ledger.apply(entry))?;
        Ok(ledger)
    }

    #[test]
    fn every_announced_value_and_every_reading_is_ours() {
        let ledger = sum(&[
            intent(1, "60", "010"),
            Entry::Settled { seq: 1, value: Some("10".to_owned()) },
            Entry::Set { seq: 1, value: "20".to_owned() },
        ])
        .unwrap();
        let held = ledger.get(1).unwrap();
        assert_eq!(held.ours, ["010", "10", "20"].map(str::to_owned).into());
        assert_eq!((held.before.as_str(), held.during.as_str()), ("60", "20"));
        assert!(!held.settled, "the last write has not been read back");
    }

    #[test]
    fn a_restored_change_is_not_held() {
        let ledger =
            sum(&[intent(1, "60", "10"), Entry::Restored { seq: 1 }, intent(2, "60", "5")])
                .unwrap();
        assert_eq!(ledger.held().len(), 1);
        assert_eq!(ledger.at("/proc/sys/vm/swappiness").unwrap().seq, 2);
        assert_eq!(ledger.next_seq(), 3);
    }

    #[test]
    fn entries_must_follow_from_those_before() {
        assert!(sum(&[Entry::Restored { seq: 1 }]).is_err());
        assert!(sum(&[intent(1, "a", "b"), intent(1, "b", "c")]).is_err());
        assert!(sum(&[intent(0, "a", "b")]).is_err());
        let restored = Entry::Restored { seq: 1 };
        assert!(sum(&[intent(1, "a", "b"), restored.clone(), restored]).is_err());
    }
}
