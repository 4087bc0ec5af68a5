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

#[cfg(not(any(loom, miri)))]
use super::fork;
use crate::os::{self, barrier};
use crate::sync::{Acquire, AtomicU32, Relaxed, Release, SeqCst};

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
static STATE: core::sync::atomic::AtomicU8 = core::sync::atomic::AtomicU8::new(UNASKED);
const UNASKED: u8 = 0;
const ASKING: u8 = 1;
const ALLOWED: u8 = 2;
const REFUSED: u8 = 3;

/// Asks the kernel, the first time in a process, for what plain sections need.
/// That takes up to 20 ms where there are several threads; who comes meanwhile
/// goes on without them.
pub(crate) fn allow_plain_sections() {
    if STATE.compare_exchange(UNASKED, ASKING, Acquire, Relaxed).is_err() {
        return;
    }
    if prepare_for_forks() && barrier::register() {
        add_to_watchers(u32::MAX);
        STATE.store(ALLOWED, Release);
    } else {
        STATE.store(REFUSED, Release);
    }
}

/// Children of a child have what it has registered.
fn prepare_for_forks() -> bool {
    #[cfg(any(loom, miri))]
    return true;
    #[cfg(not(any(loom, miri)))]
    {
        static DONE: core::sync::atomic::AtomicBool = core::sync::atomic::AtomicBool::new(false);
        DONE.swap(true, Relaxed) || fork::forget_watches_in_children()
    }
}

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

fn add_to_watchers(number: u32) {
    for place in each_place() {
        place.watchers.fetch_add(number, Release);
    }
}

fn each_place() -> impl Iterator<Item = &'static Place> {
    PLACE.iter()
}

/// Whether the kernel, when asked, lets there be plain sections; an emulator of
/// user programs does not.
#[cfg(all(test, not(any(loom, miri))))]
pub(super) fn are_allowed() -> bool {
    allow_plain_sections();
    loop {
        match STATE.load(Acquire) {
            ALLOWED => return true,
            REFUSED => return false,
            _another_asks => std::thread::yield_now(),
        }
    }
}

/// Does something as if another thread were asking the kernel, where that has
/// [allowed](are_allowed) it.
#[cfg(all(test, not(any(loom, miri))))]
pub(super) fn while_asking(does: impl FnOnce()) {
    while STATE.compare_exchange(ALLOWED, ASKING, Acquire, Relaxed).is_err() {
        std::thread::yield_now();
    }
    add_to_watchers(1);
    does();
    add_to_watchers(u32::MAX);
    STATE.store(ALLOWED, Release);
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
