//! Sessions with a scripted scheduler.

mod damage;
mod several_sessions;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;

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

/// A machine on which process 77 is, and a scheduler with its threads 77 to 79.
fn machine() -> (tempfile::TempDir, Root, Scripted) {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("proc/77")).unwrap();
    let scheduler = Scripted::default();
    for id in 77..80 {
        scheduler.threads.borrow_mut().insert(ThreadId(id), (Began(900), OTHER));
    }
    let root = Root::at(dir.path());
    (dir, root, scheduler)
}

fn intent(id: u32, before: ThreadState, wanted: ThreadState) -> Intent {
    let (thread, name) = (ThreadId(id), format!("t{id}"));
    Intent { process: 77, thread, began: Began(900), name, before, wanted, at_ns: None }
}

fn change(ledger: &mut Ledger<'_>, scheduler: &Scripted, id: u32, wanted: ThreadState) {
    let before = scheduler.look(77, ThreadId(id)).unwrap().unwrap().1;
    ledger.announce(&[intent(id, before, wanted)]).unwrap();
    scheduler.set(ThreadId(id), wanted).unwrap();
    ledger.settle(&[(ThreadId(id), None)]).unwrap();
}

fn outcomes(found: &[FoundLedger]) -> Vec<RestoreOutcome> {
    found.iter().flat_map(|found| &found.changes).map(|change| change.outcome.clone()).collect()
}

fn ledgers(dir: &tempfile::TempDir) -> usize {
    fs::read_dir(dir.path().join("rt")).map_or(0, Iterator::count)
}

#[test]
fn kept_changes_stay_until_they_are_restored() {
    let (dir, root, scheduler) = machine();
    let place = dir.path().join("rt");
    let mut ledger = Ledger::begin(&root, &place, Some(77), false, &scheduler, None).unwrap();
    change(&mut ledger, &scheduler, 78, fifo(80));
    assert_eq!(
        ledger.limit(77, Nanos::from_millis(1_000), false).unwrap(),
        Some(Nanos(1_000_000_000))
    );
    let all = |which, mode| restore(&root, &place, which, mode, &scheduler).unwrap();
    assert_eq!(all(Selection::All, Mode::Act)[0].status, LedgerStatus::Live);
    ledger.keep().unwrap();
    let found = all(Selection::CutOff, Mode::Act);
    assert_eq!((&found[0].status, found[0].held), (&LedgerStatus::Kept, 1));
    assert_eq!(outcomes(&found), []);
    assert!(all(Selection::Process(5), Mode::Act).is_empty());
    let would = outcomes(&all(Selection::All, Mode::DryRun));
    assert_eq!(would, [RestoreOutcome::WouldPutBack, RestoreOutcome::WouldPutBack]);
    assert_eq!(scheduler.look(77, ThreadId(78)).unwrap().unwrap().1, fifo(80));
    let back = outcomes(&all(Selection::Process(77), Mode::Act));
    assert_eq!(back, [RestoreOutcome::PutBack, RestoreOutcome::PutBack]);
    assert_eq!(scheduler.look(77, ThreadId(78)).unwrap().unwrap().1, OTHER);
    assert_eq!((*scheduler.limit.borrow(), ledgers(&dir)), (UNLIMITED, 0));
}

#[test]
fn a_limit_that_was_lowered_twice_goes_back_to_the_first_value() {
    let (dir, root, scheduler) = machine();
    let place = dir.path().join("rt");
    let mut ledger = Ledger::begin(&root, &place, Some(77), true, &scheduler, None).unwrap();
    change(&mut ledger, &scheduler, 77, fifo(80));
    for (millis, hard) in [(1_000, false), (200, true)] {
        ledger.limit(77, Nanos::from_millis(millis), hard).unwrap();
    }
    let short = Some(Nanos::from_millis(200));
    assert_eq!(*scheduler.limit.borrow(), RunLimit { soft: short, hard: short });
    let reports = ledger.finish();
    assert!(reports.iter().all(|report| report.outcome == RestoreOutcome::PutBack), "{reports:?}");
    assert_eq!(*scheduler.limit.borrow(), UNLIMITED);
}

#[test]
fn a_ledger_drops_finished_changes_before_it_is_full() {
    let (dir, root, scheduler) = machine();
    let place = dir.path().join("rt");
    let mut ledger = Ledger::begin(&root, &place, None, true, &scheduler, None).unwrap();
    change(&mut ledger, &scheduler, 77, fifo(80));
    ledger.limit(77, Nanos::from_millis(1_000), false).unwrap();
    let many: Vec<Intent> = (1_000..2_000).map(|id| intent(id, OTHER, fifo(70))).collect();
    for _ in 0..60 {
        ledger.announce(&many).unwrap();
        ledger.forget(&many.iter().map(|intent| intent.thread).collect::<Vec<_>>()).unwrap();
    }
    let size = |entry: fs::DirEntry| entry.metadata().unwrap().len();
    let sizes: Vec<u64> = fs::read_dir(&place).unwrap().map(|entry| size(entry.unwrap())).collect();
    assert!(sizes.len() == 1 && sizes[0] < 6 << 20, "{sizes:?}");
    drop(ledger);
    let found = restore(&root, &place, Selection::Process(77), Mode::Act, &scheduler).unwrap();
    assert_eq!(outcomes(&found), [RestoreOutcome::PutBack, RestoreOutcome::PutBack]);
    assert_eq!(*scheduler.limit.borrow(), UNLIMITED);
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
    let (_dir, root, scheduler) = machine();
    let place = root.resolve("/rt");
    let mut ledger = Ledger::begin(&root, &place, Some(77), true, &scheduler, None).unwrap();
    for id in 77..80 {
        change(&mut ledger, &scheduler, id, fifo(80));
    }
    scheduler.threads.borrow_mut().remove(&ThreadId(77));
    scheduler.threads.borrow_mut().insert(ThreadId(78), (Began(950), fifo(80)));
    scheduler.threads.borrow_mut().insert(ThreadId(79), (Began(900), fifo(50)));
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
    assert_eq!(scheduler.look(77, ThreadId(78)).unwrap().unwrap().1, fifo(80));
}

#[test]
fn announced_changes_of_a_killed_session_are_put_back() {
    let (dir, root, scheduler) = machine();
    let place = dir.path().join("rt");
    let mut ledger = Ledger::begin(&root, &place, Some(77), false, &scheduler, None).unwrap();
    ledger.announce(&[intent(78, OTHER, fifo(80)), intent(79, OTHER, fifo(80))]).unwrap();
    scheduler.set(ThreadId(78), fifo(80)).unwrap();
    drop(ledger);
    let found = restore(&root, &place, Selection::CutOff, Mode::Act, &scheduler).unwrap();
    assert_eq!(found[0].status, LedgerStatus::CutOff);
    assert_eq!(outcomes(&found), [RestoreOutcome::PutBack, RestoreOutcome::AlreadyBack]);
    assert_eq!(ledgers(&dir), 0);
}

#[test]
fn changes_that_cannot_be_put_back_are_kept_and_reported() {
    let (dir, root, mut scheduler) = machine();
    let place = dir.path().join("rt");
    let mut ledger = Ledger::begin(&root, &place, Some(77), false, &scheduler, None).unwrap();
    change(&mut ledger, &scheduler, 78, fifo(80));
    ledger.keep().unwrap();
    scheduler.denies = true;
    let found = restore(&root, &place, Selection::All, Mode::Act, &scheduler).unwrap();
    assert!(found[0].is_unresolved());
    assert_eq!(ledgers(&dir), 1);
    fs::write(place.join("00000000000000000000-1.journal"), "{}\n").unwrap();
    scheduler.denies = false;
    let found = restore(&root, &place, Selection::All, Mode::Act, &scheduler).unwrap();
    assert_eq!(outcomes(&found), [RestoreOutcome::PutBack]);
    assert!(matches!(found[1].status, LedgerStatus::Unreadable { .. }), "{found:?}");
}

#[test]
fn changes_stay_only_once_that_is_recorded() {
    let (dir, root, scheduler) = machine();
    let place = dir.path().join("rt");
    let mut ledger = Ledger::begin(&root, &place, Some(77), false, &scheduler, None).unwrap();
    change(&mut ledger, &scheduler, 78, fifo(80));
    drop(ledger);
    let found = restore(&root, &place, Selection::CutOff, Mode::Act, &scheduler).unwrap();
    assert_eq!(
        (&found[0].status, outcomes(&found)),
        (&LedgerStatus::CutOff, vec![RestoreOutcome::PutBack])
    );
}

#[test]
fn a_ledger_is_kept_where_its_threads_cannot_be_seen() {
    let (dir, root, scheduler) = machine();
    fs::create_dir_all(dir.path().join("proc/self/ns")).unwrap();
    let namespace = dir.path().join("proc/self/ns/pid");
    let boot_id = dir.path().join("proc/sys/kernel/random/boot_id");
    std::os::unix::fs::symlink("pid:[1]", &namespace).unwrap();
    fs::create_dir_all(boot_id.parent().unwrap()).unwrap();
    fs::write(&boot_id, "first").unwrap();
    let place = dir.path().join("rt");
    let mut ledger = Ledger::begin(&root, &place, Some(77), true, &scheduler, None).unwrap();
    change(&mut ledger, &scheduler, 78, fifo(80));
    drop(ledger);
    let is_kept = |why: &str| {
        // As in another namespace: its threads are not visible.
        scheduler.threads.borrow_mut().remove(&ThreadId(78));
        let found = restore(&root, &place, Selection::All, Mode::Act, &scheduler).unwrap();
        let LedgerStatus::Hidden { reason } = &found[0].status else { panic!("{found:?}") };
        assert!(reason.contains(why), "{reason}");
        // A session does not remove it, either.
        Ledger::begin(&root, &place, None, true, &scheduler, None).unwrap().finish();
        assert_eq!(ledgers(&dir), 1);
    };
    fs::remove_file(&namespace).unwrap();
    std::os::unix::fs::symlink("pid:[2]", &namespace).unwrap();
    is_kept("another PID namespace");
    fs::remove_file(&boot_id).unwrap();
    is_kept("boot_id");
    fs::remove_file(&namespace).unwrap();
    std::os::unix::fs::symlink("pid:[1]", &namespace).unwrap();
    fs::write(&boot_id, "first").unwrap();
    assert_eq!(restore(&root, &place, Selection::All, Mode::Act, &scheduler).unwrap().len(), 1);
    assert_eq!(ledgers(&dir), 0);
}

#[test]
fn ledgers_of_dead_processes_are_cleared_by_the_next_session() {
    let (dir, root, scheduler) = machine();
    let place = dir.path().join("rt");
    let mut ledger = Ledger::begin(&root, &place, Some(77), false, &scheduler, None).unwrap();
    change(&mut ledger, &scheduler, 78, fifo(80));
    ledger.keep().unwrap();
    fs::remove_dir(dir.path().join("proc/77")).unwrap();
    Ledger::begin(&root, &place, Some(78), false, &scheduler, None).unwrap().keep().unwrap();
    assert_eq!(ledgers(&dir), 0);
}
