//! Putting back what sessions have left.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::file::{Claim, LedgerFile};
use super::scheduler::Scheduler;
use super::sum::Sum;
use super::undo::{ThreadReport, put_back_all};
use crate::error::Result;
use crate::journal::state_dir::StateDir;
use crate::journal::{Mode, Outcome};
use crate::root::Root;

/// Which ledgers are put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// All.
    All,
    /// Those about one process.
    Process(u32),
    /// What sessions left that were cut off; what was meant to stay stays.
    CutOff,
}

/// What is to be done about a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "standing", rename_all = "snake_case")]
pub enum Standing {
    /// Its session lives, and sees to it.
    Live,
    /// Its session has ended as it should, and the changes were to stay.
    Kept,
    /// Its session was cut off.
    CutOff,
    /// It cannot be read, so nothing was done.
    Unreadable {
        /// Why.
        reason: String,
    },
}

/// One ledger in the state directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FoundLedger {
    /// Its file.
    pub file: PathBuf,
    /// The process whose threads were changed.
    pub process: Option<u32>,
    /// The unjank that changed them.
    pub owner: Option<u32>,
    /// When, RFC 3339.
    pub started_at: Option<String>,
    /// Whether it was ours to act upon.
    #[serde(flatten)]
    pub standing: Standing,
    /// How many threads it holds.
    pub held: usize,
    /// What became of its changes, if they were to be put back.
    pub changes: Vec<ThreadReport>,
}

impl FoundLedger {
    /// Whether something is still changed, or may be, that nobody sees to.
    pub fn is_unresolved(&self) -> bool {
        matches!(self.standing, Standing::Unreadable { .. })
            || self.changes.iter().any(|change| change.outcome.is_failure())
    }
}

/// Puts back what the ledgers in `dir` tell, newest first, and clears them.
///
/// # Errors
/// The directory is there and cannot be used. What goes wrong with one ledger
/// or one thread is told where it stands in the result.
pub fn restore(
    root: &Root,
    dir: &Path,
    which: Which,
    mode: Mode,
    scheduler: &dyn Scheduler,
) -> Result<Vec<FoundLedger>> {
    let Some(state) = StateDir::open_if_there(dir)? else { return Ok(Vec::new()) };
    let _nobody_else = state.lock()?;
    let boot_id = root.read_if_there("/proc/sys/kernel/random/boot_id")?;
    let visit = |name: String| {
        let found = |sum: &Sum, standing| FoundLedger {
            file: state.journal_path(&name),
            process: sum.header.as_ref().and_then(|header| header.process),
            owner: sum.header.as_ref().map(|header| header.owner),
            started_at: sum.header.as_ref().map(|header| header.started_at.clone()),
            standing,
            held: sum.threads.len(),
            changes: Vec::new(),
        };
        let unreadable = |reason: String| found(&Sum::default(), Standing::Unreadable { reason });
        let read = LedgerFile::claim(&state, &name).and_then(|claim| {
            let path = state.journal_path(&name);
            Ok(match claim {
                Claim::Gone => None,
                Claim::Held(bytes) => Some((None, Sum::parse(&path, &bytes)?)),
                Claim::Ours(file, bytes) => Some((Some(file), Sum::parse(&path, &bytes)?)),
            })
        });
        let (file, sum) = match read {
            Ok(None) => return None,
            Ok(Some(read)) => read,
            Err(error) => return Some(unreadable(error.to_string())),
        };
        let header = sum.header.as_ref();
        if let Which::Process(process) = which
            && !sum.is_about(process)
        {
            return None;
        }
        let Some(mut file) = file else { return Some(found(&sum, Standing::Live)) };
        let was_cut_off = header.is_none_or(|header| header.tied) || sum.is_unsettled();
        let standing = if was_cut_off { Standing::CutOff } else { Standing::Kept };
        let mut found = found(&sum, standing);
        let other_boot = header
            .and_then(|header| header.boot_id.as_ref())
            .zip(boot_id.as_ref())
            .is_some_and(|(then, now)| then != now);
        let dead = sum.is_empty() || other_boot;
        if !dead && which == Which::CutOff && !was_cut_off && is_there(root, &sum) {
            return Some(found);
        }
        if !dead {
            if mode == Mode::Act
                && let Err(error) = file.cut_after(sum.intact)
            {
                return Some(unreadable(error.to_string()));
            }
            found.changes = put_back_all(&sum, scheduler, mode, |entry| {
                // If this cannot be written, the next one finds it back already.
                let _best_effort = if mode == Mode::Act { file.note([entry]) } else { Ok(()) };
            });
        }
        if mode == Mode::Act
            && !found.is_unresolved()
            && let Err(error) = state.remove_journal(file.name())
        {
            found.standing = Standing::Unreadable { reason: error.to_string() };
        }
        // A process that has ended took all of it along: nothing to tell.
        let gone = found.changes.iter().all(|change| change.outcome == Outcome::Gone);
        (!gone || which != Which::CutOff).then_some(found).filter(|found| !found.changes.is_empty())
    };
    Ok(state.journals()?.into_iter().rev().filter_map(visit).collect())
}

/// Removes ledgers of other boots and of processes that have ended, for a
/// caller that has the lock of the state directory.
pub(super) fn clear_dead(root: &Root, state: &StateDir) -> Result<()> {
    let boot_id = root.read_if_there("/proc/sys/kernel/random/boot_id")?;
    for name in state.journals()? {
        let Ok(Claim::Ours(file, bytes)) = LedgerFile::claim(state, &name) else { continue };
        let Ok(sum) = Sum::parse(file.path(), &bytes) else { continue };
        let other_boot = sum.header.as_ref().is_some_and(|header| {
            header.boot_id.is_some() && boot_id.is_some() && header.boot_id != boot_id
        });
        if other_boot || sum.is_empty() || !is_there(root, &sum) {
            state.remove_journal(file.name())?;
        }
    }
    Ok(())
}

/// Whether one of the threads may still live.
fn is_there(root: &Root, sum: &Sum) -> bool {
    let mut processes: Vec<u32> = sum.processes().collect();
    processes.sort_unstable();
    processes.dedup();
    processes.into_iter().any(|process| root.exists(format!("/proc/{process}")))
}
