//! The word of a mutex: whether it is held, and how threads wait.
//!
//! | bits | name | means |
//! |---|---|---|
//! | 0 | `LOCKED` | a thread holds the lock |
//! | 1 | `WATCHED` | its section ends with an exchange: waiters may change the word |
//! | 2 | `TIMED` | the holder noted when it took it |
//! | 3 | `ASKED` | a waiter wants to know whether the holder comes right back: the next release is noted |
//! | 4 | `MARKED` | the last release was noted, and the lock was not taken since |
//! | 5 | `SEARCHER` | a waiter is awake on behalf of the sleepers: wake no other |
//! | 6 | `LONG` | sections are long: none is plain |
//! | 7–17 | overdue | waiters with a ticket: releases hand over to them |
//! | 18–31 | asleep | waiters that a release has to wake |
//!
//! | from | by | to |
//! |---|---|---|
//! | 0 | lock, if no thread watches | `LOCKED` alone: a plain section |
//! | `LOCKED` alone | unlock, with a store | 0 |
//! | free | lock | `LOCKED`, `WATCHED` |
//! | `LOCKED`, none overdue | unlock | free; and where some are asleep and there is no `SEARCHER`, one fewer asleep and a `SEARCHER`, who gets a permit |
//! | `LOCKED`, overdue | unlock | `LOCKED`, one fewer overdue: the next ticket holds it |
//! | `LOCKED` | a waiter that falls asleep | one more asleep |
//! | `LOCKED`, asleep | a sleeper that timed out | one fewer asleep, one more overdue |
//! | free, asleep | a sleeper that timed out | `LOCKED`, one fewer asleep |
//!
//! In a plain section only the holder changes the word (`watch.rs`).
//!
//! `LOCKED` is never cleared while a thread is overdue, so no newcomer can overtake
//! it.

const LOCKED: u32 = 1;
const WATCHED: u32 = 1 << 1;
const TIMED: u32 = 1 << 2;
const ASKED: u32 = 1 << 3;
const MARKED: u32 = 1 << 4;
const SEARCHER: u32 = 1 << 5;
const LONG: u32 = 1 << 6;
const OVERDUE: u32 = 1 << 7;
const OVERDUE_BITS: u32 = 0x7ff << 7;
const ASLEEP: u32 = 1 << 18;
const ASLEEP_BITS: u32 = 0x3fff << 18;

/// A copy of the word of a mutex.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word(pub(super) u32);

/// The bits that a waiter has set in the word, and clears again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct OwnBits {
    pub(super) searcher: bool,
    pub(super) asked: bool,
}

impl OwnBits {
    fn bits(self) -> u32 {
        (if self.searcher { SEARCHER } else { 0 }) | (if self.asked { ASKED } else { 0 })
    }
}

impl Word {
    /// Free, without waiters.
    pub(super) const FREE: Self = Self(0);
    /// Held in a plain section.
    pub(super) const PLAIN: Self = Self(LOCKED);

    #[inline]
    pub(super) const fn is_plain(self) -> bool {
        self.0 == Self::PLAIN.0
    }

    /// Free, with nothing to note: locking is one exchange.
    #[inline]
    pub(super) const fn is_simply_free(self) -> bool {
        self.0 & (LOCKED | MARKED) == 0
    }

    /// Held, with nothing to note and no thread to wake: unlocking is one exchange.
    #[inline]
    pub(super) const fn is_simply_held(self) -> bool {
        self.0 & (TIMED | ASKED | OVERDUE_BITS) == 0 && (self.0 < ASLEEP || self.0 & SEARCHER != 0)
    }

    #[inline]
    pub(super) const fn locked(self) -> Self {
        Self(self.0 | LOCKED | WATCHED)
    }

    #[inline]
    pub(super) const fn unlocked(self) -> Self {
        Self(self.0 & !(LOCKED | WATCHED))
    }

    pub(super) const fn is_locked(self) -> bool {
        self.0 & LOCKED != 0
    }

    pub(super) const fn is_timed(self) -> bool {
        self.0 & TIMED != 0
    }

    pub(super) const fn is_asked(self) -> bool {
        self.0 & ASKED != 0
    }

    pub(super) const fn is_marked(self) -> bool {
        self.0 & MARKED != 0
    }

    pub(super) const fn has_searcher(self) -> bool {
        self.0 & SEARCHER != 0
    }

    pub(super) const fn overdue(self) -> u32 {
        (self.0 & OVERDUE_BITS) / OVERDUE
    }

    pub(super) const fn asleep(self) -> u32 {
        self.0 / ASLEEP
    }

    /// Taken by a thread that did not wait: timed if a waiter has asked.
    pub(super) const fn passed(self) -> Self {
        let timed = if self.is_asked() { TIMED } else { 0 };
        Self((self.0 | LOCKED | WATCHED | timed) & !MARKED)
    }

    /// Taken by a waiter: timed if it has asked. Clears `ASKED`.
    pub(super) fn taken(self, own: OwnBits) -> Self {
        let timed = if own.asked { TIMED } else { 0 };
        Self(((self.0 & !own.bits()) | LOCKED | WATCHED | timed) & !(MARKED | ASKED))
    }

    pub(super) const fn with_searcher(self) -> Self {
        Self(self.0 | SEARCHER)
    }

    pub(super) const fn asked(self) -> Self {
        Self(self.0 | ASKED)
    }

    /// Without the bits of a waiter.
    pub(super) fn without(self, own: OwnBits) -> Self {
        Self(self.0 & !own.bits())
    }

    /// With one more waiter with a ticket; `None` if there are too many.
    pub(super) fn with_overdue(self) -> Option<Self> {
        (self.0 & OVERDUE_BITS != OVERDUE_BITS).then(|| Self(self.0 + OVERDUE))
    }

    /// With one more waiter asleep; `None` if there are too many.
    pub(super) fn with_asleep(self) -> Option<Self> {
        (self.0 & ASLEEP_BITS != ASLEEP_BITS).then(|| Self(self.0 + ASLEEP))
    }

    /// With one waiter fewer asleep; `None` if none is.
    pub(super) fn without_asleep(self) -> Option<Self> {
        (self.0 >= ASLEEP).then(|| Self(self.0 - ASLEEP))
    }

    /// With the learned length of sections.
    pub(super) const fn with_long(self, long: bool) -> Self {
        Self(if long { self.0 | LONG } else { self.0 & !LONG })
    }

    /// The word after a release, and what to do then. Sets `MARKED` if the release was
    /// `noted`.
    pub(super) const fn released(self, noted: bool) -> (Self, Release) {
        if self.0 & OVERDUE_BITS != 0 {
            return (Self((self.0 - OVERDUE) & !TIMED), Release::HandOff);
        }
        let marked = if noted { MARKED } else { 0 };
        let free = self.0 & !(LOCKED | WATCHED | TIMED | MARKED) | marked;
        if self.asleep() > 0 && !self.has_searcher() {
            (Self((free - ASLEEP) | SEARCHER), Release::Wake)
        } else {
            (Self(free), Release::Nothing)
        }
    }
}

/// The next step of the thread that has released the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Release {
    Nothing,
    /// Give a permit to one sleeper.
    Wake,
    /// The next ticket holds the lock now.
    HandOff,
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: Word = Word::FREE;
    const ALL: OwnBits = OwnBits { searcher: true, asked: true };

    #[test]
    fn simple_words_stay_simple() {
        assert!(FREE.is_simply_free() && !FREE.locked().is_simply_free());
        assert!(FREE.locked().is_simply_held());
        assert!(FREE.locked().with_searcher().is_simply_held());
        assert!(!FREE.locked().asked().is_simply_held());
        let asleep = FREE.locked().with_asleep().unwrap();
        assert!(!asleep.is_simply_held());
        assert!(asleep.with_searcher().is_simply_held());
        assert!(!FREE.locked().with_overdue().unwrap().is_simply_held());
        assert_eq!(FREE.locked().unlocked(), FREE);
    }

    #[test]
    fn a_release_that_was_asked_for_is_marked_until_the_lock_is_taken() {
        let (free, then) = FREE.locked().asked().released(true);
        assert_eq!(then, Release::Nothing);
        assert!(free.is_marked() && !free.is_simply_free() && free.is_asked());
        let passed = free.passed();
        assert!(passed.is_timed() && !passed.is_marked() && passed.is_asked());
        let taken = free.taken(OwnBits { searcher: false, asked: true });
        assert!(taken.is_timed() && !taken.is_marked() && !taken.is_asked());
        let (free, _) = taken.released(false);
        assert_eq!(free, FREE);
    }

    #[test]
    fn if_sections_are_long_none_is_plain() {
        let (free, _) = FREE.locked().with_long(true).released(false);
        assert!(free.is_simply_free() && free != FREE);
        assert!(free.locked().is_simply_held() && !free.locked().is_plain());
        assert_eq!(free.locked().unlocked(), free);
        assert_eq!(free.with_long(false), FREE);
    }

    #[test]
    fn a_waiter_takes_out_what_it_put_in() {
        let word = FREE.locked().with_searcher().asked();
        assert_eq!(word.without(ALL), FREE.locked());
        assert_eq!(word.without(OwnBits::default()), word);
        let taken = word.unlocked().taken(OwnBits { searcher: true, asked: false });
        assert_eq!(taken, FREE.locked());
        let other = word.unlocked().taken(OwnBits { searcher: false, asked: false });
        assert_eq!(other, FREE.locked().with_searcher());
    }

    #[test]
    fn a_release_wakes_one_unless_one_searches() {
        let word = FREE.locked().with_asleep().unwrap().with_asleep().unwrap();
        let (free, then) = word.released(false);
        assert_eq!(then, Release::Wake);
        assert_eq!((free.asleep(), free.has_searcher(), free.is_locked()), (1, true, false));
        let (free, then) = free.locked().released(false);
        assert_eq!((then, free.asleep()), (Release::Nothing, 1));
    }

    #[test]
    fn a_release_hands_over_before_it_wakes() {
        let word = FREE.locked().with_asleep().unwrap().with_overdue().unwrap();
        let (held, then) = word.released(false);
        assert_eq!(then, Release::HandOff);
        assert!(held.is_locked() && held.overdue() == 0 && held.asleep() == 1);
    }

    #[test]
    fn counts_do_not_overflow() {
        let mut word = FREE.locked();
        for n in 1..=0x7ff_u32 {
            word = word.with_overdue().unwrap();
            assert_eq!(word.overdue(), n);
        }
        assert_eq!(word.with_overdue(), None);
        for n in 1..=0x3fff {
            word = word.with_asleep().unwrap();
            assert_eq!(word.asleep(), n);
        }
        assert_eq!(word.with_asleep(), None);
        assert!(word.is_locked() && !word.has_searcher());
        assert_eq!(FREE.without_asleep(), None);
        assert_eq!(word.without_asleep().unwrap().asleep(), 0x3ffe);
    }
}
