//! The contents of a ledger as a whole: pure.

use std::collections::BTreeMap;
use std::path::Path;

use super::entry::{Entry, FORMER_SCHEMA, Header, Intent, SCHEMA, ThreadState};
use crate::checked_lines::{self, Damaged};
use crate::error::{Error, Result};
use crate::journal::DAMAGED;
use crate::sched::{RunLimit, ThreadId};
use crate::threads::Began;

/// A thread that is changed and not put back yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HeldThread {
    /// Its first change.
    pub(super) intent: Intent,
    /// Every state that it was given, the last one last: while it has one of them, no other
    /// program has changed it.
    pub(super) ours: Vec<ThreadState>,
    /// Whether the last change is known to have been made.
    pub(super) settled: bool,
    /// Whether a damaged line follows, which may have recorded more about it.
    pub(super) doubtful: bool,
}

/// A process whose limit is changed and not put back yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HeldLimit {
    pub(super) process: u32,
    pub(super) began: Began,
    pub(super) before: RunLimit,
    /// As for a thread.
    pub(super) ours: Vec<RunLimit>,
    pub(super) at_ns: Option<u64>,
    /// As for a thread.
    pub(super) doubtful: bool,
}

impl HeldThread {
    /// The last state that it was given.
    pub(super) fn during(&self) -> ThreadState {
        self.ours.last().copied().unwrap_or(self.intent.wanted)
    }
}

impl HeldLimit {
    /// The last limit that it was given.
    pub(super) fn during(&self) -> RunLimit {
        self.ours.last().copied().unwrap_or(self.before)
    }
}

/// Adds `given` to the values that something was given.
fn give<T: PartialEq>(ours: &mut Vec<T>, given: T) {
    ours.retain(|earlier| *earlier != given);
    ours.push(given);
}

/// The header of a ledger and the changes that its session holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Contents {
    pub(super) header: Option<Header>,
    pub(super) threads: BTreeMap<ThreadId, HeldThread>,
    pub(super) limits: Vec<HeldLimit>,
    /// Whether the session has ended normally, with changes that stay.
    pub(super) kept: bool,
    /// Damaged lines, counted from 1.
    pub(super) damaged: Vec<usize>,
    /// The length in bytes to keep. A torn line may follow.
    pub(super) intact: u64,
}

impl Contents {
    /// Parses a ledger; `origin` names it in errors. A last line that was cut
    /// off is skipped: the change that it announces was never made.
    pub(super) fn parse(origin: &Path, bytes: &[u8]) -> Result<Self> {
        let lines = checked_lines::read(bytes);
        let mut contents = Self { intact: lines.intact, ..Self::default() };
        for (text, number) in lines.texts.into_iter().zip(1..) {
            let wrong = |what: String| Error::parse(origin, number, what);
            match text {
                Ok(line) if number == 1 => {
                    let header: Header =
                        serde_json::from_slice(line).map_err(|error| wrong(error.to_string()))?;
                    if ![SCHEMA, FORMER_SCHEMA].contains(&header.schema.as_str()) {
                        let schema = header.schema;
                        return Err(wrong(format!("its schema is {schema:?}, not {SCHEMA:?}")));
                    }
                    contents.header = Some(header);
                }
                Err(Damaged) if number == 1 => return Err(wrong(DAMAGED.to_owned())),
                Ok(line) => {
                    let entry =
                        serde_json::from_slice(line).map_err(|error| wrong(error.to_string()))?;
                    let applied = contents.apply(&entry);
                    // A damaged line may have announced its thread.
                    if contents.damaged.is_empty() {
                        applied.map_err(wrong)?;
                    }
                }
                Err(Damaged) => {
                    contents.damaged.push(number);
                    contents.threads.values_mut().for_each(|held| held.doubtful = true);
                    contents.limits.iter_mut().for_each(|held| held.doubtful = true);
                }
            }
        }
        Ok(contents)
    }

    /// Whether its session was cut off: its changes are tied to it, or it ended
    /// before it recorded that they stay. If a damaged line may have recorded
    /// that, the session counts as ended normally, and its changes stay.
    pub(super) fn was_cut_off(&self) -> bool {
        let Some(header) = &self.header else { return true };
        let unfinished = || {
            self.threads.values().any(|held| !held.settled) || header.schema == SCHEMA && !self.kept
        };
        header.tied || self.damaged.is_empty() && unfinished()
    }

    /// Applies one entry.
    ///
    /// # Errors
    /// Why the entry does not fit the entries before it.
    pub(super) fn apply(&mut self, entry: &Entry) -> Result<(), String> {
        match entry {
            Entry::Intent(intent) => self.intend(intent),
            Entry::Settled { thread, state } => {
                let held = self.find(*thread)?;
                held.settled = true;
                if let Some(state) = state {
                    give(&mut held.ours, *state);
                }
            }
            Entry::Restored { thread } => {
                self.find(*thread)?;
                self.threads.remove(thread);
            }
            &Entry::Limit { process, began, before, during, at_ns } => {
                let ours = vec![during];
                let limit = HeldLimit { process, began, before, ours, at_ns, doubtful: false };
                match self.limits.iter_mut().find(|held| held.process == process) {
                    // A second change of the same process keeps the first value.
                    Some(held) if held.began == began => give(&mut held.ours, during),
                    Some(held) => *held = limit,
                    None => self.limits.push(limit),
                }
            }
            Entry::Kept => self.kept = true,
            Entry::LimitRestored { process } => {
                self.limits.retain(|held| held.process != *process);
            }
        }
        Ok(())
    }

    /// Entries for the changes that are held, without those that are done with.
    pub(super) fn entries(&self) -> Vec<Entry> {
        let mut entries = Vec::new();
        for held in &self.limits {
            let &HeldLimit { process, began, before, at_ns, .. } = held;
            let given = |&during| Entry::Limit { process, began, before, during, at_ns };
            entries.extend(held.ours.iter().map(given));
        }
        for (&thread, held) in &self.threads {
            let given = |&wanted| Entry::Intent(Intent { wanted, ..held.intent.clone() });
            entries.extend(held.ours.iter().map(given));
            if held.settled {
                entries.push(Entry::Settled { thread, state: None });
            }
        }
        entries
    }

    /// An entry for each held change, which says that it is put back.
    pub(super) fn as_restored(&self) -> Vec<Entry> {
        let threads = self.threads.keys().map(|&thread| Entry::Restored { thread });
        let limits = self.limits.iter().map(|held| Entry::LimitRestored { process: held.process });
        threads.chain(limits).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.threads.is_empty() && self.limits.is_empty()
    }

    /// The processes of the held changes.
    pub(super) fn processes(&self) -> impl Iterator<Item = u32> + '_ {
        let threads = self.threads.values().map(|held| held.intent.process);
        threads.chain(self.limits.iter().map(|limit| limit.process))
    }

    /// Whether it has the limit of `process`.
    pub(super) fn holds_limit_of(&self, process: u32) -> bool {
        self.limits.iter().any(|limit| limit.process == process)
    }

    /// Whether it has threads of `process`.
    pub(super) fn is_about(&self, process: u32) -> bool {
        let named = self.header.as_ref().is_some_and(|header| header.process == Some(process));
        named || self.processes().any(|held| held == process)
    }

    /// A second change of the same thread keeps the first state. A later thread
    /// with the same number replaces it.
    fn intend(&mut self, intent: &Intent) {
        match self.threads.get_mut(&intent.thread) {
            Some(held) if held.intent.began == intent.began => {
                give(&mut held.ours, intent.wanted);
                held.settled = false;
            }
            _ => {
                let held = HeldThread {
                    intent: intent.clone(),
                    ours: vec![intent.wanted],
                    settled: false,
                    doubtful: false,
                };
                self.threads.insert(intent.thread, held);
            }
        }
    }

    fn find(&mut self, thread: ThreadId) -> Result<&mut HeldThread, String> {
        self.threads.get_mut(&thread).ok_or_else(|| format!("{thread} was not changed before"))
    }
}
