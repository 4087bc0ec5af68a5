//! Putting back what sessions have left.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::entry::Header;
use super::file::{Claim, LedgerFile, is_of};
use super::scheduler::{Kernel, Scheduler};
use super::sum::Sum;
use super::undo::{ThreadReport, put_back_all};
use crate::error::Result;
use crate::journal::state_dir::StateDir;
use crate::journal::visible::{namespace, why_no_proc};
use crate::journal::{Mode, Outcome};
use crate::keeper::Kept;
use crate::root::Root;

pub(super) const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Which ledgers are put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// All.
    All,
    /// Those about one process.
    Process(u32),
    /// What sessions left that were cut off; what was meant to stay stays.
    CutOff,
    /// The same of one session, by its process.
    Owner(u32),
}

impl Which {
    fn is_cut_off(self) -> bool {
        matches!(self, Self::CutOff | Self::Owner(_))
    }
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
    /// Its threads cannot be seen from here: a chroot, another namespace.
    Hidden {
        /// Why.
        reason: String,
    },
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
    /// Lines that are damaged, counted from 1. What they said is not known, so
    /// the ledger is kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<usize>,
}

impl FoundLedger {
    /// Whether something is still changed, or may be, that nobody sees to.
    pub fn is_unresolved(&self) -> bool {
        matches!(self.standing, Standing::Unreadable { .. } | Standing::Hidden { .. })
            || !self.damaged.is_empty()
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
    let view = View::of(root)?;
    let visit = |name: String| {
        let found = |sum: &Sum, standing| FoundLedger {
            file: state.journal_path(&name),
            process: sum.header.as_ref().and_then(|header| header.process),
            owner: sum.header.as_ref().map(|header| header.owner),
            started_at: sum.header.as_ref().map(|header| header.started_at.clone()),
            standing,
            held: sum.threads.len(),
            changes: Vec::new(),
            damaged: sum.damaged.clone(),
        };
        let unreadable = |reason: String| found(&Sum::default(), Standing::Unreadable { reason });
        let read = LedgerFile::claim(&state, &name).and_then(|claim| {
            let path = state.journal_path(&name);
            Ok(match claim {
                Claim::Gone => None,
                Claim::Held(bytes) => Some((None, Sum::parse(&path, &bytes)?)),
                Claim::Ours(mut file, bytes) => {
                    let sum = Sum::parse(&path, &bytes)?;
                    if mode == Mode::Act {
                        file.cut_after(sum.intact, &bytes);
                    }
                    Some((Some(file), sum))
                }
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
        if let Which::Owner(owner) = which
            && header.is_none_or(|header| header.owner != owner)
        {
            return None;
        }
        let Some(mut file) = file else { return Some(found(&sum, Standing::Live)) };
        let was_cut_off = sum.was_cut_off();
        let standing = if was_cut_off { Standing::CutOff } else { Standing::Kept };
        let mut found = found(&sum, standing);
        let other_boot = match view.is_another_boot(header) {
            Ok(other_boot) => other_boot,
            Err(_) if sum.is_empty() && sum.damaged.is_empty() => true,
            Err(reason) => {
                found.standing = Standing::Hidden { reason };
                return Some(found);
            }
        };
        if other_boot {
            found.damaged.clear();
        }
        let dead = sum.is_empty() || other_boot;
        if !dead && which.is_cut_off() && !was_cut_off && is_there(root, &sum) {
            return Some(found);
        }
        if !dead {
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
        let is_told = |found: &FoundLedger| !found.changes.is_empty() || found.is_unresolved();
        (!gone || !which.is_cut_off() || found.is_unresolved()).then_some(found).filter(is_told)
    };
    Ok(state.journals()?.into_iter().rev().filter_map(visit).collect())
}

/// Waits for the end of `owner`, and puts back what it left cut off: the work
/// of its keeper.
pub(crate) fn see_to(dir: &Path, owner: u32) -> Result<Kept> {
    let Some(state) = StateDir::open_if_there(dir)? else { return Ok(Kept::default()) };
    for name in state.journals()?.iter().filter(|name| is_of(name, owner)) {
        LedgerFile::wait_for(&state, name)?;
    }
    let root = Root::system();
    let found = restore(&root, dir, Which::Owner(owner), Mode::Act, &Kernel::new())?;
    let left = found.iter().find(|ledger| ledger.is_unresolved()).map(|found| found.file.clone());
    let is_damaged = found.iter().any(|ledger| !ledger.damaged.is_empty());
    let outcomes = found.into_iter().flat_map(|ledger| ledger.changes);
    let outcomes = outcomes.map(|change| change.outcome).collect();
    Ok(Kept { pid: Some(owner), outcomes, left, is_damaged })
}

/// Removes ledgers of other boots and of processes that have ended, for a
/// caller that has the lock of the state directory.
pub(super) fn clear_dead(root: &Root, state: &StateDir) -> Result<()> {
    let view = View::of(root)?;
    for name in state.journals()? {
        let Ok(Claim::Ours(file, bytes)) = LedgerFile::claim(state, &name) else { continue };
        let Ok(sum) = Sum::parse(file.path(), &bytes) else { continue };
        let Ok(other_boot) = view.is_another_boot(sum.header.as_ref()) else { continue };
        let is_over = sum.damaged.is_empty() && (sum.is_empty() || !is_there(root, &sum));
        if other_boot || is_over {
            state.remove_journal(file.name())?;
        }
    }
    Ok(())
}

/// What this process can see of the machine's threads.
struct View {
    boot_id: Option<String>,
    pid_namespace: Option<String>,
    /// Why it sees none.
    hidden: Option<String>,
}

impl View {
    fn of(root: &Root) -> Result<Self> {
        let hidden = why_no_proc(root, BOOT_ID);
        let boot_id = if hidden.is_some() { None } else { root.read_if_there(BOOT_ID)? };
        Ok(Self { boot_id, pid_namespace: namespace(root, "pid"), hidden })
    }

    /// Whether the machine has surely been started anew since.
    ///
    /// # Errors
    /// Why neither that nor whether its threads live can be told.
    fn is_another_boot(&self, then: Option<&Header>) -> Result<bool, String> {
        let (boot_id, namespace) =
            then.map_or((None, None), |then| (then.boot_id.as_ref(), then.pid_namespace.as_ref()));
        match (&self.hidden, boot_id, &self.boot_id) {
            (Some(why), ..) => Err(why.clone()),
            (None, Some(_), None) => Err(format!("there is no {BOOT_ID} here")),
            (None, Some(then), Some(now)) if then != now => Ok(true),
            _ if namespace.is_some() && namespace != self.pid_namespace.as_ref() => {
                Err("its threads are in another PID namespace than this process".to_owned())
            }
            _ => Ok(false),
        }
    }
}

/// Whether one of the threads may still live.
fn is_there(root: &Root, sum: &Sum) -> bool {
    let mut processes: Vec<u32> = sum.processes().collect();
    processes.sort_unstable();
    processes.dedup();
    processes.into_iter().any(|process| root.exists(format!("/proc/{process}")))
}
