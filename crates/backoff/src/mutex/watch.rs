//! Who wants to be told when a plain section ends.
//!
//! A plain section ends with a store, which costs half of what an exchange
//! does. But a store overwrites what waiters have put into the word, so they
//! put nothing into a plain one, and after it the lock may be gone, so it is
//! not in the lock that its holder looks whether somebody is to be woken. It is
//! here, in one of a few places for all locks of the process. Locks that share
//! one are slower while somebody waits for one of them, and no less correct.
//!
//! Holder and waiter each store to one word and load the other's: whether a
//! section ends, and whether somebody watches. So both need a barrier between
//! the two, and since a waiter that has to sleep has time, it pays for both
//! ([`barrier`]). Until the kernel has been asked to let it, each place is
//! watched, and no section is plain.

use core::num::NonZeroU32;
use core::time::Duration;

use crate::os::{self, barrier};
#[cfg(not(any(loom, miri)))]
use crate::sync::Relaxed;
use crate::sync::{Acquire, AtomicU32, Release, SeqCst};

const PLACES: usize = if cfg!(loom) { 1 } else { 64 };

/// By itself in its cache lines: holders read it with each section.
#[repr(align(128))]
struct Place {
    watchers: AtomicU32,
    /// Plain sections that ended while somebody watched.
    ended: AtomicU32,
}

#[cfg(not(loom))]
static PLACE: [Place; PLACES] =
    [const { Place { watchers: AtomicU32::new(1), ended: AtomicU32::new(0) } }; PLACES];

// In models, all barriers are there from the start.
#[cfg(loom)]
loom::lazy_static! {
    static ref PLACE: [Place; PLACES] =
        [Place { watchers: AtomicU32::new(0), ended: AtomicU32::new(0) }];
}

/// How long a waiter sleeps where the kernel has taken the barrier away again.
const WITHOUT_BARRIER: Duration = Duration::from_millis(1);

/// Whether the kernel was asked for what plain sections need: [`UNASKED`],
/// [`ASKING`], [`ALLOWED`] or [`REFUSED`]. Not modelled: the barriers of a model
/// are there from the start.
pub(super) static STATE: core::sync::atomic::AtomicU8 = core::sync::atomic::AtomicU8::new(UNASKED);
pub(super) const UNASKED: u8 = 0;
pub(super) const ASKING: u8 = 1;
pub(super) const ALLOWED: u8 = 2;
pub(super) const REFUSED: u8 = 3;

/// Forgets who watched when this process was forked off: none of them is here.
/// Who is still [`ASKING`] is not here, either, so it is to be asked anew.
#[cfg(not(any(loom, miri)))]
pub(super) fn forget() {
    let base = u32::from(STATE.load(Relaxed) != ALLOWED);
    for place in each_place() {
        place.watchers.store(base, Relaxed);
    }
    let _only_then = STATE.compare_exchange(ASKING, UNASKED, Relaxed, Relaxed);
}

pub(super) fn add_to_watchers(number: u32) {
    for place in each_place() {
        place.watchers.fetch_add(number, Release);
    }
}

fn each_place() -> impl Iterator<Item = &'static Place> {
    PLACE.iter()
}

/// The place of a lock.
#[derive(Clone, Copy)]
pub(super) struct Watch(usize);

impl Watch {
    #[inline]
    pub(super) fn of(lock: usize) -> Self {
        Self(((lock >> 6) ^ (lock >> 12)) % PLACES)
    }

    #[inline]
    fn place(self) -> &'static Place {
        // In range: a remainder of its length.
        &PLACE[self.0]
    }

    /// Whether sections must not be plain.
    #[inline]
    pub(super) fn is_kept(self) -> bool {
        self.place().watchers.load(Acquire) != 0
    }

    pub(super) fn begin(self) {
        self.place().watchers.fetch_add(1, SeqCst);
    }

    pub(super) fn end(self) {
        self.place().watchers.fetch_sub(1, Release);
    }

    /// Sleeps until a plain section has ended, if the lock is in one. Only
    /// between `begin` and `end`.
    pub(super) fn await_end(self, is_plain: impl FnOnce() -> bool) {
        let seen = self.place().ended.load(Acquire);
        let told = barrier::heavy();
        if !is_plain() {
        } else if told {
            os::wait(&self.place().ended, seen, NonZeroU32::MAX);
        } else {
            os::wait_for(&self.place().ended, seen, WITHOUT_BARRIER);
        }
    }

    /// After a plain section, whose lock may be gone by now.
    #[inline]
    pub(super) fn tell(self) {
        barrier::light();
        if self.is_kept() {
            self.wake();
        }
    }

    #[cold]
    fn wake(self) {
        self.place().ended.fetch_add(1, Release);
        os::wake_all(&self.place().ended, NonZeroU32::MAX);
    }
}
