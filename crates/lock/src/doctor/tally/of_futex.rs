//! What threads did on one futex.

use std::collections::BTreeMap;

use unjank_host::address_space::FutexId;
use unjank_host::sched::ThreadId;
use unjank_host::{Nanos, Timestamp};

use super::super::seen::Futex;

/// Waits that are kept of each futex, for their median.
const KEPT: usize = 1_024;

/// What all threads did on one futex.
#[derive(Debug, Default)]
pub(super) struct OfFutex {
    pub(super) users: BTreeMap<ThreadId, User>,
    waits: Vec<Nanos>,
    /// The most threads that one call woke.
    pub(super) crowd: u64,
    /// When a call last set out to wake a crowd.
    pub(super) called: Option<Timestamp>,
}

/// What one thread did on one futex.
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
    /// A wait has ended with a wake-up.
    pub(super) fn waited(&mut self, took: Nanos) {
        if self.waits.len() < KEPT {
            self.waits.push(took);
        }
    }

    /// Whether at least two threads both waited on it and woke it.
    pub(super) fn is_lock(&self) -> bool {
        self.users.values().filter(|user| user.waits > 0 && user.wakes > 0).count() >= 2
    }

    /// For a thread that has used it so.
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
