//! Sessions with a scripted scheduler.

mod damage;
mod several_sessions;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::contents::Contents;
use super::*;
use crate::error::{Error, Result};
use crate::journal::{Mode, RestoreOutcome};
use crate::root::Root;
use crate::sched::{Policy, Priority, RunLimit, ThreadId};
use crate::threads::{Began, Thread};
use unjank_units::Nanos;

#[derive(Debug)]
struct Scripted {
    threads: RefCell<BTreeMap<ThreadId, (Began, ThreadState)>>,
    limit: RefCell<RunLimit>,
    denies: bool,
}

const UNLIMITED: RunLimit = RunLimit { soft: None, hard: None };

impl Default for Scripted {
    fn default() -> Self {
        Self { threads: RefCell::default(), limit: RefCell::new(UNLIMITED), denies: false }
    }
}

impl Scheduler for Scripted {
    fn look(&self, _: u32, thread: ThreadId) -> Result<Option<(Began, ThreadState)>> {
        Ok(self.threads.borrow().get(&thread).copied())
    }

    fn state_of(&self, thread: &Thread) -> Result<Option<ThreadState>> {
        Ok(self.look(0, thread.id)?.map(|(_, state)| state))
    }

    fn set(&self, thread: ThreadId, state: ThreadState) -> Result<()> {
        if self.denies {
            let needs = "CAP_SYS_NICE".to_owned();
            return Err(Error::Permission { what: "this".to_owned(), needs });
        }
        match self.threads.borrow_mut().get_mut(&thread) {
            Some((_, now)) => *now = state,
            None => return Err(Error::syscall("sched_setattr", "it", rustix::io::Errno::SRCH)),
        }
        Ok(())
    }

    fn run_limit(&self, _: u32) -> Result<RunLimit> {
        Ok(*self.limit.borrow())
    }

    fn set_run_limit(&self, _: u32, limit: RunLimit) -> Result<()> {
        *self.limit.borrow_mut() = limit;
        Ok(())
    }
}

const OTHER: ThreadState = ThreadState { policy: Policy::other(0), reset_on_fork: false, nice: 0 };

fn fifo(priority: u8) -> ThreadState {
    ThreadState {
        policy: Policy::Fifo(Priority::new(priority).unwrap()),
        reset_on_fork: true,
        nice: 0,
    }
}

/// A machine on which process 77 is, a scheduler with its threads 77 to 79, and ledgers.
struct Machine {
    dir: tempfile::TempDir,
    root: Root,
    place: PathBuf,
    scheduler: Scripted,
}

impl Machine {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("proc/77")).unwrap();
        let scheduler = Scripted::default();
        for id in 77..80 {
            scheduler.threads.borrow_mut().insert(ThreadId(id), (Began(900), OTHER));
        }
        let (root, place) = (Root::at(dir.path()), dir.path().join("rt"));
        Self { dir, root, place, scheduler }
    }

    fn begin(&self, process: Option<u32>, tied: bool) -> Ledger<'_> {
        Ledger::begin(&self.root, &self.place, process, tied, &self.scheduler, None).unwrap()
    }

    fn change(&self, ledger: &mut Ledger<'_>, id: u32, wanted: ThreadState) {
        ledger.announce(&[intent(id, self.now(id), wanted)]).unwrap();
        self.scheduler.set(ThreadId(id), wanted).unwrap();
        ledger.settle(&[(ThreadId(id), None)]).unwrap();
    }

    fn restore(&self, which: Selection, mode: Mode) -> Vec<FoundLedger> {
        restore(&self.root, &self.place, which, mode, &self.scheduler).unwrap()
    }

    fn now(&self, id: u32) -> ThreadState {
        self.scheduler.look(77, ThreadId(id)).unwrap().unwrap().1
    }

    fn limit(&self) -> RunLimit {
        *self.scheduler.limit.borrow()
    }

    fn ledgers(&self) -> usize {
        self.files().len()
    }

    /// The files of all ledgers.
    fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.place).into_iter().flatten();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|end| end == "journal")).collect()
    }
}

fn intent(id: u32, before: ThreadState, wanted: ThreadState) -> Intent {
    let (thread, name) = (ThreadId(id), format!("t{id}"));
    Intent { process: 77, thread, began: Began(900), name, before, wanted, at_ns: None }
}

fn outcomes(found: &[FoundLedger]) -> Vec<RestoreOutcome> {
    found.iter().flat_map(|found| &found.changes).map(|change| change.outcome.clone()).collect()
}

#[test]
fn kept_changes_stay_until_they_are_restored() {
    let machine = Machine::new();
    let mut ledger = machine.begin(Some(77), false);
    machine.change(&mut ledger, 78, fifo(80));
    assert_eq!(
        ledger.limit(77, Nanos::from_millis(1_000), false).unwrap(),
        Some(Nanos(1_000_000_000))
    );
    let all = |which, mode| machine.restore(which, mode);
    assert_eq!(all(Selection::All, Mode::Act)[0].status, LedgerStatus::Live);
    ledger.keep().unwrap();
    let found = all(Selection::CutOff, Mode::Act);
    assert_eq!((&found[0].status, found[0].held), (&LedgerStatus::Kept, 1));
    assert_eq!(outcomes(&found), []);
    assert!(all(Selection::Process(5), Mode::Act).is_empty());
    let would = outcomes(&all(Selection::All, Mode::DryRun));
    assert_eq!(would, [RestoreOutcome::WouldPutBack, RestoreOutcome::WouldPutBack]);
    assert_eq!(machine.now(78), fifo(80));
    let back = outcomes(&all(Selection::Process(77), Mode::Act));
    assert_eq!(back, [RestoreOutcome::PutBack, RestoreOutcome::PutBack]);
    assert_eq!(machine.now(78), OTHER);
    assert_eq!((machine.limit(), machine.ledgers()), (UNLIMITED, 0));
}

#[test]
fn a_limit_that_was_lowered_twice_goes_back_to_the_first_value() {
    let machine = Machine::new();
    let mut ledger = machine.begin(Some(77), true);
    machine.change(&mut ledger, 77, fifo(80));
    for (millis, hard) in [(1_000, false), (200, true)] {
        ledger.limit(77, Nanos::from_millis(millis), hard).unwrap();
    }
    let short = Some(Nanos::from_millis(200));
    assert_eq!(machine.limit(), RunLimit { soft: short, hard: short });
    let reports = ledger.finish();
    assert!(reports.iter().all(|report| report.outcome == RestoreOutcome::PutBack), "{reports:?}");
    assert_eq!(machine.limit(), UNLIMITED);
}

#[test]
fn a_ledger_drops_finished_changes_before_it_is_full() {
    let machine = Machine::new();
    let mut ledger = machine.begin(None, true);
    machine.change(&mut ledger, 77, fifo(80));
    ledger.limit(77, Nanos::from_millis(1_000), false).unwrap();
    let many: Vec<Intent> = (1_000..2_000).map(|id| intent(id, OTHER, fifo(70))).collect();
    for _ in 0..60 {
        ledger.announce(&many).unwrap();
        ledger.forget(&many.iter().map(|intent| intent.thread).collect::<Vec<_>>()).unwrap();
    }
    let size = |path: &PathBuf| path.metadata().unwrap().len();
    let sizes: Vec<u64> = machine.files().iter().map(size).collect();
    assert!(sizes.len() == 1 && sizes[0] < 6 << 20, "{sizes:?}");
    drop(ledger);
    let found = machine.restore(Selection::Process(77), Mode::Act);
    assert_eq!(outcomes(&found), [RestoreOutcome::PutBack, RestoreOutcome::PutBack]);
    assert_eq!(machine.limit(), UNLIMITED);
}

#[test]
fn a_shortened_ledger_holds_the_same_changes() {
    let limit = |millis| RunLimit { soft: Some(Nanos::from_millis(millis)), hard: None };
    let limited = |millis| Entry::Limit {
        process: 77,
        began: Began(900),
        before: UNLIMITED,
        during: limit(millis),
        at_ns: Some(1),
    };
    let entries = [
        limited(3),
        limited(2),
        limited(3),
        Entry::Intent(intent(78, OTHER, fifo(70))),
        Entry::Settled { thread: ThreadId(78), state: Some(fifo(60)) },
        Entry::Intent(intent(78, fifo(60), fifo(80))),
        Entry::Settled { thread: ThreadId(78), state: None },
        Entry::Intent(intent(79, OTHER, fifo(70))),
    ];
    let read = |entries: &[Entry]| {
        let mut contents = Contents::default();
        for entry in entries {
            contents.apply(entry).unwrap();
        }
        contents
    };
    let contents = read(&entries);
    assert_eq!(contents.limits[0].ours, [limit(2), limit(3)]);
    assert_eq!(contents.threads[&ThreadId(78)].ours, [fifo(70), fifo(60), fifo(80)]);
    assert_eq!(read(&contents.entries()), contents);
}

#[test]
fn reused_thread_numbers_and_changes_of_other_programs_are_left_alone() {
    let machine = Machine::new();
    let mut ledger = machine.begin(Some(77), true);
    for id in 77..80 {
        machine.change(&mut ledger, id, fifo(80));
    }
    machine.scheduler.threads.borrow_mut().remove(&ThreadId(77));
    machine.scheduler.threads.borrow_mut().insert(ThreadId(78), (Began(950), fifo(80)));
    machine.scheduler.threads.borrow_mut().insert(ThreadId(79), (Began(900), fifo(50)));
    let reports = ledger.finish();
    let outcomes: Vec<&RestoreOutcome> = reports.iter().map(|report| &report.outcome).collect();
    assert_eq!(
        outcomes,
        [&RestoreOutcome::Gone, &RestoreOutcome::Gone, &RestoreOutcome::LeftToOthers]
    );
    assert_eq!(
        reports[2].to_string(),
        "t79 (thread 79): left at fifo:50 reset-on-fork, which another program or another unjank \
         set after our fifo:80 reset-on-fork"
    );
    assert_eq!(machine.now(78), fifo(80));
}

#[test]
fn announced_changes_of_a_killed_session_are_put_back() {
    let machine = Machine::new();
    let mut ledger = machine.begin(Some(77), false);
    ledger.announce(&[intent(78, OTHER, fifo(80)), intent(79, OTHER, fifo(80))]).unwrap();
    machine.scheduler.set(ThreadId(78), fifo(80)).unwrap();
    drop(ledger);
    let found = machine.restore(Selection::CutOff, Mode::Act);
    assert_eq!(found[0].status, LedgerStatus::CutOff);
    assert_eq!(outcomes(&found), [RestoreOutcome::PutBack, RestoreOutcome::AlreadyBack]);
    assert_eq!(machine.ledgers(), 0);
}

#[test]
fn changes_that_cannot_be_put_back_are_kept_and_reported() {
    let mut machine = Machine::new();
    let mut ledger = machine.begin(Some(77), false);
    machine.change(&mut ledger, 78, fifo(80));
    ledger.keep().unwrap();
    machine.scheduler.denies = true;
    let found = machine.restore(Selection::All, Mode::Act);
    assert!(found[0].is_unresolved());
    assert_eq!(machine.ledgers(), 1);
    fs::write(machine.place.join("00000000000000000000-1.journal"), "{}\n").unwrap();
    machine.scheduler.denies = false;
    let found = machine.restore(Selection::All, Mode::Act);
    assert_eq!(outcomes(&found), [RestoreOutcome::PutBack]);
    assert!(matches!(found[1].status, LedgerStatus::Unreadable { .. }), "{found:?}");
}

#[test]
fn changes_stay_only_once_that_is_recorded() {
    let machine = Machine::new();
    let mut ledger = machine.begin(Some(77), false);
    machine.change(&mut ledger, 78, fifo(80));
    drop(ledger);
    let found = machine.restore(Selection::CutOff, Mode::Act);
    assert_eq!(
        (&found[0].status, outcomes(&found)),
        (&LedgerStatus::CutOff, vec![RestoreOutcome::PutBack])
    );
}

#[test]
fn a_ledger_is_kept_where_its_threads_cannot_be_seen() {
    let machine = Machine::new();
    fs::create_dir_all(machine.dir.path().join("proc/self/ns")).unwrap();
    let namespace = machine.dir.path().join("proc/self/ns/pid");
    let boot_id = machine.dir.path().join("proc/sys/kernel/random/boot_id");
    std::os::unix::fs::symlink("pid:[1]", &namespace).unwrap();
    fs::create_dir_all(boot_id.parent().unwrap()).unwrap();
    fs::write(&boot_id, "first").unwrap();
    let mut ledger = machine.begin(Some(77), true);
    machine.change(&mut ledger, 78, fifo(80));
    drop(ledger);
    let is_kept = |why: &str| {
        // As in another namespace: its threads are not visible.
        machine.scheduler.threads.borrow_mut().remove(&ThreadId(78));
        let found = machine.restore(Selection::All, Mode::Act);
        let LedgerStatus::Hidden { reason } = &found[0].status else { panic!("{found:?}") };
        assert!(reason.contains(why), "{reason}");
        // A session does not remove it, either.
        machine.begin(None, true).finish();
        assert_eq!(machine.ledgers(), 1);
    };
    fs::remove_file(&namespace).unwrap();
    std::os::unix::fs::symlink("pid:[2]", &namespace).unwrap();
    is_kept("another PID namespace");
    fs::remove_file(&boot_id).unwrap();
    is_kept("boot_id");
    fs::remove_file(&namespace).unwrap();
    std::os::unix::fs::symlink("pid:[1]", &namespace).unwrap();
    fs::write(&boot_id, "first").unwrap();
    assert_eq!(machine.restore(Selection::All, Mode::Act).len(), 1);
    assert_eq!(machine.ledgers(), 0);
}

#[test]
fn ledgers_of_dead_processes_are_cleared_by_the_next_session() {
    let machine = Machine::new();
    let mut ledger = machine.begin(Some(77), false);
    machine.change(&mut ledger, 78, fifo(80));
    ledger.keep().unwrap();
    fs::remove_dir(machine.dir.path().join("proc/77")).unwrap();
    machine.begin(Some(78), false).keep().unwrap();
    assert_eq!(machine.ledgers(), 0);
}
