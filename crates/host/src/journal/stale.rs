//! Journals whose session is over: found, put back, cleared.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::content::Journal;
use super::entry::{Entry, Header};
use super::file::{Claim, JournalFile};
use super::report::{ChangeReport, Outcome};
use super::site::Site;
use super::state_dir::StateDir;
use super::undo::{Mode, put_back_all};
use crate::checked_lines;
use crate::error::{Error, Result};
use crate::keeper::Kept;
use crate::root::Root;

/// How long a keeper may take to put things back. Most knobs take no time at
/// all; a block device that changes its scheduler waits for its requests, and a keeper for a CPU.
const A_KEEPERS_WORK: Duration = Duration::from_secs(60);
/// How long a process may be seen alive that has let go of its lock.
const A_DEATH: Duration = Duration::from_secs(1);
/// Between two looks.
const A_MOMENT: Duration = Duration::from_millis(5);

/// One journal in the state directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FoundJournal {
    /// Its file.
    pub file: PathBuf,
    /// The process whose changes it holds, where that is known.
    pub pid: Option<u32>,
    /// When that session began, RFC 3339.
    pub started_at: Option<String>,
    /// Whether it was ours to act upon.
    #[serde(flatten)]
    pub standing: Standing,
    /// What became of its changes, oldest first.
    pub changes: Vec<ChangeReport>,
    /// Lines that are damaged, counted from 1. What they said is not known, so
    /// the journal is kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<usize>,
}

/// Whether a journal is somebody's, ours to act upon, or neither.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "standing", rename_all = "snake_case")]
pub enum Standing {
    /// Its session lives, and puts its changes back itself.
    Live,
    /// Its session is over.
    Stale,
    /// It speaks of another tree than the one asked for.
    Elsewhere {
        /// That tree.
        root: String,
    },
    /// It cannot be read, so nothing was done.
    Unreadable {
        /// Why.
        reason: String,
    },
}

impl FoundJournal {
    /// Whether something is still changed, or may be, that nobody sees to.
    pub fn is_unresolved(&self) -> bool {
        matches!(self.standing, Standing::Unreadable { .. })
            || !self.damaged.is_empty()
            || self.changes.iter().any(|change| change.outcome.is_failure())
    }

    fn new(state: &StateDir, name: &str, header: Option<Header>, standing: Standing) -> Self {
        let (pid, started_at) = header.map(|header| (header.pid, header.started_at)).unzip();
        let file = state.journal_path(name);
        Self { file, pid, started_at, standing, changes: Vec::new(), damaged: Vec::new() }
    }

    fn unreadable(state: &StateDir, name: &str, error: &Error) -> Self {
        Self::new(state, name, None, Standing::Unreadable { reason: error.to_string() })
    }
}

/// Puts back what sessions that are over have left changed on the machine
/// below `root`, as their journals in `state_dir` tell, and clears them. With
/// [`Mode::DryRun`], only says what it would do. A keeper that is at work is
/// waited for. Harmless to call at any time, from several places at once.
///
/// # Errors
/// The state directory is there and cannot be used. What goes wrong with one
/// journal or one change is told where it stands in the result.
pub fn restore(root: &Root, state_dir: &Path, mode: Mode) -> Result<Vec<FoundJournal>> {
    match StateDir::open_if_there(state_dir)? {
        None => Ok(Vec::new()),
        Some(state) => {
            let site = Site::of(root)?;
            let _nobody_else = state.lock()?;
            clear_all(&site, &state, mode)
        }
    }
}

/// Waits for the end of the session that holds `journal`, and puts back what it
/// left: the work of its keeper.
pub(crate) fn see_to(root: &Root, state_dir: &Path, journal: &str) -> Result<Kept> {
    let site = Site::of(root)?;
    let Some(state) = StateDir::open_if_there(state_dir)? else { return Ok(Kept::default()) };
    let Claim::Ours(file, bytes) = JournalFile::wait_for(&state, journal)? else {
        return Ok(Kept::default());
    };
    let found = clear(&site, &state, file, &bytes, Mode::Act);
    let left = found.is_unresolved().then(|| found.file.clone());
    let is_damaged = !found.damaged.is_empty();
    let outcomes = found.changes.into_iter().map(|change| change.outcome).collect();
    Ok(Kept { pid: found.pid, outcomes, left, is_damaged })
}

/// [`restore`] for a caller that has the lock of the state directory.
pub(super) fn clear_all(site: &Site, state: &StateDir, mode: Mode) -> Result<Vec<FoundJournal>> {
    let began = Instant::now();
    let visit = |name: String| {
        let mut claim = JournalFile::claim(state, &name);
        while let Ok(Claim::Held(bytes)) = &claim
            && owner(bytes).is_some_and(|header| !is_alive(header.pid))
            && began.elapsed() < A_KEEPERS_WORK
        {
            thread::sleep(A_MOMENT);
            claim = JournalFile::claim(state, &name);
        }
        let found = match claim {
            Ok(Claim::Gone) => return None,
            Ok(Claim::Held(bytes)) => {
                FoundJournal::new(state, &name, owner(&bytes), Standing::Live)
            }
            Ok(Claim::Ours(journal, bytes)) => clear(site, state, journal, &bytes, mode),
            Err(error) => FoundJournal::unreadable(state, &name, &error),
        };
        Some(found)
    };
    Ok(state.journals()?.into_iter().filter_map(visit).collect())
}

/// Puts back what one journal tells, and clears it if nothing is left to do.
pub(super) fn clear(
    site: &Site,
    state: &StateDir,
    mut file: JournalFile,
    bytes: &[u8],
    mode: Mode,
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
        return FoundJournal::new(state, &name, Some(header.clone()), Standing::Elsewhere { root });
    }
    let site = &site.for_groups_of(header.as_ref().and_then(|h| h.cgroup_namespace.as_deref()));
    let held = journal.ledger.held();
    let all = |outcome: &Outcome| -> Vec<ChangeReport> {
        held.iter().map(|held| ChangeReport::new(held, None, outcome.clone())).collect()
    };
    let mut damaged = Vec::new();
    let another_boot = is_of_another_boot(site, header.as_ref());
    let changes = if another_boot == Ok(true) {
        all(&Outcome::ResetByBoot)
    } else if let Err(why) = another_boot {
        damaged.clone_from(&journal.damaged);
        all(&Outcome::hidden(&why))
    } else {
        damaged.clone_from(&journal.damaged);
        if mode == Mode::Act {
            file.cut_after(&journal, bytes);
        }
        put_back_all(site, held, mode, |held| {
            // If this cannot be written, the next one finds it back already.
            let _best_effort = match mode {
                Mode::Act => file.note(&[Entry::Restored { seq: held.seq }]),
                Mode::DryRun => Ok(()),
            };
        })
    };
    let mut found = FoundJournal::new(state, &name, header, Standing::Stale);
    (found.changes, found.damaged) = (changes, damaged);
    if mode == Mode::Act && !found.is_unresolved() {
        forget(state, &name, &mut found);
    }
    found
}

/// A journal that cannot be read is kept, unless the machine was started anew
/// since: then nothing of it matters any more.
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
        return FoundJournal::new(state, name, header, Standing::Unreadable { reason });
    }
    let mut found = FoundJournal::new(state, name, header, Standing::Stale);
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
        found.standing = Standing::Unreadable { reason: error.to_string() };
    }
}

/// Whose journal it is, even if the rest of it cannot be read.
fn owner(bytes: &[u8]) -> Option<Header> {
    // A file may hold megabytes, of which only the first line is wanted.
    let first = bytes.split_inclusive(|&byte| byte == b'\n').next().unwrap_or_default();
    let text = checked_lines::read(first).texts.into_iter().next()?.ok()?;
    Header::parse(text).ok()
}

/// Makes sure that nobody else holds one of `paths`: stale journals that do
/// are put back, and the end of a keeper's work is waited for.
///
/// # Errors
/// `Busy` names the process that holds a path, or the journal that cannot be
/// cleared.
pub(super) fn clear_the_way(
    site: &Site,
    state: &StateDir,
    own: &str,
    paths: &[&str],
) -> Result<()> {
    let began = Instant::now();
    loop {
        let Some(obstacle) = first_obstacle(site, state, own, paths)? else { return Ok(()) };
        // A session that has just died still holds its journal: its keeper
        // does, for the time it takes to put everything back.
        let patience = match obstacle.pid {
            Some(pid) if !is_alive(pid) => A_KEEPERS_WORK,
            Some(_) => A_DEATH,
            None => Duration::ZERO,
        };
        if began.elapsed() >= patience {
            return Err(Error::Busy(obstacle.reason));
        }
        thread::sleep(A_MOMENT);
    }
}

struct Obstacle {
    /// The process that holds the path, if waiting for it may help.
    pid: Option<u32>,
    reason: String,
}

fn first_obstacle(
    site: &Site,
    state: &StateDir,
    own: &str,
    paths: &[&str],
) -> Result<Option<Obstacle>> {
    for name in state.journals()?.into_iter().filter(|name| name != own) {
        let obstacle = match JournalFile::claim(state, &name) {
            Ok(Claim::Held(bytes)) => {
                let Ok(journal) = Journal::parse(&state.journal_path(&name), &bytes) else {
                    continue;
                };
                let Some(header) = journal.header.filter(|h| h.root == site.root_name()) else {
                    continue;
                };
                let held = journal.ledger.held().iter();
                held.map(|held| held.path.as_str()).find(|path| paths.contains(path)).map(|path| {
                    let pid = header.pid;
                    let reason = format!("{path} is held by another unjank, process {pid}");
                    Obstacle { pid: Some(pid), reason }
                })
            }
            Ok(Claim::Ours(journal, bytes)) => {
                let found = clear(site, state, journal, &bytes, Mode::Act);
                let failed = found.changes.iter().filter(|change| change.outcome.is_failure());
                failed.map(|change| &change.path).find(|path| paths.contains(&path.as_str())).map(
                    |path| {
                        let journal = found.file.display();
                        let reason = format!(
                            "an earlier session left {path} changed and it cannot be put back; \
                             `unjank restore` says why, removing {journal} gives it up"
                        );
                        Obstacle { pid: None, reason }
                    },
                )
            }
            // What cannot be opened is told when a session begins.
            Ok(Claim::Gone) | Err(_) => None,
        };
        if obstacle.is_some() {
            return Ok(obstacle);
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
