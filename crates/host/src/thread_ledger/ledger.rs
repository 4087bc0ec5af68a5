//! A session that changes threads.

use std::path::Path;

use rustix::io::Errno;

use super::contents::Contents;
use super::entry::{Entry, Header, Intent, SCHEMA, ThreadState};
use super::file::{LARGEST, LedgerFile, name};
use super::other_ledgers::OtherLedgers;
use super::over::Over;
use super::restore::{BOOT_ID, Selection, clear_dead, restore};
use super::scheduler::Scheduler;
use super::undo::{ThreadReport, put_back, put_back_all};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::journal::state_dir::StateDir;
use crate::journal::visible::namespace;
use crate::journal::{Mode, RestoreOutcome};
use crate::keeper::{Keeper, Order};
use crate::process::HelperCommand;
use crate::root::Root;
use crate::sched::ThreadId;
use crate::threads::Began;
use unjank_units::Nanos;

/// The changes of one session and their file. When it is dropped, the changes
/// stay, unless [`finish`](Self::finish) was called.
#[derive(Debug)]
pub struct Ledger<'a> {
    root: &'a Root,
    state: StateDir,
    file: LedgerFile,
    contents: Contents,
    scheduler: &'a dyn Scheduler,
    /// Dropped after the file, whose lock it waits for.
    keeper: Option<Keeper>,
}

impl<'a> Ledger<'a> {
    /// Begins a ledger in the directory `dir` for threads of `process`, or of a
    /// process that is started later. The changes of a `tied` ledger end with
    /// this session. If this process is killed, a keeper puts them back; without
    /// `tied`, only if it is killed before [`keep`](Self::keep).
    ///
    /// # Errors
    /// The directory cannot be used, or other users can write to it; the keeper
    /// does not start.
    pub fn begin(
        root: &'a Root,
        dir: &Path,
        process: Option<u32>,
        tied: bool,
        scheduler: &'a dyn Scheduler,
        keeper: Option<HelperCommand>,
    ) -> Result<Self> {
        let state = StateDir::make(dir)?;
        let owner = std::process::id();
        let order = Order::Threads { state_dir: state.path().to_owned(), owner };
        let keeper = keeper.map(|command| Keeper::start(command, order)).transpose()?;
        let _lock = state.lock()?;
        clear_dead(root, &state)?;
        let header = Header {
            schema: SCHEMA.to_owned(),
            process,
            owner,
            tied,
            boot_id: root.read_if_there(BOOT_ID)?,
            pid_namespace: namespace(root, "pid"),
            started_at: jiff::Timestamp::now().to_string(),
        };
        let file = LedgerFile::create(&state, &name(owner), &header)?;
        let contents = Contents { header: Some(header), ..Contents::default() };
        Ok(Self { root, state, file, contents, scheduler, keeper })
    }

    /// The state to which a thread goes back, if this session has changed it.
    pub fn before(&self, thread: ThreadId, began: Began) -> Option<ThreadState> {
        self.first(thread, began).map(|intent| intent.before)
    }

    /// The first change of a thread by this session.
    fn first(&self, thread: ThreadId, began: Began) -> Option<&Intent> {
        let held = self.contents.threads.get(&thread)?;
        (held.intent.began == began).then_some(&held.intent)
    }

    /// Records changes that are about to be made.
    ///
    /// # Errors
    /// The file cannot be written; the changes must not be made then.
    pub fn announce(&mut self, intents: &[Intent]) -> Result<()> {
        self.keeper.as_mut().map_or(Ok(()), Keeper::ensure)?;
        self.make_room()?;
        let _lock = self.state.lock()?;
        let now = Some(Timestamp::now().as_nanos());
        // Each line has the state to put back, in case others are damaged.
        let with_first = |intent: &Intent| {
            let first = self.first(intent.thread, intent.began);
            let (before, at_ns) =
                first.map_or_else(|| (self.state_of(intent), now), |it| (it.before, it.at_ns));
            Entry::Intent(Intent { before, at_ns, ..intent.clone() })
        };
        let entries: Vec<Entry> = intents.iter().map(with_first).collect();
        self.append(&entries)
    }

    /// The present state of a thread: another session may have put it back since the caller has
    /// looked at it.
    fn state_of(&self, intent: &Intent) -> ThreadState {
        match self.scheduler.look(intent.process, intent.thread) {
            Ok(Some((began, state))) if began == intent.began => state,
            _ => intent.before,
        }
    }

    /// Records changes that were made, with a thread's state if it is not the
    /// wanted one.
    ///
    /// # Errors
    /// The file cannot be written; the changes count as not settled.
    pub fn settle(&mut self, done: &[(ThreadId, Option<ThreadState>)]) -> Result<()> {
        let entry =
            |&(thread, state): &(ThreadId, Option<ThreadState>)| Entry::Settled { thread, state };
        let entries: Vec<Entry> = done.iter().map(entry).collect();
        self.note(&entries)
    }

    /// Gives up threads that were not changed after all, have ended, or were
    /// changed by another program. Threads that were never announced are skipped.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn forget(&mut self, threads: &[ThreadId]) -> Result<()> {
        let held = threads.iter().filter(|thread| self.contents.threads.contains_key(thread));
        let entries: Vec<Entry> = held.map(|&thread| Entry::Restored { thread }).collect();
        self.note(&entries)
    }

    /// Gives up processes that have ended, with all their threads.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn forget_processes(&mut self, ended: impl Fn(u32) -> bool) -> Result<()> {
        let threads = self.contents.threads.iter().filter(|(_, held)| ended(held.intent.process));
        let threads = threads.map(|(&thread, _)| Entry::Restored { thread });
        let limits = self.contents.limits.iter().filter(|held| ended(held.process));
        let limits = limits.map(|held| Entry::LimitRestored { process: held.process });
        let entries: Vec<Entry> = threads.chain(limits).collect();
        self.note(&entries)
    }

    /// Limits how long a real-time thread of `process` may compute without a
    /// sleep (`RLIMIT_RTTIME`). A shorter limit stays. Returns the limit now in
    /// force. With `hard`, raising it needs `CAP_SYS_RESOURCE`.
    ///
    /// # Errors
    /// The process has ended (`is_not_found`) or belongs to another user.
    pub fn limit(&mut self, process: u32, longest: Nanos, hard: bool) -> Result<Option<Nanos>> {
        self.make_room()?;
        let _lock = self.state.lock()?;
        let before = self.scheduler.run_limit(process)?;
        let mut during = before.at_most(longest);
        if hard {
            during.hard = Some(before.hard.map_or(longest, |before| before.min(longest)));
        }
        // A limit that another session has set must stay as long as this one needs it.
        let is_of_another = || self.others().hold_limit_of(process);
        if during != before || !self.contents.holds_limit_of(process) && is_of_another() {
            let Some((began, _)) = self.scheduler.look(process, ThreadId(process))? else {
                let target = format!("RLIMIT_RTTIME of process {process}");
                return Err(Error::syscall("prlimit", target, Errno::SRCH));
            };
            let held = self.contents.limits.iter().find(|held| held.process == process);
            let first = held.filter(|held| held.began == began);
            let now = Some(Timestamp::now().as_nanos());
            let (before, at_ns) = first.map_or((before, now), |held| (held.before, held.at_ns));
            self.append(&[Entry::Limit { process, began, before, during, at_ns }])?;
            self.scheduler.set_run_limit(process, during)?;
        }
        Ok(during.soft)
    }

    /// Puts one thread back before the rest.
    pub fn put_back(&mut self, thread: ThreadId) -> Option<ThreadReport> {
        // It becomes ordinary for good, whatever other sessions have made of it.
        let (held, others) = (self.contents.threads.get(&thread)?, OtherLedgers::default());
        let report = put_back(held, &others, self.scheduler, Mode::Act);
        if !report.outcome.is_failure() {
            // If this cannot be written, the next reader finds it already back.
            let _best_effort = self.note(&[Entry::Restored { thread }]);
        }
        Some(report)
    }

    /// Puts everything back, and removes the ledger if that has succeeded. What another session
    /// has changed later stays recorded, and is put back after that. What ended sessions have
    /// changed in the same threads before is put back, too.
    pub fn finish(mut self) -> Vec<ThreadReport> {
        let lock = self.state.lock().ok();
        let others = self.others();
        let mut over = Vec::new();
        let mut reports =
            put_back_all(&self.contents, &others, self.scheduler, Mode::Act, |entry| {
                over.push(entry);
            });
        let _best_effort = self.file.note(&over);
        if !reports.iter().any(|report| report.outcome.is_open()) {
            self.clear();
        }
        drop(lock);
        if others.have_ended_with(&self.contents) {
            reports.extend(self.put_back_waiting());
        }
        reports
    }

    /// The other ledgers; none if the state directory cannot be read.
    fn others(&self) -> OtherLedgers {
        OtherLedgers::read(&self.state, self.file.name(), &Over::default()).unwrap_or_default()
    }

    /// Puts back what ended sessions have left. Returns what they had changed in the same threads.
    fn put_back_waiting(&self) -> Vec<ThreadReport> {
        let (dir, which) = (self.state.path(), Selection::CutOff);
        // Failures are for `unjank restore` to report, as without this session.
        let found = restore(self.root, dir, which, Mode::Act, self.scheduler).unwrap_or_default();
        let changes = found.into_iter().flat_map(|found| found.changes);
        let is_ours = |change: &ThreadReport| match change.thread {
            Some(thread) => self.contents.threads.contains_key(&thread),
            None => self.contents.holds_limit_of(change.process),
        };
        changes
            .filter(|change| change.outcome == RestoreOutcome::PutBack && is_ours(change))
            .collect()
    }

    /// Ends the session; the changes stay until they are restored.
    ///
    /// # Errors
    /// The file cannot be written; the changes are put back then.
    pub fn keep(mut self) -> Result<()> {
        if let Err(error) = self.note(&[Entry::Kept]) {
            self.finish();
            return Err(error);
        }
        if self.contents.is_empty() {
            self.clear();
        }
        Ok(())
    }

    fn clear(&self) {
        // If this fails, the next session removes it.
        let _best_effort = self.state.remove_journal(self.file.name());
    }

    fn note(&mut self, entries: &[Entry]) -> Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        self.make_room()?;
        self.append(entries)
    }

    fn append(&mut self, entries: &[Entry]) -> Result<()> {
        self.file.note(entries)?;
        for entry in entries {
            let path = self.file.path();
            self.contents.apply(entry).map_err(|what| Error::parse(path, 1, what))?;
        }
        Ok(())
    }

    /// Starts a new file with the changes that are held now, if this one is large. Until the old
    /// file is removed, both hold the same changes.
    fn make_room(&mut self) -> Result<()> {
        if self.file.length() <= LARGEST / 2 {
            return Ok(());
        }
        let _lock = self.state.lock()?;
        let Some(header) = &self.contents.header else { return Ok(()) };
        let mut file = LedgerFile::create(&self.state, &name(header.owner), header)?;
        file.note(&self.contents.entries())?;
        self.state.remove_journal(self.file.name())?;
        self.file = file;
        Ok(())
    }
}
