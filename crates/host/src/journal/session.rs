//! A session: the time for which a program borrows the machine.

use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use super::entry::{Header, SCHEMA};
use super::file::JournalFile;
use super::guard::{Directory, Knob, SwapArea};
use super::holding::Holding;
use super::report::ChangeReport;
use super::shared::Shared;
use super::site::Site;
use super::stale::{FoundJournal, Standing, clear_all};
use super::state_dir::StateDir;
use super::undo::Mode;
use crate::error::Result;
use crate::keeper::{Keeper, KeeperCommand, Order};
use crate::root::Root;

/// Tells apart the sessions of one process.
static SESSIONS: AtomicU64 = AtomicU64::new(0);

/// The time for which a program borrows the machine: what is changed through
/// a session is written down before, and put back when it ends, whatever ends
/// it. See [the module](super) for how.
///
/// Dropping a session is a normal end too; [`finish`](Self::finish) says how
/// it went. Signals are the caller's business: end the session on one.
#[derive(Debug)]
pub struct Session {
    holding: Shared,
    recovered: Vec<FoundJournal>,
}

impl Session {
    /// Begins a session on the machine below `root`, with its journal in
    /// `state_dir` (made if need be, for its owner only) and a keeper process
    /// at its side. Puts back what earlier sessions left there.
    ///
    /// # Errors
    /// The state directory cannot be used or written, or the keeper does not
    /// start. Nothing has been changed then.
    pub fn open(root: &Root, state_dir: &Path, keeper: KeeperCommand) -> Result<Self> {
        let site = Site::of(root)?;
        let state = StateDir::make(state_dir)?;
        let header = Header {
            schema: SCHEMA.to_owned(),
            pid: process::id(),
            boot_id: site.boot_id().map(str::to_owned),
            cgroup_namespace: site.cgroup_namespace().map(str::to_owned),
            root: site.root_name().to_owned(),
            started_at: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        };
        let name = journal_name(&header);
        let order = Order::Journal {
            root: header.root.clone(),
            state_dir: state.path().to_owned(),
            journal: name.clone(),
        };
        let mut keeper = Keeper::start(keeper, order)?;
        let lock = state.lock()?;
        let mut recovered = clear_all(&site, &state, Mode::Act)?;
        recovered.retain(|found| found.standing != Standing::Live);
        let journal = JournalFile::create(&state, &name, &header)?;
        drop(lock);
        if let Err(error) = keeper.watch() {
            state.remove_journal(&name)?;
            return Err(error);
        }
        let holding = Holding::new(site, state, journal, keeper);
        Ok(Self { holding: Shared::new(holding), recovered })
    }

    /// What earlier sessions had left, and what became of it when this one
    /// began. Empty on an ordinary day.
    pub fn recovered(&self) -> &[FoundJournal] {
        &self.recovered
    }

    /// Gives the knob `path` the value `value` until the guard is dropped.
    ///
    /// # Errors
    /// As [`change_all`](Self::change_all).
    pub fn change(&self, path: impl AsRef<Path>, value: &str) -> Result<Knob> {
        let mut knobs = self.change_all(&[(path, value)])?;
        Ok(knobs.pop().expect("one change gives one guard"))
    }

    /// Gives several knobs their values, in this order: all or none. They are
    /// written down together, which costs one wait for the disk.
    ///
    /// Where two paths lead to the same knob with the same value, there is one
    /// guard for both.
    ///
    /// A knob whose present value cannot be written back is not changed at
    /// all, and that is tried first: there are knobs that take many values
    /// but not the one they start with (`vm.dirty_bytes` starts at 0).
    ///
    /// # Errors
    /// `Unsupported` where there is no such knob, or it could not be put
    /// back; `Invalid` for what is no knob or a value that the kernel
    /// refuses; `Permission`; `Busy` where another session holds it; `File`
    /// where the journal cannot be written. The knob is named, and those
    /// before it are as they were.
    pub fn change_all<P: AsRef<Path>, V: AsRef<str>>(
        &self,
        wanted: &[(P, V)],
    ) -> Result<Vec<Knob>> {
        let wanted: Vec<(&Path, &str)> =
            wanted.iter().map(|(path, value)| (path.as_ref(), value.as_ref())).collect();
        let taken = self.holding.lock().take_knobs(&wanted)?;
        Ok(taken.into_iter().map(|taken| Knob::new(self.holding.clone(), taken)).collect())
    }

    /// Makes the directory `path`, which must not be there, until the guard
    /// is dropped: a tracefs instance (found even where tracefs is not
    /// mounted), a cgroup. It is removed with what the kernel put into it,
    /// once nothing uses it.
    ///
    /// # Errors
    /// As [`change_all`](Self::change_all); `Busy` if it is there already.
    pub fn make_directory(&self, path: impl AsRef<Path>) -> Result<Directory> {
        let made = self.holding.lock().take_directory(path.as_ref())?;
        Ok(Directory::new(self.holding.clone(), made))
    }

    /// Has the machine swap to the loop device `path`, which has the header
    /// of a swap area, before all others until the guard is dropped.
    ///
    /// # Errors
    /// As [`change_all`](Self::change_all); `Busy` if it is swapped to
    /// already; the kernel's refusal.
    pub fn swap_on(&self, path: impl AsRef<Path>) -> Result<SwapArea> {
        let turned_on = self.holding.lock().take_swap_area(path.as_ref())?;
        Ok(SwapArea::new(self.holding.clone(), turned_on))
    }

    /// Ends the session: puts back whatever guards still hold (they have no
    /// effect afterwards), and says how every change of the session ended, in
    /// the order in which they ended. What failed stays in the journal for
    /// [`restore`](super::restore).
    pub fn finish(self) -> Vec<ChangeReport> {
        self.holding.lock().end()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.holding.lock().end();
    }
}

/// Unlike any other on this machine: the process, which of its sessions, and
/// the time, because process numbers come again.
fn journal_name(header: &Header) -> String {
    let nth = SESSIONS.fetch_add(1, Ordering::Relaxed);
    let time = crate::clock::Timestamp::now().as_nanos();
    format!("{}-{nth}-{time:x}.journal", header.pid)
}
