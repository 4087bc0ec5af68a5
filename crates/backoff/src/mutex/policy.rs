//! The decisions of a waiter: pure functions.

use super::word::{OwnBits, Word};
use crate::spin_policy::{Circumstances, Expected, Spin, Step};
use crate::ticks::Ticks;

/// Times that the policy uses, in nanoseconds.
mod nanos {
    /// The cost of a hand-off to another CPU: the cache lines of the lock and of its
    /// data move, and the waiter has to see that the lock is free.
    pub(super) const HAND_OFF_COST: u64 = 300;
    /// Age of a wait at which the waiter takes a ticket.
    pub(super) const HAND_OFF: u64 = 1_000_000;
    /// Distance between the tickets of several waiters. A hand-off to a sleeper takes three switches
    /// and as many system calls: up to a sixth of that where all threads share a CPU.
    pub(super) const TURN: u64 = 300_000;
    /// Age up to which a learned gap is used.
    pub(super) const BELIEVED: u64 = 10_000_000;
    /// The least time between two questions for the gap.
    pub(super) const ASK_AGAIN: u64 = 100_000;
}

/// A holder that leaves the lock free for less than a section over this keeps it
/// busy.
const BUSY_SHARE: u32 = 8;

/// Each failed spin in a row halves the budget, at most this often.
const HALVINGS: u32 = 3;

/// The learned times of a mutex, as a waiter sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Learned {
    /// Time from a release until the same thread wants the lock again.
    pub(super) gap: Expected,
    /// Time for which the lock is held.
    pub(super) held: Expected,
    /// Time since `gap` was learned.
    pub(super) age: Ticks,
    /// Whether it was learned since the waiter began to wait.
    pub(super) is_fresh: bool,
    /// Failed spins since the last successful one.
    pub(super) failures: u32,
    /// Number of waiters that rest.
    pub(super) resting: u32,
}

impl Learned {
    /// Whether one thread keeps the lock busy.
    fn is_busy(&self) -> bool {
        let known = self.is_fresh || self.age < Ticks::from_nanos(nanos::BELIEVED);
        let hand_off = Ticks::from_nanos(nanos::HAND_OFF_COST);
        let Expected(gap) = self.gap;
        let Expected(held) = self.held;
        known && gap != 0 && (Ticks(u64::from(gap)) < hand_off || gap < held / BUSY_SHARE)
    }

    /// Whether it is time to learn the gap again.
    fn is_old(&self) -> bool {
        !self.is_fresh && (self.gap.0 == 0 || self.age >= Ticks::from_nanos(nanos::ASK_AGAIN))
    }
}

/// A waiter's observation at one look.
#[derive(Debug, Clone, Copy)]
pub(super) struct Observation {
    pub(super) word: Word,
    pub(super) now: Ticks,
    pub(super) learned: Learned,
    pub(super) squeezed: bool,
    /// The cost of parking on this machine.
    pub(super) park: Ticks,
}

/// An action of a waiter until its next observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Take the lock.
    Take,
    /// Take a ticket.
    Queue,
    /// Become the searcher, on behalf of the sleepers.
    Search,
    /// Ask to learn whether the holder comes right back.
    Ask,
    /// Ask the kernel whether this is a real-time thread.
    CheckPriority,
    /// Book the time at which to take a ticket.
    Book,
    /// Look this often whether the lock is free, with pauses before each look.
    Look { looks: u32, pauses: u32 },
    /// Watch, so that the next section ends with an exchange.
    Watch,
    /// Sleep until the plain section ends.
    AwaitEnd,
    /// Sleep for this time, without a trace in the word.
    Rest(Ticks),
    /// Sleep until a release wakes it, for at most this time.
    Sleep(Ticks),
}

/// A thread that waits for a mutex.
#[derive(Debug)]
pub(super) struct Waiter {
    begun: Ticks,
    overdue_at: Ticks,
    has_booked: bool,
    /// Its own bits in the word.
    pub(super) own: OwnBits,
    /// Whether it watches, so that no section is plain.
    pub(super) watches: bool,
    /// Whether it is a real-time thread; `None` if unknown.
    pub(super) is_real_time: Option<bool>,
    spin: Option<Round>,
}

/// The state of one spin.
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
            own: OwnBits::default(),
            watches: false,
            is_real_time: None,
            spin: None,
        }
    }

    /// Woken by a release, which makes it the searcher.
    pub(super) fn woken(&mut self) {
        self.own = OwnBits { searcher: true, asked: false };
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

    /// The time until it takes a ticket.
    pub(super) fn left(&self, now: Ticks) -> Ticks {
        self.overdue_at - now
    }

    /// Books the time at which to take a ticket: after the `last` booked one, if there
    /// are that many `waiters`. Both times are the lower half of ticks.
    ///
    /// Sleepers wake up at that time. If all did so at once, the lock would move among
    /// threads that first have to wake up, and the busy holder would lose its CPU to
    /// them.
    pub(super) fn book(&mut self, last: u32, waiters: u32, now: Ticks) -> u32 {
        let turn = Ticks::from_nanos(nanos::TURN);
        let longest = Ticks::from_nanos(nanos::HAND_OFF) + turn * u64::from(waiters);
        let ahead = Ticks(u64::from(last.wrapping_sub(now.0 as u32)));
        // No waiter books further ahead than that, so the last booking is long past.
        let after_last = if ahead > longest { now } else { now + ahead + turn };
        self.overdue_at = self.overdue_at.max(after_last).min(self.begun + longest);
        self.has_booked = true;
        self.overdue_at.0 as u32
    }

    /// The action after an observation.
    pub(super) fn next(&mut self, look: &Observation) -> Action {
        let Observation { word, now, learned, .. } = look;
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
            others_parked: others_parked && !self.own.searcher,
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
        let is_to_ask = learned.is_old() && !word.is_asked() && !self.own.asked;
        if word.is_plain() && !self.watches && (is_late || is_to_ask) {
            return Action::Watch;
        }
        if word.asleep() > 0 && !self.own.searcher {
            return Action::Search;
        }
        if is_to_ask && !word.is_plain() {
            return Action::Ask;
        }
        self.spin(look)
    }

    fn spin(&mut self, look: &Observation) -> Action {
        let now = look.now;
        let asked = self.own.asked;
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

    fn rest(&mut self, look: &Observation) -> Action {
        if !self.has_booked {
            return Action::Book;
        }
        self.spin = None;
        Action::Rest(self.left(look.now))
    }

    fn sleep(&mut self, look: &Observation) -> Action {
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
    fn new(look: &Observation) -> Self {
        let budget = look.learned.held.budget(look.park, look.squeezed);
        let halved = budget / (1 << look.learned.failures.min(HALVINGS));
        Self { begun: look.now, last_look: look.now, asked: false, spin: Spin::new(halved) }
    }

    /// Whether this look comes late because the thread lost its CPU.
    fn has_slipped(&self, now: Ticks) -> bool {
        Circumstances::is_switched_out(now - self.last_look)
    }

    /// Extends the spin to the answer, which comes with the second release from now.
    fn wait_for_an_answer(&mut self, look: &Observation) {
        let answer = Ticks(u64::from(look.learned.held.0)) * 3;
        self.spin.extend(answer.min(look.park * 3));
        self.asked = true;
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
