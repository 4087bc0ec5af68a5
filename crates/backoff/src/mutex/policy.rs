//! What a waiter of a mutex does next: a pure decision.

use super::word::{Mine, Word};
use crate::ladder::{Circumstances, Expected, Spin, Step};
use crate::ticks::Ticks;

/// Lengths of time that the policy goes by, in nanoseconds.
mod nanos {
    /// A lock that passes to another CPU with each section is slower by this
    /// than one that stays: the lines of the lock and of what it protects are
    /// fetched, and the waiter has to see that it is free.
    pub(super) const HAND_OVER: u64 = 300;
    /// Who has waited for so long takes a ticket.
    pub(super) const HAND_OFF: u64 = 1_000_000;
    /// Where more wait than fit into that, they do so at times that are so far
    /// apart …
    pub(super) const TURN: u64 = 300_000;
    /// … unless the last would then wait for longer than this.
    pub(super) const LONGEST: u64 = 3_500_000;
    /// For so long it is believed that a holder comes right back.
    pub(super) const BELIEVED: u64 = 10_000_000;
    /// So often it is asked at most.
    pub(super) const ASK_AGAIN: u64 = 100_000;
    /// A look that comes so much later than ordered: the thread was switched
    /// out in between.
    pub(super) const SLIP: u64 = 20_000;
    /// A spin that has lasted for so long asks the kernel whether the thread
    /// is one that must not spin.
    pub(super) const PRIORITY: u64 = 2_000;
}

/// A holder that leaves the lock free for less than this share of a section
/// keeps it busy by itself.
const BUSY_SHARE: u32 = 8;

/// Spins that failed in a row halve the budget, so many times at most.
const HALVINGS: u32 = 3;

/// What a mutex has learned, as a waiter sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Learned {
    /// From a release until the same thread wants the lock again.
    pub(super) gap: Expected,
    /// How long the lock is held.
    pub(super) held: Expected,
    /// How long ago `gap` was learned.
    pub(super) age: Ticks,
    /// Whether it was learned since the waiter came.
    pub(super) is_fresh: bool,
    /// Spins that have failed, since one succeeded.
    pub(super) failures: u32,
    /// Waiters that rest.
    pub(super) resting: u32,
}

impl Learned {
    /// Whether one thread by itself keeps the lock busy.
    fn is_busy(&self) -> bool {
        let known = self.is_fresh || self.age < Ticks::from_nanos(nanos::BELIEVED);
        let hand_over = Ticks::from_nanos(nanos::HAND_OVER);
        let Expected(gap) = self.gap;
        let Expected(held) = self.held;
        known && gap != 0 && (Ticks(u64::from(gap)) < hand_over || gap < held / BUSY_SHARE)
    }

    /// Whether it is time to learn again.
    fn is_old(&self) -> bool {
        !self.is_fresh && (self.gap.0 == 0 || self.age >= Ticks::from_nanos(nanos::ASK_AGAIN))
    }
}

/// What a waiter sees at one look.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    pub(super) word: Word,
    pub(super) now: Ticks,
    pub(super) learned: Learned,
    pub(super) squeezed: bool,
    /// What parking costs on this machine.
    pub(super) park: Ticks,
}

/// What a waiter does until its next look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Take the lock.
    Take,
    /// Take a ticket.
    Queue,
    /// Search for those asleep.
    Search,
    /// Ask to learn whether the holder comes right back.
    Ask,
    /// Find out whether this is a real-time thread.
    CheckPriority,
    /// Book the time at which to take a ticket.
    Book,
    /// Look so many times whether the lock is free, with so many pauses before
    /// each look.
    Look { looks: u32, pauses: u32 },
    /// Sleep for so long, known to nobody.
    Rest(Ticks),
    /// Sleep until a release wakes it, for so long at most.
    Sleep(Ticks),
}

/// A thread that waits for a mutex.
#[derive(Debug)]
pub(super) struct Waiter {
    begun: Ticks,
    overdue_at: Ticks,
    has_booked: bool,
    /// What it has put into the word.
    pub(super) mine: Mine,
    /// Whether it is a real-time thread, once that is known.
    pub(super) is_real_time: Option<bool>,
    spin: Option<Round>,
}

/// One spin.
#[derive(Debug)]
struct Round {
    begun: Ticks,
    last_look: Ticks,
    asked: bool,
    spin: Spin,
}

impl Waiter {
    pub(super) fn new(now: Ticks) -> Self {
        Self {
            begun: now,
            overdue_at: now + Ticks::from_nanos(nanos::HAND_OFF),
            has_booked: false,
            mine: Mine::default(),
            is_real_time: None,
            spin: None,
        }
    }

    /// Woken by a release, as the one that searches.
    pub(super) fn woken(&mut self) {
        self.mine = Mine { searcher: true, asked: false };
        self.spin = None;
    }

    /// Whether its last spin found the lock free after some pauses.
    pub(super) fn has_spun(&self) -> bool {
        self.spin.as_ref().is_some_and(|round| round.spin.pauses() > 0)
    }

    /// How much longer it waits before it takes a ticket.
    pub(super) fn left(&self, now: Ticks) -> Ticks {
        self.overdue_at - now
    }

    /// Books the next time at which to take a ticket, after the last that
    /// somebody has booked, where so many wait. Both in ticks of which the
    /// upper half is cut off.
    ///
    /// Whoever sleeps wakes by itself at that time. If all did so at once, the
    /// lock would go round among threads that have to be woken for it, and
    /// the one that keeps it busy would lose its CPU to them.
    pub(super) fn book(&mut self, last: u32, waiters: u32, now: Ticks) -> u32 {
        let longest = Ticks::from_nanos(nanos::LONGEST);
        let turn = (longest / u64::from(waiters.max(1))).min(Ticks::from_nanos(nanos::TURN));
        let ahead = Ticks(u64::from(last.wrapping_sub(now.0 as u32)));
        // Nobody books further ahead: it is long past.
        let after_last = if ahead > longest { now } else { now + ahead + turn };
        self.overdue_at = self.overdue_at.max(after_last).min(self.begun + longest);
        self.has_booked = true;
        self.overdue_at.0 as u32
    }

    /// What to do now.
    pub(super) fn next(&mut self, look: &Look) -> Action {
        let Look { word, now, learned, .. } = look;
        if !word.is_locked() {
            return Action::Take;
        }
        if self.left(*now) == Ticks::ZERO && word.with_overdue().is_some() {
            return Action::Queue;
        }
        let for_others = word.overdue() > 0 || (word.asleep() > 0 && word.has_searcher());
        if self.is_real_time == Some(true) || (for_others && !self.mine.searcher) {
            return self.sleep(look);
        }
        if learned.is_busy() {
            return match self.is_real_time {
                None => Action::CheckPriority,
                Some(_) => self.rest(look),
            };
        }
        if word.asleep() > 0 && !self.mine.searcher {
            return Action::Search;
        }
        if learned.is_old() && !word.is_asked() && !self.mine.asked {
            return Action::Ask;
        }
        self.spin(look)
    }

    fn spin(&mut self, look: &Look) -> Action {
        let now = look.now;
        let asked = self.mine.asked;
        let round = self.spin.get_or_insert_with(|| Round::new(look));
        if asked && !round.asked {
            round.wait_for_an_answer(look);
        }
        let waited = now - round.begun;
        if self.is_real_time.is_none() && waited > Ticks::from_nanos(nanos::PRIORITY) {
            return Action::CheckPriority;
        }
        let switched_out = now - round.last_look > Ticks::from_nanos(nanos::SLIP);
        round.last_look = now;
        let seen = Circumstances { switched_out, ..Circumstances::default() };
        match round.spin.step(waited, seen) {
            Step::Look { looks, pauses } => Action::Look { looks, pauses },
            Step::Park => self.sleep(look),
        }
    }

    fn rest(&mut self, look: &Look) -> Action {
        if !self.has_booked {
            return Action::Book;
        }
        self.spin = None;
        Action::Rest(self.left(look.now))
    }

    fn sleep(&mut self, look: &Look) -> Action {
        if !self.has_booked {
            return Action::Book;
        }
        Action::Sleep(self.left(look.now))
    }
}

impl Round {
    fn new(look: &Look) -> Self {
        let budget = look.learned.held.budget(look.park, look.squeezed);
        let halved = budget / (1 << look.learned.failures.min(HALVINGS));
        Self { begun: look.now, last_look: look.now, asked: false, spin: Spin::new(halved) }
    }

    /// The answer comes with the second release from now.
    fn wait_for_an_answer(&mut self, look: &Look) {
        let answer = Ticks(u64::from(look.learned.held.0)) * 3;
        self.spin.extend(answer.min(look.park * 3));
        self.asked = true;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::vec::Vec;

    /// Whatever else is tested meanwhile, the rate does not change any more.
    fn arriving() -> Waiter {
        crate::calibrate::learn_rate(true);
        let mut waiter = Waiter::new(START);
        waiter.book(START.0 as u32, 1, START);
        waiter
    }

    fn micros(micros: u64) -> Ticks {
        crate::calibrate::learn_rate(true);
        Ticks::from_nanos(micros * 1_000)
    }

    fn expected(length: Ticks) -> Expected {
        Expected(length.0 as u32)
    }

    const FREE: Word = Word(0);

    fn held() -> Word {
        FREE.locked()
    }

    /// Nothing learned, at a moment after `START`.
    fn look(word: Word, now: Ticks) -> Look {
        let learned = Learned {
            gap: Expected(0),
            held: Expected(0),
            age: Ticks::MAX,
            is_fresh: false,
            failures: 0,
            resting: 0,
        };
        Look { word, now, learned, squeezed: false, park: micros(20) }
    }

    /// A lock of short sections that are wanted again after 5 µs.
    fn shared(word: Word, now: Ticks) -> Look {
        let mut look = look(word, now);
        look.learned.gap = expected(micros(5));
        look.learned.held = expected(micros(1));
        look.learned.age = Ticks::ZERO;
        look
    }

    /// A lock that its holder wants again at once.
    fn busy(word: Word, now: Ticks) -> Look {
        let mut look = shared(word, now);
        look.learned.gap = expected(Ticks::from_nanos(50));
        look
    }

    /// The first spin.
    const SPIN: Action = Action::Look { looks: 8, pauses: 1 };

    const START: Ticks = Ticks(1_000_000_000);

    #[test]
    fn a_free_lock_is_taken() {
        assert_eq!(arriving().next(&look(FREE, START)), Action::Take);
        let late = START + micros(5_000);
        assert_eq!(arriving().next(&look(FREE, late)), Action::Take);
    }

    #[test]
    fn a_ticket_is_for_those_who_have_waited_long() {
        let mut waiter = arriving();
        assert_eq!(waiter.next(&shared(held(), START + micros(999))), SPIN);
        assert_eq!(waiter.next(&shared(held(), START + micros(1_001))), Action::Queue);
        let full = Word(0x1fff << 5).locked();
        let late = START + micros(1_001);
        assert!(matches!(waiter.next(&shared(full, late)), Action::Sleep(_)));
    }

    #[test]
    fn the_first_waiter_asks_and_then_spins() {
        let mut waiter = arriving();
        assert_eq!(waiter.next(&look(held(), START)), Action::Ask);
        waiter.mine.asked = true;
        assert_eq!(waiter.next(&look(held().asked(), START)), SPIN);
        assert!(waiter.has_spun());
        let other = &mut arriving();
        assert_eq!(other.next(&look(held().asked(), START)), SPIN, "one asks");
    }

    #[test]
    fn what_is_known_is_asked_again_from_time_to_time() {
        let mut look = shared(held(), START);
        assert_eq!(arriving().next(&look), SPIN);
        look.learned.age = micros(101);
        assert_eq!(arriving().next(&look), Action::Ask);
        look.learned.is_fresh = true;
        assert_eq!(arriving().next(&look), SPIN);
    }

    #[test]
    fn who_asked_spins_until_the_answer() {
        let mut waiter = arriving();
        let mut seen = look(held(), START);
        seen.learned.held = expected(micros(15));
        seen.learned.gap = expected(micros(15));
        waiter.mine.asked = true;
        waiter.is_real_time = Some(false);
        assert_eq!(waiter.next(&seen), SPIN);
        for micro in 1..45 {
            seen.now = START + micros(micro);
            assert!(matches!(waiter.next(&seen), Action::Look { .. }), "{micro} µs");
        }
        seen.now = START + micros(46);
        assert!(matches!(waiter.next(&seen), Action::Sleep(_)));
    }

    #[test]
    fn who_waits_for_a_busy_thread_rests() {
        let mut waiter = arriving();
        let look = busy(held(), START);
        assert_eq!(waiter.next(&look), Action::CheckPriority);
        waiter.is_real_time = Some(false);
        assert_eq!(waiter.next(&look), Action::Rest(micros(1_000)));
        waiter.is_real_time = Some(true);
        assert_eq!(waiter.next(&look), Action::Sleep(micros(1_000)), "a release wakes it");
    }

    #[test]
    fn a_gap_is_short_beside_a_long_section() {
        let mut look = busy(held(), START);
        look.learned.gap = expected(micros(2));
        look.learned.held = expected(micros(20));
        assert!(look.learned.is_busy());
        look.learned.gap = expected(micros(3));
        assert!(!look.learned.is_busy());
    }

    #[test]
    fn what_was_learned_long_ago_is_not_believed() {
        let mut look = busy(held(), START);
        look.learned.age = micros(10_001);
        assert!(!look.learned.is_busy());
        look.learned.is_fresh = true;
        assert!(look.learned.is_busy());
    }

    #[test]
    fn where_some_sleep_one_searches() {
        let asleep = held().with_asleep().unwrap();
        let mut waiter = arriving();
        assert_eq!(waiter.next(&shared(asleep, START)), Action::Search);
        let searched = asleep.with_searcher();
        assert_eq!(waiter.next(&shared(searched, START)), Action::Sleep(micros(1_000)));
        waiter.woken();
        assert_eq!(waiter.next(&shared(searched, START)), SPIN);
    }

    #[test]
    fn where_some_have_tickets_all_others_sleep() {
        let overdue = held().with_overdue().unwrap();
        let mut waiter = arriving();
        assert_eq!(waiter.next(&shared(overdue, START)), Action::Sleep(micros(1_000)));
    }

    #[test]
    fn a_real_time_thread_sleeps_at_once() {
        let mut waiter = arriving();
        waiter.is_real_time = Some(true);
        assert_eq!(waiter.next(&shared(held(), START)), Action::Sleep(micros(1_000)));
        waiter.woken();
        let searched = held().with_searcher();
        assert_eq!(waiter.next(&shared(searched, START)), Action::Sleep(micros(1_000)));
    }

    #[test]
    fn the_kernel_is_asked_once_a_spin_gets_long() {
        let mut waiter = arriving();
        assert_eq!(waiter.next(&shared(held(), START)), SPIN);
        let later = START + micros(3);
        assert_eq!(waiter.next(&shared(held(), later)), Action::CheckPriority);
        waiter.is_real_time = Some(false);
        assert_eq!(waiter.next(&shared(held(), later)), SPIN);
    }

    #[test]
    fn a_spin_ends_with_its_budget_or_its_cpu() {
        let spun = |last: u64, seen: fn(&mut Look)| {
            let mut waiter = arriving();
            waiter.is_real_time = Some(false);
            let mut action = Action::Take;
            for now in [0, last - 1, last] {
                let mut look = shared(held(), START + micros(now));
                seen(&mut look);
                action = waiter.next(&look);
            }
            action
        };
        // Twice a section of 1 µs, and 2 µs.
        assert!(matches!(spun(3, |_| ()), Action::Look { .. }));
        assert!(matches!(spun(5, |_| ()), Action::Sleep(_)));
        assert!(matches!(spun(3, |look| look.learned.failures = 9), Action::Sleep(_)));
        assert!(matches!(spun(3, |look| look.squeezed = true), Action::Sleep(_)));
        let unknown = |look: &mut Look| look.learned.held = Expected(0);
        assert!(matches!(spun(19, unknown), Action::Look { .. }));
        let mut waiter = arriving();
        waiter.is_real_time = Some(false);
        let mut look = shared(held(), START);
        look.learned.held = Expected(0);
        look.park = micros(100);
        assert_eq!(waiter.next(&look), SPIN);
        look.now = START + micros(21);
        assert!(matches!(waiter.next(&look), Action::Sleep(_)), "it was switched out");
    }

    #[test]
    fn who_is_about_to_sleep_books() {
        crate::calibrate::learn_rate(true);
        for real_time in [true, false] {
            let mut waiter = Waiter::new(START);
            waiter.is_real_time = Some(real_time);
            assert_eq!(waiter.next(&busy(held(), START)), Action::Book);
            waiter.book(START.0 as u32, 1, START);
            assert_ne!(waiter.next(&busy(held(), START)), Action::Book);
        }
    }

    /// Waiters that come at once, while so many sleep.
    fn booked(waiters: u32) -> Vec<Ticks> {
        let mut last = (START.0 as u32).wrapping_sub(77);
        (0..waiters)
            .map(|_| {
                let mut waiter = Waiter::new(START);
                last = waiter.book(last, waiters, START);
                waiter.left(START)
            })
            .collect()
    }

    #[test]
    fn where_many_wait_each_waits_its_turn() {
        let turn = micros(300);
        assert_eq!(booked(2), [micros(1_000), micros(1_000) + turn]);
        let eight = booked(8);
        assert!(eight.windows(2).all(|two| two[1] == two[0] + turn), "{eight:?}");
        assert_eq!(*eight.last().unwrap(), micros(1_000) + turn * 7);
        let many = booked(35);
        assert!(many.windows(2).all(|two| two[1] <= two[0] + micros(101)), "{many:?}");
        assert_eq!(*many.last().unwrap(), micros(3_500));
    }

    #[test]
    fn a_booking_of_long_ago_does_not_count() {
        let left = |last: u32| {
            let mut waiter = arriving();
            waiter.overdue_at = START + micros(1_000);
            waiter.book(last, 5, START);
            waiter.left(START)
        };
        let start = START.0 as u32;
        let second = Ticks::from_nanos(1_000_000_000).0 as u32;
        assert_eq!(left(start.wrapping_sub(second)), micros(1_000));
        assert_eq!(left(start.wrapping_sub(1)), micros(1_000));
        assert_eq!(left(start.wrapping_add(micros(2_000).0 as u32)), micros(2_000) + micros(300));
        assert_eq!(left(start.wrapping_add(micros(3_600).0 as u32)), micros(1_000), "past");
    }
}
