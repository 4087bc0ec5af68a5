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
    pub(super) const LONGEST: u64 = 3_000_000;
    /// For so long it is believed that a holder comes right back.
    pub(super) const BELIEVED: u64 = 10_000_000;
    /// So often it is asked at most.
    pub(super) const ASK_AGAIN: u64 = 100_000;
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
    /// Have the next section end with an exchange.
    Watch,
    /// Sleep until the plain section ends.
    AwaitEnd,
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
    /// Whether no section is to be plain for its sake.
    pub(super) watches: bool,
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
            watches: false,
            is_real_time: None,
            spin: None,
        }
    }

    /// Woken by a release, as the one that searches.
    pub(super) fn woken(&mut self) {
        self.mine = Mine { searcher: true, asked: false };
        self.spin = None;
    }

    /// Woken by the end of a plain section.
    pub(super) fn look_again(&mut self) {
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
        let is_late = self.left(*now) == Ticks::ZERO;
        if is_late && !word.is_plain() && word.with_overdue().is_some() {
            return Action::Queue;
        }
        let others_parked = word.overdue() > 0 || (word.asleep() > 0 && word.has_searcher());
        let seen = Circumstances {
            real_time: self.is_real_time == Some(true),
            switched_out: self.spin.as_ref().is_some_and(|round| round.has_slipped(*now)),
            others_parked: others_parked && !self.mine.searcher,
        };
        if seen.forbid_spinning() {
            return self.sleep(look);
        }
        if learned.is_busy() && !is_late {
            return match self.is_real_time {
                None => Action::CheckPriority,
                Some(_) => self.rest(look),
            };
        }
        let is_to_ask = learned.is_old() && !word.is_asked() && !self.mine.asked;
        if word.is_plain() && !self.watches && (is_late || is_to_ask) {
            return Action::Watch;
        }
        if word.asleep() > 0 && !self.mine.searcher {
            return Action::Search;
        }
        if is_to_ask && !word.is_plain() {
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
        if self.is_real_time.is_none() && Circumstances::is_worth_asking(waited) {
            return Action::CheckPriority;
        }
        round.last_look = now;
        match round.spin.step(waited, Circumstances::default()) {
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
        match (look.word.is_plain(), self.watches) {
            (false, _) => Action::Sleep(self.left(look.now)),
            (true, false) => Action::Watch,
            (true, true) => Action::AwaitEnd,
        }
    }
}

impl Round {
    fn new(look: &Look) -> Self {
        let budget = look.learned.held.budget(look.park, look.squeezed);
        let halved = budget / (1 << look.learned.failures.min(HALVINGS));
        Self { begun: look.now, last_look: look.now, asked: false, spin: Spin::new(halved) }
    }

    /// Whether this look comes much later than was ordered.
    fn has_slipped(&self, now: Ticks) -> bool {
        Circumstances::is_switched_out(now - self.last_look)
    }

    /// The answer comes with the second release from now.
    fn wait_for_an_answer(&mut self, look: &Look) {
        let answer = Ticks(u64::from(look.learned.held.0)) * 3;
        self.spin.extend(answer.min(look.park * 3));
        self.asked = true;
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
