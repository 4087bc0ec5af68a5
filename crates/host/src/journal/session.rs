//! A session: the time for which a program changes the machine.

use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use super::entry::{Header, SCHEMA};
use super::file::JournalFile;
use super::guard::{Directory, Knob, SwapArea, Zram};
use super::report::ChangeReport;
use super::session_state::SessionState;
use super::shared_state::SharedState;
use super::site::Site;
use super::stale::{FoundJournal, clear_all};
use super::state_dir::StateDir;
use super::undo::Mode;
use crate::error::Result;
use crate::keeper::{Keeper, Order};
use crate::process::HelperCommand;
use crate::root::Root;
use crate::support::Support;
use crate::zram_device;
use unjank_units::Bytes;

/// Counts the sessions of this process.
static SESSIONS: AtomicU64 = AtomicU64::new(0);

/// The time for which a program changes the machine. Changes made through a
/// session are recorded before, and put back when it ends, for whatever
/// reason. See [the module](super) for how.
///
/// Dropping a session ends it normally, too; [`finish`](Self::finish) also
/// reports the results. The caller handles signals: it should end the session
/// on one.
#[derive(Debug)]
pub struct Session {
    holding: SharedState,
    recovered: Vec<FoundJournal>,
}

impl Session {
    /// Begins a session on the machine below `root`, with its journal in
    /// `state_dir` (created if missing, for its owner only) and a keeper
    /// process. Puts back what earlier sessions left changed.
    ///
    /// # Errors
    /// The state directory cannot be used or written, or the keeper does not
    /// start. This session has changed nothing then.
    pub fn open(root: &Root, state_dir: &Path, keeper: HelperCommand) -> Result<Self> {
        let site = Site::of(root)?;
        let state = StateDir::make(state_dir)?;
        let header = Header {
            schema: SCHEMA.to_owned(),
            pid: process::id(),
            boot_id: site.boot_id().map(str::to_owned),
            cgroup_namespace: site.cgroup_namespace().map(str::to_owned),
            network_namespace: site.network_namespace().map(str::to_owned),
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
        recovered.retain(|found| !found.status.is_intended());
        let journal = JournalFile::create(&state, &name, &header)?;
        drop(lock);
        if let Err(error) = keeper.watch() {
            state.remove_journal(&name)?;
            return Err(error);
        }
        let holding = SessionState::new(site, state, journal, keeper);
        Ok(Self { holding: SharedState::new(holding), recovered })
    }

    /// The journals of earlier sessions that this one found when it began, and
    /// the results of putting their changes back. Usually empty.
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
    /// written to the journal together, which costs one wait for the disk.
    ///
    /// If two paths lead to the same knob with the same value, there is one
    /// guard for both.
    ///
    /// A knob whose present value cannot be written is not changed at all, and
    /// that is tried first: some knobs refuse the value that they start with
    /// (`kernel.kexec_load_disabled` starts at 0).
    ///
    /// Knobs that the kernel changes with one of these are put back, too. Of two
    /// knobs that are one setting (`vm.dirty_bytes` and `vm.dirty_ratio`), a
    /// session can hold one.
    ///
    /// # Errors
    /// `Unsupported` if the knob does not exist or could not be put back;
    /// `Invalid` for a path that is not a knob or a value that the kernel
    /// refuses; `Permission`; `Busy` if another session holds the knob, the same
    /// setting, or a knob that the kernel changes with it; `File`
    /// if the journal cannot be written. The error names the knob, and those
    /// before it are put back.
    pub fn change_all<P: AsRef<Path>, V: AsRef<str>>(
        &self,
        wanted: &[(P, V)],
    ) -> Result<Vec<Knob>> {
        let wanted: Vec<(&Path, &str)> =
            wanted.iter().map(|(path, value)| (path.as_ref(), value.as_ref())).collect();
        let taken = self.holding.lock().take_knobs(&wanted)?;
        Ok(taken.into_iter().map(|taken| Knob::new(self.holding.clone(), taken)).collect())
    }

    /// Makes the directory `path`, which must not exist, until the guard is
    /// dropped: a tracefs instance (also where tracefs is not mounted), a
    /// cgroup. It is removed with the kernel's files in it, once it is not in
    /// use.
    ///
    /// # Errors
    /// As [`change_all`](Self::change_all); `Busy` if it already exists.
    pub fn make_directory(&self, path: impl AsRef<Path>) -> Result<Directory> {
        let made = self.holding.lock().take_directory(path.as_ref())?;
        Ok(Directory::new(self.holding.clone(), made))
    }

    /// Turns on the loop device `path`, which has the header of a swap area, as
    /// swap, preferred to all areas but those with the highest priority, until the
    /// guard is dropped.
    ///
    /// # Errors
    /// As [`change_all`](Self::change_all); `Busy` if it is in use already;
    /// the kernel's refusal.
    pub fn swap_on(&self, path: impl AsRef<Path>) -> Result<SwapArea> {
        let turned_on = self.holding.lock().take_swap_area(path.as_ref())?;
        Ok(SwapArea::new(self.holding.clone(), turned_on))
    }

    /// Adds a zram device of `size` that compresses with `algorithm`, with the header of
    /// a swap area, until the guard is dropped. Cold pages can be written back to a
    /// `backing` device. `No` if the kernel cannot.
    ///
    /// # Errors
    /// `Permission`; `Invalid` for an unknown algorithm; as [`change_all`](Self::change_all).
    pub fn add_zram(
        &self,
        algorithm: &str,
        size: Bytes,
        backing: Option<&Path>,
    ) -> Result<Support<Zram>> {
        let root = self.holding.lock().root().clone();
        let number = match zram_device::add(&root)? {
            Support::Yes(number) => number,
            Support::No(reason) => return Ok(Support::No(reason)),
        };
        let added = self.holding.lock().take_zram(number, algorithm, size, backing)?;
        Zram::new(self.holding.clone(), added, &root).map(Support::Yes)
    }

    /// Ends the session and leaves its changes as they are, until [`undo_kept`] takes
    /// them back or the machine is booted. Guards have no effect afterwards. `by` is
    /// the command that makes the changes.
    ///
    /// # Errors
    /// The journal cannot be written; everything is put back then.
    ///
    /// [`undo_kept`]: super::undo_kept
    pub fn keep(self, by: &str) -> Result<()> {
        self.holding.lock().keep(by)
    }

    /// Ends the session: puts back the changes of all remaining guards (which
    /// have no effect afterwards), and reports the result of every change of
    /// the session, in the order in which they ended. Failures stay in the
    /// journal for [`restore`](super::restore).
    pub fn finish(self) -> Vec<ChangeReport> {
        self.holding.lock().end()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.holding.lock().end();
    }
}

/// A name that is unique on this machine: the process, the number of its
/// session, and the time, because process numbers are reused.
fn journal_name(header: &Header) -> String {
    let nth = SESSIONS.fetch_add(1, Ordering::Relaxed);
    let time = crate::clock::Timestamp::now().as_nanos();
    format!("{}-{nth}-{time:x}.journal", header.pid)
}
