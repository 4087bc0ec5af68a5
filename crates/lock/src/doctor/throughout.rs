//! Threads that slept through the whole watch.
//!
//! Their waits neither begin nor end in a window of the trace. So the state of each
//! such thread is read once, at the end: what it waits for then, it has waited for all
//! the time.

use std::collections::BTreeMap;

use unjank_host::Root;
use unjank_host::address_space::{AddressSpace, FutexId};
use unjank_host::sched::ThreadId;
use unjank_host::waiting_call::{self, Doing, EndlessWait, WaitingCall};

use super::futexes::Futexes;
use super::observed::{ObservedThread, Slept};
use super::roster::Roster;

/// The value of a lock that is taken and has waiters: glibc's `lll_lock`, and Rust's
/// `Mutex`.
const CONTENDED: u32 = 2;
/// The offset of `__owner` in glibc's `pthread_mutex_t`.
const OWNER: usize = 8;
/// `FUTEX_TID_MASK` of `include/uapi/linux/futex.h`.
const TID: u32 = 0x3fff_ffff;
/// How many holders are looked up.
const MOST_LOCKS: usize = 64;

/// A thread that slept through the watch in a wait without a time limit.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Sleeper {
    thread: ThreadId,
    process: u32,
    futex: FutexId,
    /// Whether the futex has the value of a contended lock.
    is_lock: bool,
    /// The holder, by the memory around the futex, and whether it waits for events.
    holder: Option<(ThreadId, bool)>,
    /// Whether it may run Java code in a JVM.
    runs_java: bool,
}

/// Looks at the threads that have not run since the watch began.
pub(crate) fn look(
    root: &Root,
    roster: &Roster,
    futexes: &mut Futexes,
) -> BTreeMap<ThreadId, Slept> {
    let mut holders = BTreeMap::new();
    let mut sleepers = Vec::new();
    for seen in roster.observed().map(|(seen, _)| seen).filter(has_not_run) {
        let process = seen.owner.process;
        let call = waiting_call::blocked_in(root, process, seen.thread);
        let Some(wait) = call.and_then(|call| call.endless_wait()) else { continue };
        let futex = futexes.id(root, roster, seen.thread, wait.word);
        let is_lock = wait.is_lock || wait.value == CONTENDED;
        let fits = holders.len() < MOST_LOCKS || holders.contains_key(&futex);
        let mut holder = None;
        if is_lock && fits {
            let find = || holder_of(root, roster, process, wait);
            holder = *holders.entry(futex).or_insert_with(find);
        }
        let runs_java = seen.runs_the_programs_java();
        sleepers.push(Sleeper { thread: seen.thread, process, futex, is_lock, holder, runs_java });
    }
    judge(&sleepers)
}

fn has_not_run(seen: &ObservedThread) -> bool {
    (seen.voluntary, seen.involuntary) == (0, 0) && seen.cpu.get() == 0
}

/// The watched thread that holds a mutex, and whether it waits for events.
fn holder_of(
    root: &Root,
    roster: &Roster,
    process: u32,
    wait: EndlessWait,
) -> Option<(ThreadId, bool)> {
    let space = AddressSpace::of(root, process).ok()?;
    let memory = space.bytes(root, wait.word.address, OWNER + 4)?;
    let number = |at: usize| Some(u32::from_ne_bytes(memory.get(at..at + 4)?.try_into().ok()?));
    let holder = if wait.is_lock {
        number(0)? & TID
    } else {
        number(OWNER).filter(|_| number(0) == Some(CONTENDED))?
    };
    let holder = ThreadId(holder);
    let its_process = roster.process_of(holder)?;
    let doing = waiting_call::doing(root, its_process, holder);
    Some((holder, doing == Some(Doing::Waiting(WaitingCall::Poll))))
}

/// What each of these threads slept on, if it may be a lock: pure.
fn judge(sleepers: &[Sleeper]) -> BTreeMap<ThreadId, Slept> {
    let mut on_futex: BTreeMap<FutexId, usize> = BTreeMap::new();
    let mut in_jvm: BTreeMap<u32, usize> = BTreeMap::new();
    for sleeper in sleepers {
        *on_futex.entry(sleeper.futex).or_default() += 1;
        *in_jvm.entry(sleeper.process).or_default() += usize::from(sleeper.runs_java);
    }
    let slept = |it: &Sleeper| {
        let (waiters, threads) = (on_futex[&it.futex], in_jvm[&it.process]);
        match it.holder {
            Some((holder, polls)) => Some(Slept::Mutex { holder, polls, waiters }),
            None if it.is_lock && waiters > 1 => Some(Slept::Lock { waiters }),
            None if it.runs_java && threads > 1 => Some(Slept::Jvm { threads }),
            None => None,
        }
    };
    sleepers.iter().filter_map(|it| Some((it.thread, slept(it)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeper(thread: u32, word: u64, change: impl FnOnce(&mut Sleeper)) -> Sleeper {
        let mut it = Sleeper {
            thread: ThreadId(thread),
            process: 7,
            futex: FutexId::Private { process: 7, address: word },
            is_lock: false,
            holder: None,
            runs_java: false,
        };
        change(&mut it);
        it
    }

    fn judged(sleepers: &[Sleeper]) -> Vec<Option<Slept>> {
        let slept = judge(sleepers);
        sleepers.iter().map(|it| slept.get(&it.thread).copied()).collect()
    }

    #[test]
    fn waiters_for_one_holder_are_counted() {
        let held = |it: &mut Sleeper| {
            (it.is_lock, it.holder) = (true, Some((ThreadId(9), false)));
        };
        let mutex = |waiters| Slept::Mutex { holder: ThreadId(9), polls: false, waiters };
        let sleepers = [sleeper(1, 0x10, held), sleeper(2, 0x10, held), sleeper(3, 0x20, held)];
        assert_eq!(judged(&sleepers), [Some(mutex(2)), Some(mutex(2)), Some(mutex(1))]);
    }

    #[test]
    fn a_lock_without_a_known_holder_needs_two_waiters() {
        let lock = |it: &mut Sleeper| it.is_lock = true;
        let both = [sleeper(1, 0x10, lock), sleeper(2, 0x10, lock)];
        assert_eq!(judged(&both), [Some(Slept::Lock { waiters: 2 }); 2]);
        assert_eq!(judged(&both[..1]), [None]);
    }

    #[test]
    fn idle_threads_of_a_pool_are_behind_no_lock() {
        let pool: Vec<_> = (1..9).map(|thread| sleeper(thread, 0x10, |_| {})).collect();
        assert_eq!(judged(&pool), [None; 8]);
    }

    #[test]
    fn two_threads_of_a_jvm_may_wait_for_a_monitor() {
        let java = |it: &mut Sleeper| it.runs_java = true;
        let both = [sleeper(1, 0x10, java), sleeper(2, 0x20, java), sleeper(3, 0x30, |_| {})];
        let slept = Some(Slept::Jvm { threads: 2 });
        assert_eq!(judged(&both), [slept, slept, None]);
        assert_eq!(judged(&both[1..]), [None, None]);
    }
}
