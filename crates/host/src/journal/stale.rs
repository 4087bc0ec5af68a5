//! Stale journals, whose sessions are over: finding, putting back, removing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::content::Journal;
use super::couplings::setting;
use super::entry::Header;
use super::file::{Claim, JournalFile};
use super::report::{ChangeReport, RestoreOutcome};
use super::site::Site;
use super::state_dir::StateDir;
use super::undo::{Mode, put_back_all};
use crate::checked_lines;
use crate::error::{Error, Result};
use crate::keeper::KeeperReport;
use crate::root::Root;

/// How long a keeper may take to put everything back. Most knobs need no time;
/// but a block device that changes its scheduler waits for its requests, and a
/// keeper for a CPU.
const KEEPER_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a process may still exist after it has released its lock.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);
/// The pause between two attempts.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// One journal in the state directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FoundJournal {
    /// Path of the journal.
    pub file: PathBuf,
    /// The process that made the changes, if known.
    pub pid: Option<u32>,
    /// Start of that session, RFC 3339 in UTC.
    pub started_at: Option<String>,
    /// Whether its changes were put back.
    #[serde(flatten)]
    pub status: JournalStatus,
    /// The results of its changes, oldest first.
    pub changes: Vec<ChangeReport>,
    /// Damaged lines, counted from 1. Their content is unknown, so the journal
    /// is kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<usize>,
}

/// The status of a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "standing", rename_all = "snake_case")]
pub enum JournalStatus {
    /// Its session lives, and puts its changes back itself.
    Live,
    /// Its session is over.
    Stale,
    /// Its session is over, and left its changes in place on purpose.
    Kept {
        /// The command that made them, and takes them back.
        by: String,
    },
    /// It is about another tree than the given one.
    Elsewhere {
        /// Path of the tree that the journal is about.
        root: String,
    },
    /// It cannot be read, so nothing was done.
    Unreadable {
        /// Why it cannot be read.
        reason: String,
    },
}

impl JournalStatus {
    /// Whether the changes are meant to be there.
    pub(super) fn is_intended(&self) -> bool {
        matches!(self, Self::Live | Self::Kept { .. })
    }
}

impl FoundJournal {
    /// Whether something is, or may be, still changed and no session is left to
    /// put it back.
    pub fn is_unresolved(&self) -> bool {
        matches!(self.status, JournalStatus::Unreadable { .. })
            || !self.damaged.is_empty()
            || self.changes.iter().any(|change| change.outcome.is_failure())
    }

    fn new(state: &StateDir, name: &str, header: Option<Header>, status: JournalStatus) -> Self {
        let (pid, started_at) = header.map(|header| (header.pid, header.started_at)).unzip();
        let file = state.journal_path(name);
        Self { file, pid, started_at, status, changes: Vec::new(), damaged: Vec::new() }
    }

    fn unreadable(state: &StateDir, name: &str, error: &Error) -> Self {
        Self::new(state, name, None, JournalStatus::Unreadable { reason: error.to_string() })
    }
}

/// Puts back the changes on the machine below `root` that are in stale journals
/// in `state_dir`, and removes the journals. With [`Mode::DryRun`], only
/// reports what it would do. Waits for keepers that are at work. It is safe to
/// call at any time, also concurrently.
///
/// # Errors
/// The state directory exists but cannot be used. Failures of single journals
/// and changes are part of the result.
pub fn restore(root: &Root, state_dir: &Path, mode: Mode) -> Result<Vec<FoundJournal>> {
    match StateDir::open_if_there(state_dir)? {
        None => Ok(Vec::new()),
        Some(state) => {
            let site = Site::of(root)?;
            let _lock = state.lock()?;
            clear_all(&site, &state, mode)
        }
    }
}

/// Waits for the end of the session that holds `journal`, and puts back what it
/// left changed: the work of a keeper.
pub(crate) fn wait_and_restore(
    root: &Root,
    state_dir: &Path,
    journal: &str,
) -> Result<KeeperReport> {
    let site = Site::of(root)?;
    let Some(state) = StateDir::open_if_there(state_dir)? else {
        return Ok(KeeperReport::default());
    };
    let Claim::Ours(file, bytes) = JournalFile::wait_for(&state, journal)? else {
        return Ok(KeeperReport::default());
    };
    let found = clear(&site, &state, file, &bytes, Mode::Act, None);
    let left = found.is_unresolved().then(|| found.file.clone());
    let is_damaged = !found.damaged.is_empty();
    let outcomes = found.changes.into_iter().map(|change| change.outcome).collect();
    Ok(KeeperReport { pid: found.pid, outcomes, left, is_damaged })
}

/// [`restore`] for a caller that has the lock of the state directory.
pub(super) fn clear_all(site: &Site, state: &StateDir, mode: Mode) -> Result<Vec<FoundJournal>> {
    let began = Instant::now();
    let clear_one = |name: String| {
        let found = match claim(state, &name, began) {
            Ok(Claim::Gone) => return None,
            Ok(Claim::Held(bytes)) => {
                FoundJournal::new(state, &name, owner(&bytes), JournalStatus::Live)
            }
            Ok(Claim::Ours(journal, bytes)) => clear(site, state, journal, &bytes, mode, None),
            Err(error) => FoundJournal::unreadable(state, &name, &error),
        };
        Some(found)
    };
    Ok(state.journals()?.into_iter().filter_map(clear_one).collect())
}

/// Claims a journal. If only a keeper holds it, waits for it, but not long after `began`.
pub(super) fn claim(state: &StateDir, name: &str, began: Instant) -> Result<Claim> {
    loop {
        match JournalFile::claim(state, name)? {
            Claim::Held(bytes)
                if owner(&bytes).is_some_and(|header| !is_alive(header.pid))
                    && began.elapsed() < KEEPER_TIMEOUT =>
            {
                thread::sleep(POLL_INTERVAL);
            }
            claim => return Ok(claim),
        }
    }
}

/// Puts back the changes in one journal, and removes it if nothing is left. Changes
/// that a command has kept are put back only for that command, `undone`.
pub(super) fn clear(
    site: &Site,
    state: &StateDir,
    mut file: JournalFile,
    bytes: &[u8],
    mode: Mode,
    undone: Option<&str>,
) -> FoundJournal {
    let name = file.name().to_owned();
    let journal = match Journal::parse(&state.journal_path(&name), bytes) {
        Ok(journal) => journal,
        Err(error) => return damaged(site, state, &name, bytes, &error, mode),
    };
    let header = journal.header.clone();
    if let Some(header) = &header
        && header.root != site.root_name()
    {
        let root = header.root.clone();
        return FoundJournal::new(
            state,
            &name,
            Some(header.clone()),
            JournalStatus::Elsewhere { root },
        );
    }
    let site = &header.as_ref().map_or_else(|| site.clone(), |header| site.seen_from(header));
    let held = journal.ledger.held();
    let all = |outcome: &RestoreOutcome| -> Vec<ChangeReport> {
        held.iter().map(|held| ChangeReport::new(held, None, outcome.clone())).collect()
    };
    let mut damaged = Vec::new();
    let another_boot = is_of_another_boot(site, header.as_ref());
    if let Some(by) = journal.ledger.kept_by().filter(|by| Some(*by) != undone)
        && another_boot != Ok(true)
    {
        let status = JournalStatus::Kept { by: by.to_owned() };
        return FoundJournal::new(state, &name, header, status);
    }
    let changes = if another_boot == Ok(true) {
        all(&RestoreOutcome::ResetByBoot)
    } else if let Err(why) = another_boot {
        damaged.clone_from(&journal.damaged);
        all(&RestoreOutcome::hidden(&why))
    } else {
        damaged.clone_from(&journal.damaged);
        if mode == Mode::Act {
            file.cut_after(&journal, bytes);
        }
        put_back_all(site, held, mode, |progress, held| {
            // If this cannot be written, the next reader finds it already back.
            let _best_effort = match mode {
                Mode::Act => file.note(&[progress.entry(held)]),
                Mode::DryRun => Ok(()),
            };
        })
    };
    let mut found = FoundJournal::new(state, &name, header, JournalStatus::Stale);
    (found.changes, found.damaged) = (changes, damaged);
    if mode == Mode::Act && !found.is_unresolved() {
        forget(state, &name, &mut found);
    }
    found
}

/// Handles a journal that cannot be parsed. It is kept, unless the machine has
/// been booted since, which resets everything.
fn damaged(
    site: &Site,
    state: &StateDir,
    name: &str,
    bytes: &[u8],
    error: &Error,
    mode: Mode,
) -> FoundJournal {
    let header = owner(bytes);
    let is_of_this_tree = header.as_ref().is_none_or(|header| header.root == site.root_name());
    if !is_of_this_tree || is_of_another_boot(site, header.as_ref()) != Ok(true) {
        let reason = error.to_string();
        return FoundJournal::new(state, name, header, JournalStatus::Unreadable { reason });
    }
    let mut found = FoundJournal::new(state, name, header, JournalStatus::Stale);
    if mode == Mode::Act {
        forget(state, name, &mut found);
    }
    found
}

fn is_of_another_boot(site: &Site, header: Option<&Header>) -> Result<bool, String> {
    header.map_or(Ok(false), |header| site.is_another_boot(header.boot_id.as_deref()))
}

fn forget(state: &StateDir, name: &str, found: &mut FoundJournal) {
    if let Err(error) = state.remove_journal(name) {
        found.status = JournalStatus::Unreadable { reason: error.to_string() };
    }
}

/// The header of a journal, even if the rest cannot be parsed.
fn owner(bytes: &[u8]) -> Option<Header> {
    // A file may have megabytes, and only the first line is needed.
    let first = bytes.split_inclusive(|&byte| byte == b'\n').next().unwrap_or_default();
    let text = checked_lines::read(first).texts.into_iter().next()?.ok()?;
    Header::parse(text).ok()
}

/// Makes sure that no other session holds the setting of one of `paths`: puts back
/// stale journals that do, and waits for keepers that are at work.
///
/// # Errors
/// `Busy` names the process that holds a path, or the journal that cannot be
/// put back.
pub(super) fn free_paths(site: &Site, state: &StateDir, own: &str, paths: &[&str]) -> Result<()> {
    let began = Instant::now();
    loop {
        let Some(conflict) = first_conflict(site, state, own, paths)? else { return Ok(()) };
        // The keeper of a dead session holds the journal while it puts
        // everything back.
        let timeout = match conflict.pid {
            Some(pid) if !is_alive(pid) => KEEPER_TIMEOUT,
            Some(_) => EXIT_TIMEOUT,
            None => Duration::ZERO,
        };
        if began.elapsed() >= timeout {
            return Err(Error::Busy(conflict.reason));
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Why one of `paths` is not free, if another journal than `own` holds it.
pub(super) fn holder(
    site: &Site,
    state: &StateDir,
    own: &str,
    paths: &[&str],
) -> Result<Option<String>> {
    Ok(first_conflict(site, state, own, paths)?.map(|conflict| conflict.reason))
}

/// Another journal that holds a wanted path.
struct Conflict {
    /// The process that holds the path, if waiting for it may help.
    pid: Option<u32>,
    reason: String,
}

fn first_conflict(
    site: &Site,
    state: &StateDir,
    own: &str,
    paths: &[&str],
) -> Result<Option<Conflict>> {
    let wanted: BTreeSet<&str> = paths.iter().map(|path| setting(path)).collect();
    let is_wanted = |path: &str| wanted.contains(setting(path));
    for name in state.journals()?.into_iter().filter(|name| name != own) {
        let conflict = match JournalFile::claim(state, &name) {
            Ok(Claim::Held(bytes)) => {
                let Ok(journal) = Journal::parse(&state.journal_path(&name), &bytes) else {
                    continue;
                };
                let Some(header) = journal.header.filter(|h| h.root == site.root_name()) else {
                    continue;
                };
                let held = journal.ledger.held().iter();
                held.map(|held| held.path.as_str()).find(|path| is_wanted(path)).map(|path| {
                    let pid = header.pid;
                    let reason = format!("{path} is held by another unjank, process {pid}");
                    Conflict { pid: Some(pid), reason }
                })
            }
            Ok(Claim::Ours(journal, bytes)) => {
                let found = clear(site, state, journal, &bytes, Mode::Act, None);
                let failed = found.changes.iter().filter(|change| change.outcome.is_failure());
                failed.map(|change| &change.path).find(|path| is_wanted(path)).map(|path| {
                    let journal = found.file.display();
                    let reason = format!(
                        "an earlier session left {path} changed, and it cannot be put back; \
                         `unjank restore` gives the reason; remove {journal} to give it up"
                    );
                    Conflict { pid: None, reason }
                })
            }
            // Unreadable journals are reported when a session begins.
            Ok(Claim::Gone) | Err(_) => None,
        };
        if conflict.is_some() {
            return Ok(conflict);
        }
    }
    Ok(None)
}

fn is_alive(pid: u32) -> bool {
    i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw)
        .is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}
