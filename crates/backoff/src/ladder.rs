//! How long to spin before parking: a pure decision, without threads and
//! without a clock.
//!
//! A wait is spun while that is expected to cost less than being parked and
//! woken (the ski-rental problem: rent until the rent has cost as much as the
//! skis). What parking costs is measured on the machine
//! ([`calibrate`](crate::calibrate)); how long a wait lasts is learned where it
//! happens ([`Expected`]); and some circumstances forbid spinning at all
//! ([`Circumstances`]).
//!
//! Between two looks at the condition lies about a sixteenth of the time waited
//! so far, so a long wait is seen to end 6 % late, and a line that somebody
//! else writes to is asked for ever less often. The decision itself is made
//! once in several looks: it takes longer than a look.

use crate::ticks::Ticks;

/// One sixteenth of the pauses so far lie between two looks.
const BETWEEN_LOOKS: u32 = 16;

/// Looks between two decisions: one in a model, which has to try them all.
const LOOKS: u32 = if cfg!(loom) { 1 } else { 8 };

/// The longest spin where waits are known to last longer than parking costs:
/// in nanoseconds, enough for one that is nearly over.
const GLIMPSE: u64 = 1_000;

/// Added to twice the expected wait, in nanoseconds: a hand-over between CPUs
/// and the scatter of short waits.
const MARGIN: u64 = 2_000;

/// A thread that is away from its loop for more nanoseconds than this has lost
/// its CPU.
const SLIP: u64 = 20_000;

/// A spin that has lasted for more nanoseconds than this asks the kernel for
/// the thread's policy.
const PRIORITY: u64 = 2_000;

/// What speaks against spinning, whatever it costs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Circumstances {
    /// The thread is `SCHED_FIFO`, `SCHED_RR` or `SCHED_DEADLINE`: whom it
    /// waits for may need its CPU, and would not get it.
    pub real_time: bool,
    /// The thread was not on a CPU since its last look: CPUs are short, and
    /// most likely whom it waits for lacks one.
    pub switched_out: bool,
    /// Others have parked here already.
    pub others_parked: bool,
}

impl Circumstances {
    /// Whether any of it is the case.
    #[must_use]
    pub const fn forbid_spinning(self) -> bool {
        self.real_time || self.switched_out || self.others_parked
    }

    /// Whether a thread whose look comes so much later than ordered was
    /// switched out in between.
    #[inline]
    #[must_use]
    pub fn is_switched_out(late: Ticks) -> bool {
        late > Ticks::from_nanos(SLIP)
    }

    /// Whether a spin that has lasted for so long is worth a system call that
    /// says whether the thread is [real-time](Self::real_time).
    #[inline]
    #[must_use]
    pub fn is_worth_asking(spun: Ticks) -> bool {
        spun > Ticks::from_nanos(PRIORITY)
    }
}

/// What to do until the next look at the condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Look at the condition so many times, with so many
    /// [pauses](crate::hint::pause) before each look.
    Look {
        /// How often.
        looks: u32,
        /// How many pauses before each.
        pauses: u32,
    },
    /// Give the CPU away, until somebody wakes the thread.
    Park,
}

/// Where a spinning wait stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spin {
    budget: Ticks,
    pauses: u32,
}

impl Spin {
    /// A spin of this length at most.
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

    /// Makes the spin last for `budget` at least.
    pub fn extend(&mut self, budget: Ticks) {
        self.budget = self.budget.max(budget);
    }

    /// How many pauses were ordered so far.
    #[must_use]
    pub const fn pauses(&self) -> u32 {
        self.pauses
    }
}

/// How long waits last at one place in a program: an exponentially weighted
/// mean in which the last counts for a quarter, in ticks. 0 is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Expected(pub u32);

impl Expected {
    /// With one more wait.
    #[must_use]
    pub fn with(self, wait: Ticks) -> Self {
        let wait = u32::try_from(wait.0).unwrap_or(u32::MAX);
        let mean = if self.0 == 0 { wait } else { self.0 - self.0 / 4 + wait / 4 };
        Self(mean.max(1))
    }

    /// How long to spin at most, where being parked and woken takes `park`.
    ///
    /// Unknown waits get all of it. Short ones twice what is expected: who
    /// waits for longer waits for a thread that has lost its CPU. Waits that
    /// are expected to outlast `park` get a glimpse. All get an eighth under a
    /// squeeze: where the CPU quota of the control group is being used up or a
    /// hypervisor takes CPU time away, spinning is paid for with work.
    #[must_use]
    pub fn budget(self, park: Ticks, squeezed: bool) -> Ticks {
        let expected = Ticks(u64::from(self.0));
        let budget = if expected == Ticks::ZERO {
            park
        } else if expected > park {
            Ticks::from_nanos(GLIMPSE).min(park)
        } else {
            (expected * 2 + Ticks::from_nanos(MARGIN)).min(park)
        };
        if squeezed { budget / 8 } else { budget }
    }
}

/// How long to sleep where nobody will wake the thread: 50 µs, then twice as
/// long each time, to 1 ms.
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
    fn a_late_look_and_a_long_spin_are_told_by_their_length() {
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
        assert_eq!(Expected(too_long.0 as u32).budget(park, false), Ticks::from_nanos(GLIMPSE));
        assert_eq!(Expected(u32::MAX).budget(Ticks(5), false), Ticks(5), "never above a park");
        assert_eq!(Expected(0).budget(park, true), park / 8);
    }

    #[test]
    fn what_is_expected_follows_the_waits() {
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
