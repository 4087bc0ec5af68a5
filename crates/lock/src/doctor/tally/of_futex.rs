//! Counts of one futex.

use std::collections::BTreeMap;

use unjank_host::address_space::FutexId;
use unjank_host::sched::ThreadId;
use unjank_host::{Nanos, Timestamp};

use super::super::observed::Futex;

/// How many waits are kept for the median of a futex.
const KEPT: usize = 1_024;

/// The counts of all threads on one futex.
#[derive(Debug, Default)]
pub(super) struct OfFutex {
    pub(super) users: BTreeMap<ThreadId, User>,
    waits: Vec<Nanos>,
    /// The most threads that one call woke.
    pub(super) crowd: u64,
    /// Start of the last call that may wake a crowd.
    pub(super) called: Option<Timestamp>,
}

/// The counts of one thread on one futex.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Use {
    /// Waits and wake-ups.
    pub(super) all: u64,
    pub(super) waits: u64,
    pub(super) waited: Nanos,
}

impl Use {
    pub(super) fn add(&mut self, waited: Nanos) {
        self.waited = self.waited + waited;
    }
}

/// How often a thread waited, and woke others.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct User {
    pub(super) waits: u64,
    pub(super) wakes: u64,
}

impl OfFutex {
    /// Adds a wait that ended with a wake-up.
    pub(super) fn waited(&mut self, took: Nanos) {
        if self.waits.len() < KEPT {
            self.waits.push(took);
        }
    }

    /// Whether at least two threads both waited on it and woke it.
    pub(super) fn is_lock(&self) -> bool {
        self.users.values().filter(|user| user.waits > 0 && user.wakes > 0).count() >= 2
    }

    /// Whether others must wake its waiters: this thread waits on it, and no other
    /// watched thread wakes it.
    pub(super) fn is_woken_from_outside(&self, thread: ThreadId) -> bool {
        let waits = self.users.get(&thread).is_some_and(|user| user.waits > 0);
        waits && self.users.iter().all(|(user, counts)| *user == thread || counts.wakes == 0)
    }

    /// The futex as seen by a thread with these counts.
    pub(super) fn futex(&self, id: FutexId, used: &Use) -> Futex {
        let mut waits = self.waits.clone();
        waits.sort_unstable();
        Futex {
            id,
            name: None,
            threads: self.users.len(),
            is_lock: self.is_lock(),
            wait: waits.get(waits.len() / 2).copied(),
            crowd: self.crowd,
            waits: used.waits,
            waited: used.waited,
        }
    }
}
