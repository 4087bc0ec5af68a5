//! Putting back the changes of ended sessions.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::contents::Contents;
use super::entry::Header;
use super::file::{Claim, LedgerFile, is_of};
use super::other_ledgers::OtherLedgers;
use super::over::Over;
use super::rehearsal::Rehearsal;
use super::scheduler::{Kernel, Scheduler};
use super::undo::{ThreadReport, put_back_all};
use crate::error::Result;
use crate::journal::state_dir::StateDir;
use crate::journal::visible::{namespace, why_no_proc};
use crate::journal::{Mode, RestoreOutcome};
use crate::keeper::KeeperReport;
use crate::root::Root;

pub(super) const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The ledgers to put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selection {
    /// All ledgers, also kept ones.
    All,
    /// Ledgers with threads of one process.
    Process(u32),
    /// Ledgers of sessions that did not put everything back; kept changes stay.
    CutOff,
    /// As `CutOff`, for sessions of one process.
    Owner(u32),
}

impl Selection {
    fn is_cut_off(self) -> bool {
        matches!(self, Self::CutOff | Self::Owner(_))
    }
}

/// The status of a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "standing", rename_all = "snake_case")]
pub enum LedgerStatus {
    /// Its session lives, and puts its changes back itself.
    Live,
    /// Its session has ended normally, and its changes stay.
    Kept,
    /// Its session was killed, or could not put everything back.
    CutOff,
    /// This process cannot see its threads: a chroot, another namespace.
    Hidden {
        /// Why they cannot be seen.
        reason: String,
    },
    /// It cannot be read, so nothing was done.
    Unreadable {
        /// Why it cannot be read.
        reason: String,
    },
}

/// One ledger in the state directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FoundLedger {
    /// Path of the ledger in the state directory.
    pub file: PathBuf,
    /// The process whose threads were changed; `None` if unknown.
    pub process: Option<u32>,
    /// The process number of the unjank that changed them.
    pub owner: Option<u32>,
    /// Start of that session, RFC 3339 in UTC.
    pub started_at: Option<String>,
    /// Whether its changes were put back.
    #[serde(flatten)]
    pub status: LedgerStatus,
    /// The number of threads that it holds.
    pub held: usize,
    /// The results of its changes, if they were to be put back.
    pub changes: Vec<ThreadReport>,
    /// Damaged lines, counted from 1. Their content is unknown, so the ledger
    /// is kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<usize>,
}

impl FoundLedger {
    /// Takes over the results of another attempt, and keeps those of what was over before it.
    fn update(&mut self, again: Self) {
        self.changes.retain(|change| !again.changes.iter().any(|it| it.is_about_the_same(change)));
        self.changes.extend(again.changes);
        (self.status, self.damaged) = (again.status, again.damaged);
    }

    /// The number of changes that must be put back after those of other ledgers.
    fn waiting(&self) -> usize {
        self.changes.iter().filter(|change| change.waits()).count()
    }

    /// Whether something is, or may be, still changed and no session is left to
    /// put it back.
    pub fn is_unresolved(&self) -> bool {
        matches!(self.status, LedgerStatus::Unreadable { .. } | LedgerStatus::Hidden { .. })
            || !self.damaged.is_empty()
            || self.changes.iter().any(|change| change.outcome.is_failure())
    }
}

/// Puts back the changes in the ledgers in `dir`, newest first, and removes the
/// ledgers.
///
/// # Errors
/// The directory exists but cannot be used. Failures of single ledgers and
/// threads are part of the result.
pub fn restore(
    root: &Root,
    dir: &Path,
    which: Selection,
    mode: Mode,
    scheduler: &dyn Scheduler,
) -> Result<Vec<FoundLedger>> {
    let Some(state) = StateDir::open_if_there(dir)? else { return Ok(Vec::new()) };
    let _lock = state.lock()?;
    let names = state.journals()?;
    let view = View::of(root)?;
    let rehearsal = Rehearsal::of(scheduler);
    let scheduler = if mode == Mode::DryRun { &rehearsal } else { scheduler };
    let mut pass = Pass { root, state, view, which, mode, scheduler, over: Over::default() };
    let mut all = Vec::new();
    for name in names.into_iter().rev() {
        all.extend(pass.restore_one(&name).map(|found| (name, found)));
    }
    // Sessions may have changed one thread in one order and another thread in the other.
    let mut goes_on = true;
    while std::mem::take(&mut goes_on) {
        for (name, found) in &mut all {
            let waiting = found.waiting();
            if waiting == 0 {
                continue;
            }
            match pass.restore_one(name) {
                Some(again) => found.update(again),
                // There is nothing more to report.
                None => found.changes.retain(|change| !change.waits()),
            }
            goes_on |= found.waiting() < waiting;
        }
    }
    Ok(all.into_iter().map(|(_, found)| found).collect())
}

/// Puts back ledgers one by one, under the lock of the state directory.
struct Pass<'a> {
    root: &'a Root,
    state: StateDir,
    view: View,
    which: Selection,
    mode: Mode,
    scheduler: &'a dyn Scheduler,
    /// What was, or would be, put back.
    over: Over,
}

impl Pass<'_> {
    /// `None` for a ledger that is not selected, or about which there is nothing to report.
    fn restore_one(&mut self, name: &str) -> Option<FoundLedger> {
        let (which, mode) = (self.which, self.mode);
        let (file, contents) = match self.read(name) {
            Ok(read) => read?,
            Err(error) => {
                let reason = error.to_string();
                let status = LedgerStatus::Unreadable { reason };
                return Some(self.found(name, &Contents::default(), status));
            }
        };
        let header = contents.header.as_ref();
        if let Selection::Process(process) = which
            && !contents.is_about(process)
        {
            return None;
        }
        if let Selection::Owner(owner) = which
            && header.is_none_or(|header| header.owner != owner)
        {
            return None;
        }
        let Some(mut file) = file else {
            return Some(self.found(name, &contents, LedgerStatus::Live));
        };
        let was_cut_off = contents.was_cut_off();
        let status = if was_cut_off { LedgerStatus::CutOff } else { LedgerStatus::Kept };
        let mut found = self.found(name, &contents, status);
        let other_boot = match self.view.is_another_boot(header) {
            Ok(other_boot) => other_boot,
            Err(_) if contents.is_empty() && contents.damaged.is_empty() => true,
            Err(reason) => {
                found.status = LedgerStatus::Hidden { reason };
                return Some(found);
            }
        };
        if other_boot {
            found.damaged.clear();
        }
        let dead = contents.is_empty() || other_boot;
        if !dead && which.is_cut_off() && !was_cut_off && is_there(self.root, &contents) {
            return Some(found);
        }
        let mut over = if dead { contents.as_restored() } else { Vec::new() };
        if !dead {
            let others = OtherLedgers::read(&self.state, name, &self.over).unwrap_or_default();
            found.changes = put_back_all(&contents, &others, self.scheduler, mode, |entry| {
                // If this cannot be written, the next reader finds it already back.
                let _best_effort = if mode == Mode::Act { file.note([&entry]) } else { Ok(()) };
                over.push(entry);
            });
        }
        self.over.add(name, over);
        let is_open = found.changes.iter().any(|change| change.outcome.is_open());
        let is_over = !is_open && !found.is_unresolved();
        if mode == Mode::Act
            && is_over
            && let Err(error) = self.state.remove_journal(file.name())
        {
            found.status = LedgerStatus::Unreadable { reason: error.to_string() };
        }
        // If the process has ended, there is nothing to report.
        let gone = found.changes.iter().all(|change| change.outcome == RestoreOutcome::Gone);
        let is_reported = |found: &FoundLedger| !found.changes.is_empty() || found.is_unresolved();
        (!gone || !which.is_cut_off() || found.is_unresolved()).then_some(found).filter(is_reported)
    }

    /// The contents of a ledger, with its file if no session has it; `None` if it is gone.
    fn read(&self, name: &str) -> Result<Option<(Option<LedgerFile>, Contents)>> {
        let path = self.state.journal_path(name);
        Ok(match LedgerFile::claim(&self.state, name)? {
            Claim::Gone => None,
            Claim::Held(bytes) => Some((None, Contents::parse(&path, &bytes)?)),
            Claim::Ours(mut file, bytes) => {
                let mut contents = Contents::parse(&path, &bytes)?;
                self.over.remove_from(name, &mut contents);
                if self.mode == Mode::Act {
                    file.cut_after(contents.intact, &bytes);
                }
                Some((Some(file), contents))
            }
        })
    }

    fn found(&self, name: &str, contents: &Contents, status: LedgerStatus) -> FoundLedger {
        let header = contents.header.as_ref();
        FoundLedger {
            file: self.state.journal_path(name),
            process: header.and_then(|header| header.process),
            owner: header.map(|header| header.owner),
            started_at: header.map(|header| header.started_at.clone()),
            status,
            held: contents.threads.len(),
            changes: Vec::new(),
            damaged: contents.damaged.clone(),
        }
    }
}

/// Waits for the end of `owner`, and puts back the changes of its sessions that
/// were cut off: the work of a keeper.
pub(crate) fn wait_and_restore(dir: &Path, owner: u32) -> Result<KeeperReport> {
    let Some(state) = StateDir::open_if_there(dir)? else { return Ok(KeeperReport::default()) };
    for name in state.journals()?.iter().filter(|name| is_of(name, owner)) {
        LedgerFile::wait_for(&state, name)?;
    }
    let root = Root::system();
    let restore = |which| restore(&root, dir, which, Mode::Act, &Kernel::new());
    let mut found = restore(Selection::Owner(owner))?;
    // Changes of other sessions that had to wait for these, or these for them.
    let others = restore(Selection::CutOff).unwrap_or_default();
    found.extend(others.into_iter().filter(|ledger| ledger.owner == Some(owner)));
    let left = found.iter().find(|ledger| ledger.is_unresolved()).map(|found| found.file.clone());
    let is_damaged = found.iter().any(|ledger| !ledger.damaged.is_empty());
    let changes = found.into_iter().flat_map(|ledger| ledger.changes);
    // Another session, or its keeper, puts the waiting ones back.
    let outcomes = changes.filter(|change| !change.waits()).map(|change| change.outcome).collect();
    Ok(KeeperReport { pid: Some(owner), outcomes, left, is_damaged })
}

/// Removes ledgers of other boots and of ended processes. The caller has the
/// lock of the state directory.
pub(super) fn clear_dead(root: &Root, state: &StateDir) -> Result<()> {
    let view = View::of(root)?;
    for name in state.journals()? {
        let Ok(Claim::Ours(file, bytes)) = LedgerFile::claim(state, &name) else { continue };
        let Ok(contents) = Contents::parse(file.path(), &bytes) else { continue };
        let Ok(other_boot) = view.is_another_boot(contents.header.as_ref()) else { continue };
        let is_over =
            contents.damaged.is_empty() && (contents.is_empty() || !is_there(root, &contents));
        if other_boot || is_over {
            state.remove_journal(file.name())?;
        }
    }
    Ok(())
}

/// This process's view of the machine's threads.
struct View {
    boot_id: Option<String>,
    pid_namespace: Option<String>,
    /// Why it sees no threads.
    hidden: Option<String>,
}

impl View {
    fn of(root: &Root) -> Result<Self> {
        let hidden = why_no_proc(root, BOOT_ID);
        let boot_id = if hidden.is_some() { None } else { root.read_if_there(BOOT_ID)? };
        Ok(Self { boot_id, pid_namespace: namespace(root, "pid"), hidden })
    }

    /// Whether the machine has certainly been booted since `then`.
    ///
    /// # Errors
    /// Why neither that nor whether the threads live can be determined.
    fn is_another_boot(&self, then: Option<&Header>) -> Result<bool, String> {
        let (boot_id, namespace) =
            then.map_or((None, None), |then| (then.boot_id.as_ref(), then.pid_namespace.as_ref()));
        match (&self.hidden, boot_id, &self.boot_id) {
            (Some(why), ..) => Err(why.clone()),
            (None, Some(_), None) => Err(format!("{BOOT_ID} does not exist here")),
            (None, Some(then), Some(now)) if then != now => Ok(true),
            _ if namespace.is_some() && namespace != self.pid_namespace.as_ref() => {
                Err("its threads are in another PID namespace than this process".to_owned())
            }
            _ => Ok(false),
        }
    }
}

/// Whether one of the processes still exists.
fn is_there(root: &Root, contents: &Contents) -> bool {
    let mut processes: Vec<u32> = contents.processes().collect();
    processes.sort_unstable();
    processes.dedup();
    processes.into_iter().any(|process| root.exists(format!("/proc/{process}")))
}
