//! Notifies waiters of the end of a plain section.
//!
//! A plain section ends with a store, which costs half as much as an exchange. But
//! a store overwrites what waiters put into the word, so they must not change the
//! word of a plain section. After the store the lock may be gone, so the holder
//! cannot look there for waiters. It looks into a static table of a few slots for
//! all locks of the process. Locks that share a slot are slower while a thread
//! waits for one of them, and no less correct.
//!
//! Holder and waiter each store to one word (the section has ended; a thread
//! watches) and load the other's. Both need a barrier in between. A waiter that is
//! about to sleep has time, so it executes the barrier for both ([`barrier`]).
//! Until the process is registered for that with the kernel, each slot counts as
//! watched, and no section is plain.

use core::num::NonZeroU32;
use core::time::Duration;

use crate::os::{self, barrier};
#[cfg(not(any(loom, miri)))]
use crate::sync::Relaxed;
use crate::sync::{Acquire, AtomicU32, Release, SeqCst};

const SLOTS: usize = if cfg!(loom) { 1 } else { 64 };

/// In its own cache lines, because holders read it in each section.
#[repr(align(128))]
struct Slot {
    watchers: AtomicU32,
    /// Counts plain sections that ended while a thread watched.
    ended: AtomicU32,
}

#[cfg(not(loom))]
static SLOT: [Slot; SLOTS] =
    [const { Slot { watchers: AtomicU32::new(1), ended: AtomicU32::new(0) } }; SLOTS];

// In models, the barriers work from the start.
#[cfg(loom)]
loom::lazy_static! {
    static ref SLOT: [Slot; SLOTS] =
        [Slot { watchers: AtomicU32::new(0), ended: AtomicU32::new(0) }];
}

/// How long a waiter sleeps if the kernel no longer allows the barrier.
const WITHOUT_BARRIER: Duration = Duration::from_millis(1);

/// The state of the registration with the kernel: [`UNASKED`], [`ASKING`],
/// [`ALLOWED`] or [`REFUSED`]. Not modelled, because the barriers of a model work
/// from the start.
pub(super) static STATE: core::sync::atomic::AtomicU8 = core::sync::atomic::AtomicU8::new(UNASKED);
pub(super) const UNASKED: u8 = 0;
pub(super) const ASKING: u8 = 1;
pub(super) const ALLOWED: u8 = 2;
pub(super) const REFUSED: u8 = 3;

/// Forgets the watches of the parent's threads, which a forked child does not have.
/// The same holds for a thread that was [`ASKING`], so the child asks again.
#[cfg(not(any(loom, miri)))]
pub(super) fn forget() {
    let base = u32::from(STATE.load(Relaxed) != ALLOWED);
    for slot in each_slot() {
        slot.watchers.store(base, Relaxed);
    }
    let _only_then = STATE.compare_exchange(ASKING, UNASKED, Relaxed, Relaxed);
}

pub(super) fn add_to_watchers(number: u32) {
    for slot in each_slot() {
        slot.watchers.fetch_add(number, Release);
    }
}

fn each_slot() -> impl Iterator<Item = &'static Slot> {
    SLOT.iter()
}

/// The slot of a lock.
#[derive(Clone, Copy)]
pub(super) struct Watch(usize);

impl Watch {
    #[inline]
    pub(super) fn of(lock: usize) -> Self {
        Self(((lock >> 6) ^ (lock >> 12)) % SLOTS)
    }

    #[inline]
    fn slot(self) -> &'static Slot {
        // In range: a remainder of its length.
        &SLOT[self.0]
    }

    /// Whether a thread watches, so that sections must not be plain.
    #[inline]
    pub(super) fn is_watched(self) -> bool {
        self.slot().watchers.load(Acquire) != 0
    }

    pub(super) fn begin(self) {
        self.slot().watchers.fetch_add(1, SeqCst);
    }

    pub(super) fn end(self) {
        self.slot().watchers.fetch_sub(1, Release);
    }

    /// Sleeps until a plain section has ended, if there is one. Must be called between
    /// `begin` and `end`.
    pub(super) fn await_end(self, is_plain: impl FnOnce() -> bool) {
        let seen = self.slot().ended.load(Acquire);
        let has_barrier = barrier::heavy();
        if !is_plain() {
        } else if has_barrier {
            os::wait(&self.slot().ended, seen, NonZeroU32::MAX);
        } else {
            os::wait_for(&self.slot().ended, seen, WITHOUT_BARRIER);
        }
    }

    /// Called after a plain section, whose lock may be gone by now.
    #[inline]
    pub(super) fn notify(self) {
        barrier::light();
        if self.is_watched() {
            self.wake();
        }
    }

    #[cold]
    fn wake(self) {
        self.slot().ended.fetch_add(1, Release);
        os::wake_all(&self.slot().ended, NonZeroU32::MAX);
    }
}
