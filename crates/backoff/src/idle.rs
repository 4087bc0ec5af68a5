//! The idle policy: the steps of a worker without work. Pure functions, without
//! threads and without a clock.
//!
//! A wake-up takes longer than most pieces of work that are handed over one at a
//! time, and spinning until the next one takes a CPU. So a queue learns how long
//! it stays empty. One worker spins through gaps that are shorter than a wake-up,
//! naps through steady gaps so that it is awake just before they end, and parks
//! otherwise. The queue also learns how late naps end.

use crate::spin_policy::Expected;
use crate::ticks::Ticks;

/// The times for which a queue is empty while a thread is without work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gaps {
    /// The mean gap, exponentially weighted, in ticks; 0 if it is unknown.
    pub mean: Expected,
    /// The mean distance from the mean.
    pub deviation: Expected,
    /// The mean delay with which naps end.
    pub oversleep: Expected,
}

/// Gaps are steady if they deviate by at most the mean over this.
const STEADY_SHARE: u32 = 8;

/// Longer gaps, in nanoseconds, are not napped through.
const LONGEST: u64 = 20_000_000;

/// The assumed delay of naps in nanoseconds, before any was measured.
const OVERSLEEP: u64 = 30_000;

/// Each gap reduces the learned delay of naps by the delay over this: a busy CPU
/// may be free later.
const FORGOTTEN: u32 = 64;

/// Pauses between two looks at the queue, so that the poller disturbs no other
/// thread.
const PAUSES: u32 = 4;
const LOOKS: u32 = if cfg!(loom) { 1 } else { 64 };

impl Gaps {
    /// No gap measured yet.
    pub const NONE: Self =
        Self { mean: Expected(0), deviation: Expected(0), oversleep: Expected(0) };

    /// Adds one more gap.
    #[must_use]
    pub fn with(self, gap: Ticks) -> Self {
        let gap = Ticks(gap.0.min(u64::from(u32::MAX)));
        let deviation =
            if self.mean.0 == 0 { gap } else { Ticks(gap.0.abs_diff(u64::from(self.mean.0))) };
        let deviation = self.deviation.with(deviation);
        let Expected(oversleep) = self.oversleep;
        let oversleep = Expected(oversleep - oversleep / FORGOTTEN);
        Self { mean: self.mean.with(gap), deviation, oversleep }
    }

    /// Adds a nap that ended this late, or a poll that lost the CPU for this long.
    #[must_use]
    pub fn overslept(self, by: Ticks) -> Self {
        Self { oversleep: self.oversleep.with(by), ..self }
    }

    fn is_steady(self) -> bool {
        self.deviation.0 <= self.mean.0 / STEADY_SHARE
    }

    /// How long to nap and how long to look, both counted from the moment when a
    /// thread was without work.
    fn plan(self, park: Ticks) -> (Ticks, Ticks) {
        let mean = Ticks(u64::from(self.mean.0));
        let around = Ticks(u64::from(self.deviation.0)) * 2;
        let early = around + self.expected_oversleep() + park;
        if mean == Ticks::ZERO {
            (Ticks::ZERO, park)
        } else if mean > early * 2 && mean <= Ticks::from_nanos(LONGEST) && self.is_steady() {
            (mean - early, mean + around + park)
        } else if mean <= park {
            (Ticks::ZERO, (mean + around + park).min(park * 2))
        } else {
            (Ticks::ZERO, Ticks::ZERO)
        }
    }

    fn expected_oversleep(self) -> Ticks {
        match self.oversleep {
            Expected(0) => Ticks::from_nanos(OVERSLEEP),
            Expected(known) => Ticks(u64::from(known)),
        }
    }
}

/// A step of an idle worker until its next look at the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleStep {
    /// Look at the queue this often, with pauses before each look.
    Look {
        /// Number of looks.
        looks: u32,
        /// Number of pauses before each look.
        pauses: u32,
    },
    /// Sleep for this time, unless woken.
    Nap(Ticks),
    /// Sleep until woken.
    Park,
}

/// The plan of a worker that has found the queue empty.
#[derive(Debug)]
pub struct IdlePlan {
    nap_until: Ticks,
    look_until: Ticks,
}

impl IdlePlan {
    /// For a queue with these gaps, if parking takes `park`. If `squeezed` (see
    /// [`Expected::budget`]), it parks at once.
    #[must_use]
    pub fn new(gaps: Gaps, park: Ticks, squeezed: bool) -> Self {
        let (nap_until, look_until) =
            if squeezed { (Ticks::ZERO, Ticks::ZERO) } else { gaps.plan(park) };
        Self { nap_until, look_until }
    }

    /// The step of a thread that has been without work for `idle`.
    #[must_use]
    pub fn next(&self, idle: Ticks) -> IdleStep {
        if idle < self.nap_until {
            IdleStep::Nap(self.nap_until - idle)
        } else if idle < self.look_until {
            IdleStep::Look { looks: LOOKS, pauses: PAUSES }
        } else {
            IdleStep::Park
        }
    }

    /// Whether it begins with a nap.
    #[must_use]
    pub fn naps(&self) -> bool {
        self.nap_until > Ticks::ZERO
    }

    /// Whether it looks at the queue at all, at once or after a nap.
    #[must_use]
    pub fn polls(&self) -> bool {
        self.look_until > Ticks::ZERO
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const PARK: Ticks = Ticks(20_000);

    fn gaps(each: &[u64]) -> Gaps {
        #[cfg(feature = "std")]
        crate::rate::learn_rate(true);
        each.iter().fold(Gaps::default(), |gaps, &gap| gaps.with(Ticks(gap)))
    }

    fn next(gaps: Gaps, idle: u64) -> IdleStep {
        IdlePlan::new(gaps, PARK, false).next(Ticks(idle))
    }

    #[test]
    fn unknown_gaps_are_spun_for_as_long_as_a_park_takes() {
        assert!(matches!(next(gaps(&[]), 0), IdleStep::Look { .. }));
        assert!(matches!(next(gaps(&[]), 19_999), IdleStep::Look { .. }));
        assert_eq!(next(gaps(&[]), 20_000), IdleStep::Park);
    }

    #[test]
    fn gaps_shorter_than_a_park_are_spun_through() {
        let short = gaps(&[16_000; 20]);
        assert!(matches!(next(short, 0), IdleStep::Look { .. }));
        assert!(matches!(next(short, 35_999), IdleStep::Look { .. }));
        assert_eq!(next(short, 40_000), IdleStep::Park);
        let wild = gaps(&[1_000, 30_000, 1_000, 30_000]);
        assert!(matches!(next(wild, 39_999), IdleStep::Look { .. }));
        assert_eq!(next(wild, 40_000), IdleStep::Park, "never longer than two parks");
        assert_eq!(next(gaps(&[24_000; 20]), 0), IdleStep::Park);
    }

    #[test]
    fn what_was_overslept_is_forgotten() {
        let steady = gaps(&[1_000_000; 40]).overslept(Ticks(3_000_000));
        assert_eq!(next(steady, 0), IdleStep::Park);
        let later = (0..300).fold(steady, |gaps, _| gaps.with(Ticks(1_000_000)));
        assert!(matches!(next(later, 0), IdleStep::Nap(_)));
    }

    #[test]
    fn steady_gaps_are_napped_through() {
        let steady = gaps(&[1_000_000; 40]);
        assert!(steady.is_steady());
        let IdleStep::Nap(left) = next(steady, 100_000) else { panic!("it naps") };
        let until = 100_000 + left.0;
        let early = Ticks::from_nanos(OVERSLEEP) + PARK;
        assert!((900_000 - early.0..=1_000_000 - early.0).contains(&until), "{until}");
        assert!(matches!(next(steady, until), IdleStep::Look { .. }));
        assert!(matches!(next(steady, 1_010_000), IdleStep::Look { .. }));
        assert_eq!(next(steady, 1_200_000), IdleStep::Park);
    }

    #[test]
    fn a_nap_ends_as_much_earlier_as_naps_are_late() {
        let steady = Gaps { oversleep: Expected(0), ..gaps(&[1_000_000; 40]) };
        let nap = |gaps| match next(gaps, 0) {
            IdleStep::Nap(left) => left,
            other => panic!("{other:?}"),
        };
        let (prompt, late) = (steady.overslept(Ticks(1_000)), steady.overslept(Ticks(201_000)));
        assert_eq!(nap(prompt) - nap(late), Ticks(200_000));
        let hopeless = steady.overslept(Ticks(600_000));
        assert_eq!(next(hopeless, 0), IdleStep::Park, "half of the gap would be spent awake");
    }

    #[test]
    fn unsteady_and_long_gaps_are_parked() {
        assert_eq!(next(gaps(&[100_000, 900_000, 50_000, 2_000_000]), 0), IdleStep::Park);
        // A nap would leave half of the gap, but to end it is to guess.
        let ms = Ticks::from_nanos(1_000_000).0;
        let guess = gaps(&[5 * ms; 40]).with(Ticks(9 * ms));
        assert!(!guess.is_steady());
        assert_eq!(next(guess, 0), IdleStep::Park);
        let long = Ticks::from_nanos(30_000_000).0;
        assert_eq!(next(gaps(&[long; 40]), 0), IdleStep::Park);
        assert!(!IdlePlan::new(gaps(&[long; 40]), PARK, false).polls());
    }

    #[test]
    fn under_a_squeeze_it_parks() {
        let plan = IdlePlan::new(gaps(&[30_000; 20]), PARK, true);
        assert_eq!(plan.next(Ticks::ZERO), IdleStep::Park);
        assert!(!plan.polls());
    }
}
