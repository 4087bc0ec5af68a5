//! Finds threads that take turns: they wake each other, as threads do that share
//! a lock. Pure.
//!
//! Some locks are no shared futex: each waiter sleeps on a word of its own
//! (HotSpot's park, PostgreSQL's semaphores), in a poll, or for a signal. But the
//! holder wakes the next waiter, and is woken by another one later.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use unjank_host::sched::ThreadId;

use super::observed::Turns;

/// The fewest members of a group: two threads may be a client and its server.
const FEWEST: usize = 3;
/// The fewest members that contend for a monitor: HotSpot may let two threads
/// alternate for a long time while the others starve.
const FEWEST_AT_A_MONITOR: usize = 2;
/// The least share of its time for which a member of a group waits.
const WAITING: f64 = 0.3;
/// The same for a member of a pair: less costs the program little in any case.
const WAITING_IN_A_PAIR: f64 = 0.1;
/// The fewest wake-ups of a member.
const WOKEN: u64 = 5;
/// The least share of a member's wake-ups that come from other members.
const BY_MEMBERS: f64 = 0.4;
/// A thread that gives or takes this share of all wake-ups is no member: one thread
/// that hands out work wakes the threads of a pool, and they wake it.
const HUB: f64 = 0.45;
/// [`WOKEN`] for threads of a JVM that counts contended monitors: HotSpot is not
/// fair, so a thread may get the monitor, and be woken, only once.
const WOKEN_FOR_A_MONITOR: u64 = 1;

/// A waiting thread, and how often each other thread woke it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Sleeper {
    /// The share of its time that it slept ([`super::observed::ObservedThread::waiting_share`]).
    pub(crate) waiting: f64,
    /// Wake-ups by all threads within the windows.
    pub(crate) woken: u64,
    pub(crate) by: HashMap<ThreadId, u64>,
    /// Whether it runs Java in a JVM whose monitors are contended.
    pub(crate) fights_for_monitors: bool,
}

impl Sleeper {
    fn waits(&self, share: f64) -> bool {
        let least = if self.fights_for_monitors { WOKEN_FOR_A_MONITOR } else { WOKEN };
        self.waiting >= share && self.woken >= least
    }
}

/// The threads that take turns; `seconds` is the length of all windows.
pub(crate) fn take_turns(
    sleepers: &BTreeMap<ThreadId, Sleeper>,
    seconds: f64,
) -> BTreeMap<ThreadId, Turns> {
    let mut members: BTreeSet<ThreadId> =
        sleepers.iter().filter(|(_, it)| it.waits(WAITING)).map(|(thread, _)| *thread).collect();
    loop {
        let wakes = Wakes::among(sleepers, &members);
        let stays = |thread: &&ThreadId| {
            let (gives, takes) = (wakes.given(**thread), wakes.taken(**thread));
            let sleeper = &sleepers[*thread];
            let is_hub =
                gives.max(takes) as f64 >= HUB * wakes.all as f64 && !sleeper.fights_for_monitors;
            gives > 0 && !is_hub && takes as f64 >= BY_MEMBERS * sleeper.woken as f64
        };
        let next: BTreeSet<ThreadId> = members.iter().filter(stays).copied().collect();
        if next.len() == members.len() {
            break;
        }
        members = next;
    }
    let at_a_monitor = members.iter().all(|thread| sleepers[thread].fights_for_monitors);
    let fewest = if at_a_monitor { FEWEST_AT_A_MONITOR } else { FEWEST };
    if members.len() < fewest || seconds <= 0.0 {
        return BTreeMap::new();
    }
    let wakes = Wakes::among(sleepers, &members);
    let turns = |thread: &ThreadId| {
        let sleeper = &sleepers[thread];
        Turns {
            members: members.len(),
            waiting: sleeper.waiting,
            woken: sleeper.woken as f64 / seconds,
            by_members: wakes.taken(*thread) as f64 / sleeper.woken.max(1) as f64,
        }
    };
    members.iter().map(|thread| (*thread, turns(thread))).collect()
}

/// Pairs of threads that wake each other, and how often a second: the smaller of
/// both directions. They may share a lock whose waiters sleep on words of their
/// own, or be a client and its server. Threads that are woken mostly by others
/// are no pair.
pub(crate) fn pairs(
    sleepers: &BTreeMap<ThreadId, Sleeper>,
    seconds: f64,
) -> BTreeMap<ThreadId, f64> {
    let by = |woken: &ThreadId, waker: &ThreadId| {
        let sleeper = sleepers.get(woken).filter(|it| it.waits(WAITING_IN_A_PAIR))?;
        let times = sleeper.by.get(waker).copied()?;
        (times as f64 >= BY_MEMBERS * sleeper.woken as f64).then_some(times)
    };
    let partner = |one: &ThreadId, other: &ThreadId| {
        let times = by(one, other)?.min(by(other, one)?);
        (one != other && seconds > 0.0).then(|| times as f64 / seconds)
    };
    let best = |(thread, sleeper): (&ThreadId, &Sleeper)| {
        let rates = sleeper.by.keys().filter_map(|other| partner(thread, other));
        Some((*thread, rates.max_by(f64::total_cmp)?))
    };
    sleepers.iter().filter_map(best).collect()
}

/// Wake-ups among some threads.
#[derive(Debug, Default)]
struct Wakes {
    given: HashMap<ThreadId, u64>,
    taken: HashMap<ThreadId, u64>,
    all: u64,
}

impl Wakes {
    fn among(sleepers: &BTreeMap<ThreadId, Sleeper>, members: &BTreeSet<ThreadId>) -> Self {
        let mut wakes = Self::default();
        for woken in members {
            for (waker, times) in sleepers[woken].by.iter().filter(|(it, _)| members.contains(it)) {
                *wakes.given.entry(*waker).or_default() += times;
                *wakes.taken.entry(*woken).or_default() += times;
                wakes.all += times;
            }
        }
        wakes
    }

    fn given(&self, thread: ThreadId) -> u64 {
        self.given.get(&thread).copied().unwrap_or(0)
    }

    fn taken(&self, thread: ThreadId) -> u64 {
        self.taken.get(&thread).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From tuples of waker, woken thread and count.
    fn sleepers(wakes: &[(u32, u32, u64)]) -> BTreeMap<ThreadId, Sleeper> {
        let mut sleepers: BTreeMap<ThreadId, Sleeper> = BTreeMap::new();
        for &(waker, woken, times) in wakes {
            let sleeper = sleepers.entry(ThreadId(woken)).or_default();
            sleeper.waiting = 0.8;
            sleeper.woken += times;
            *sleeper.by.entry(ThreadId(waker)).or_default() += times;
        }
        sleepers
    }

    fn members(wakes: &[(u32, u32, u64)]) -> Vec<u32> {
        take_turns(&sleepers(wakes), 1.0).into_keys().map(|thread| thread.0).collect()
    }

    const LOCK: [(u32, u32, u64); 6] =
        [(1, 2, 5), (2, 3, 5), (3, 1, 5), (2, 1, 5), (3, 2, 5), (1, 3, 5)];

    #[test]
    fn threads_that_wake_each_other_take_turns() {
        assert_eq!(members(&LOCK), [1, 2, 3]);
        let turns = take_turns(&sleepers(&LOCK), 0.5)[&ThreadId(1)];
        assert_eq!(turns, Turns { members: 3, waiting: 0.8, woken: 20.0, by_members: 1.0 });
        let client = |times| (1..=3).map(|it| (9, it, times)).collect::<Vec<_>>();
        assert_eq!(members(&[&LOCK[..], &client(15)].concat()), [1, 2, 3], "4 of 10 are its own");
        assert!(members(&[&LOCK[..], &client(16)].concat()).is_empty());
        let ring: Vec<_> = (0..5).map(|it| (it, (it + 1) % 5, 50)).collect();
        assert_eq!(members(&ring).len(), 5, "a fair lock has them in one order");
    }

    #[test]
    fn pools_pipelines_and_pairs_do_not_take_turns() {
        let pool: Vec<_> = (2..9).flat_map(|it| [(1, it, 50), (it, 1, 50)]).collect();
        assert!(members(&pool).is_empty());
        let pipeline: Vec<_> = (1..9).map(|it| (it, it + 1, 50)).collect();
        assert!(members(&pipeline).is_empty());
        assert!(members(&[(1, 2, 50), (2, 1, 50)]).is_empty());
        assert!(members(&[]).is_empty());
    }

    #[test]
    fn two_threads_that_wake_each_other_are_a_pair() {
        let pairs = |wakes: &[(u32, u32, u64)]| pairs(&sleepers(wakes), 0.5);
        let both = [(1, 2, 50), (2, 1, 40), (9, 1, 60)];
        assert_eq!(pairs(&both), BTreeMap::from([(ThreadId(1), 80.0), (ThreadId(2), 80.0)]));
        assert!(pairs(&[(1, 2, 50), (2, 1, 40), (9, 1, 61)]).is_empty(), "mostly by others");
        assert!(pairs(&[(1, 2, 50)]).is_empty(), "it wakes nobody");
        assert!(pairs(&[(1, 1, 50)]).is_empty());
        let pool: Vec<_> = (2..9).flat_map(|it| [(1, it, 50), (it, 1, 50)]).collect();
        assert!(pairs(&pool).is_empty(), "many wake the one that hands out work");
    }

    #[test]
    fn a_pair_that_hardly_waits_is_none() {
        let mut sleepers = sleepers(&[(1, 2, 50), (2, 1, 40)]);
        for (waiting, found) in [(0.1, 2), (0.09, 0)] {
            for sleeper in sleepers.values_mut() {
                sleeper.waiting = waiting;
            }
            assert_eq!(pairs(&sleepers, 0.5).len(), found, "{waiting}");
        }
    }

    #[test]
    fn threads_at_a_monitor_take_turns_even_if_one_gets_it_most_often() {
        // Observed with HotSpot: it is not fair.
        let barging = [(4, 3, 455), (4, 1, 429), (3, 4, 400), (1, 4, 294), (1, 7, 2), (7, 3, 1)];
        let mut sleepers = sleepers(&barging);
        assert!(take_turns(&sleepers, 3.2).is_empty());
        for sleeper in sleepers.values_mut() {
            sleeper.fights_for_monitors = true;
        }
        let turns = take_turns(&sleepers, 3.2);
        assert_eq!(turns.into_keys().map(|thread| thread.0).collect::<Vec<_>>(), [1, 3, 4, 7]);
        sleepers.retain(|thread, _| [3, 4].contains(&thread.0));
        assert_eq!(take_turns(&sleepers, 3.2).len(), 2, "two keep it from all others");
    }

    #[test]
    fn threads_that_hardly_wait_or_are_hardly_woken_do_not_take_turns() {
        let mut busy = sleepers(&LOCK);
        for sleeper in busy.values_mut() {
            sleeper.waiting = 0.29;
        }
        assert!(take_turns(&busy, 1.0).is_empty());
        let seldom = LOCK.map(|(waker, woken, _)| (waker, woken, 2));
        assert!(members(&seldom).is_empty());
    }
}
