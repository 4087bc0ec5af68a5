//! The spin policy: how long to spin before parking. Pure functions, without
//! threads and without a clock.
//!
//! A wait is spun while that is expected to cost less than being parked and
//! woken (the ski-rental problem: rent until the rent has cost as much as the
//! skis). The cost of parking is measured on the machine
//! ([`calibrate`](crate::calibrate)). The length of waits is learned at each place
//! ([`Expected`]). Some circumstances forbid spinning ([`Circumstances`]).
//!
//! The time between two looks at the condition is about a sixteenth of the time
//! waited so far. So the end of a long wait is noticed 6 % late, and the cache line
//! of a writer is read less and less often. The decision itself is made once in
//! several looks, because it takes longer than a look.

use crate::ticks::Ticks;

/// The pauses between two looks are one sixteenth of the pauses so far.
const BETWEEN_LOOKS: u32 = 16;

/// Looks between two decisions: one in a loom model, which has to try all orders.
const LOOKS: u32 = if cfg!(loom) { 1 } else { 8 };

/// The longest spin, in nanoseconds, if waits are expected to last longer than
/// parking costs: enough for a wait that is nearly over.
const SHORT_SPIN: u64 = 1_000;

/// Added to twice the expected wait, in nanoseconds, for a hand-off between CPUs
/// and the scatter of short waits.
const MARGIN: u64 = 2_000;

/// A look that comes more nanoseconds late than this: the thread has lost its CPU.
const SLIP: u64 = 20_000;

/// After this many nanoseconds, a spin asks the kernel for the thread's scheduling
/// policy.
const PRIORITY: u64 = 2_000;

/// Reasons not to spin, whatever the costs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Circumstances {
    /// The thread is `SCHED_FIFO`, `SCHED_RR` or `SCHED_DEADLINE`: the thread that
    /// it waits for may need this CPU, and would not get it.
    pub real_time: bool,
    /// The thread lost its CPU since its last look: CPUs are short, and most likely
    /// the thread that it waits for has none.
    pub switched_out: bool,
    /// Other threads are parked here already.
    pub others_parked: bool,
}

impl Circumstances {
    /// Whether any of them applies.
    #[must_use]
    pub const fn forbid_spinning(self) -> bool {
        self.real_time || self.switched_out || self.others_parked
    }

    /// Whether a thread whose look comes late by this much lost its CPU in between.
    #[inline]
    #[must_use]
    pub fn is_switched_out(late: Ticks) -> bool {
        late > Ticks::from_nanos(SLIP)
    }

    /// Whether a spin has lasted long enough for a system call that checks whether
    /// the thread is [real-time](Self::real_time).
    #[inline]
    #[must_use]
    pub fn is_worth_asking(spun: Ticks) -> bool {
        spun > Ticks::from_nanos(PRIORITY)
    }
}

/// A step of a waiter until its next look at the condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Look at the condition this often, with [pauses](crate::hint::pause) before
    /// each look.
    Look {
        /// Number of looks.
        looks: u32,
        /// Number of pauses before each look.
        pauses: u32,
    },
    /// Park the thread until it is woken.
    Park,
}

/// The state of a spinning wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spin {
    budget: Ticks,
    pauses: u32,
}

impl Spin {
    /// A spin of at most this length.
    #[must_use]
    pub const fn new(budget: Ticks) -> Self {
        Self { budget, pauses: 0 }
    }

    /// The next step of a wait that has lasted for `waited` and is not over.
    pub fn step(&mut self, waited: Ticks, seen: Circumstances) -> Step {
        if seen.forbid_spinning() || waited >= self.budget {
            return Step::Park;
        }
        let pauses = 1 + self.pauses / BETWEEN_LOOKS;
        self.pauses = self.pauses.saturating_add(pauses.saturating_mul(LOOKS));
        Step::Look { looks: LOOKS, pauses }
    }

    /// Extends the budget to at least this one.
    pub fn extend(&mut self, budget: Ticks) {
        self.budget = self.budget.max(budget);
    }

    /// The number of pauses so far.
    #[must_use]
    pub const fn pauses(&self) -> u32 {
        self.pauses
    }
}

/// The expected length of waits at one place in a program, in ticks: an
/// exponentially weighted mean in which the last wait counts for a quarter. 0 is
/// unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Expected(pub u32);

impl Expected {
    /// Adds one more wait.
    #[must_use]
    pub fn with(self, wait: Ticks) -> Self {
        let wait = u32::try_from(wait.0).unwrap_or(u32::MAX);
        let mean = if self.0 == 0 { wait } else { self.0 - self.0 / 4 + wait / 4 };
        Self(mean.max(1))
    }

    /// How long to spin at most, if being parked and woken takes `park`.
    ///
    /// - Unknown waits: `park`.
    /// - Short waits: twice the expected length and 2 µs, at most `park`. A longer
    ///   wait is for a thread that has lost its CPU.
    /// - Waits that are expected to outlast `park`: 1 µs.
    ///
    /// If `squeezed`, an eighth of that: the CPU quota of the control group is being
    /// used up, or a hypervisor takes CPU time away, so spinning costs work.
    #[must_use]
    pub fn budget(self, park: Ticks, squeezed: bool) -> Ticks {
        let expected = Ticks(u64::from(self.0));
        let budget = if expected == Ticks::ZERO {
            park
        } else if expected > park {
            Ticks::from_nanos(SHORT_SPIN).min(park)
        } else {
            (expected * 2 + Ticks::from_nanos(MARGIN)).min(park)
        };
        if squeezed { budget / 8 } else { budget }
    }
}

/// How long to sleep if no other thread will wake this one: 50 µs, then twice as
/// long each time, up to 1 ms.
#[must_use]
pub fn nap(naps_before: u32) -> core::time::Duration {
    core::time::Duration::from_micros((50 << naps_before.min(5)).min(1_000))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::vec::Vec;

    const NOTHING: Circumstances =
        Circumstances { real_time: false, switched_out: false, others_parked: false };

    #[test]
    fn a_late_look_and_a_long_spin_are_recognised_by_their_length() {
        let nanos = Ticks::from_nanos;
        assert!(!Circumstances::is_switched_out(nanos(20_000)));
        assert!(Circumstances::is_switched_out(nanos(20_000) + Ticks(1)));
        assert!(!Circumstances::is_worth_asking(nanos(2_000)));
        assert!(Circumstances::is_worth_asking(nanos(2_000) + Ticks(1)));
    }

    #[test]
    fn pauses_grow_by_a_sixteenth() {
        let mut spin = Spin::new(Ticks(1_000));
        let pauses: Vec<u32> = (0..6)
            .map(|_| match spin.step(Ticks(999), NOTHING) {
                Step::Look { looks: LOOKS, pauses } => pauses,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(pauses, [1, 1, 2, 3, 4, 6]);
        assert_eq!(spin.pauses(), 17 * LOOKS);
    }

    #[test]
    fn it_parks_when_the_budget_is_spent() {
        let mut spin = Spin::new(Ticks(1_000));
        assert_eq!(spin.step(Ticks(1_000), NOTHING), Step::Park);
        assert_eq!(Spin::new(Ticks::ZERO).step(Ticks::ZERO, NOTHING), Step::Park);
    }

    #[test]
    fn each_circumstance_parks_at_once() {
        for seen in [
            Circumstances { real_time: true, ..NOTHING },
            Circumstances { switched_out: true, ..NOTHING },
            Circumstances { others_parked: true, ..NOTHING },
        ] {
            assert_eq!(Spin::new(Ticks::MAX).step(Ticks::ZERO, seen), Step::Park, "{seen:?}");
        }
    }

    #[test]
    fn a_budget_follows_what_is_expected() {
        #[cfg(feature = "std")]
        crate::rate::learn_rate(true);
        let park = Ticks::from_nanos(20_000);
        assert_eq!(Expected(0).budget(park, false), park);
        let short = Expected(1).budget(park, false);
        assert_eq!(short, Ticks(2) + Ticks::from_nanos(MARGIN));
        let longer = Ticks::from_nanos(15_000);
        assert_eq!(
            Expected(longer.0 as u32).budget(park, false),
            park,
            "twice is more than a park"
        );
        let too_long = Ticks::from_nanos(30_000);
        assert_eq!(Expected(too_long.0 as u32).budget(park, false), Ticks::from_nanos(SHORT_SPIN));
        assert_eq!(Expected(u32::MAX).budget(Ticks(5), false), Ticks(5), "never above a park");
        assert_eq!(Expected(0).budget(park, true), park / 8);
    }

    #[test]
    fn expectations_follow_the_waits() {
        assert_eq!(Expected(0).with(Ticks(100)), Expected(100));
        assert_eq!(Expected(100).with(Ticks(200)), Expected(125));
        assert_eq!(Expected(0).with(Ticks(0)), Expected(1), "known, if short");
        assert_eq!(Expected(0).with(Ticks::MAX), Expected(u32::MAX));
    }

    #[test]
    fn naps_double_to_a_millisecond() {
        let micros: Vec<u128> = (0..7).map(|n| nap(n).as_micros()).collect();
        assert_eq!(micros, [50, 100, 200, 400, 800, 1_000, 1_000]);
        assert_eq!(nap(u32::MAX).as_micros(), 1_000);
    }
}
