//! What a worker without work does: a pure decision, without threads and
//! without a clock.
//!
//! Being woken takes longer than most pieces of work that are handed over one
//! at a time, and spinning until the next one takes a CPU. A queue learns how
//! long it stays empty, and one worker goes by that: it spins through gaps that
//! are shorter than being woken takes, naps through steady ones so that it is
//! awake again just before they end, and parks for everything else. How late
//! naps end is learned as well.

use crate::ladder::Expected;
use crate::ticks::Ticks;

/// How long a queue has nothing for a thread that is without work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gaps {
    /// The mean.
    pub mean: Expected,
    /// The mean of how far each was from the mean.
    pub deviation: Expected,
    /// The mean of how much later than ordered it was awake after a nap.
    pub oversleep: Expected,
}

/// A gap is steady if it deviates by less than this share.
const STEADY_SHARE: u32 = 8;

/// Gaps of more nanoseconds than this are not waited for awake.
const LONGEST: u64 = 20_000_000;

/// What naps are taken to be late by, in nanoseconds, before any was seen.
const OVERSLEEP: u64 = 30_000;

/// With each gap, this part of the time that was overslept is forgotten: where
/// others have the CPU now, it may be free later.
const FORGOTTEN: u32 = 64;

/// Pauses between two looks at the queue: the one who watches disturbs nobody.
const PAUSES: u32 = 4;
const LOOKS: u32 = if cfg!(loom) { 1 } else { 64 };

impl Gaps {
    /// None seen yet.
    pub const NONE: Self =
        Self { mean: Expected(0), deviation: Expected(0), oversleep: Expected(0) };

    /// With one more gap.
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

    /// With one more nap that ended so late, or one more watch in which the CPU
    /// was lost for so long.
    #[must_use]
    pub fn overslept(self, by: Ticks) -> Self {
        Self { oversleep: self.oversleep.with(by), ..self }
    }

    fn is_steady(self) -> bool {
        self.deviation.0 <= self.mean.0 / STEADY_SHARE
    }

    /// Until when to nap and until when to look, counted from when a thread was
    /// without work.
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

/// What to do until the next look at the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idle {
    /// Look so many times, with so many pauses before each look.
    Look {
        /// How often.
        looks: u32,
        /// How many pauses before each.
        pauses: u32,
    },
    /// Sleep for so long, unless woken.
    Nap(Ticks),
    /// Sleep until woken.
    Park,
}

/// A worker that has found the queue empty.
#[derive(Debug)]
pub struct Idler {
    nap_until: Ticks,
    look_until: Ticks,
}

impl Idler {
    /// For a queue with these gaps, where parking costs so much. Under a
    /// squeeze it parks at once.
    #[must_use]
    pub fn new(gaps: Gaps, park: Ticks, squeezed: bool) -> Self {
        let (nap_until, look_until) =
            if squeezed { (Ticks::ZERO, Ticks::ZERO) } else { gaps.plan(park) };
        Self { nap_until, look_until }
    }

    /// What to do when a thread has been without work for `idle`.
    #[must_use]
    pub fn next(&self, idle: Ticks) -> Idle {
        if idle < self.nap_until {
            Idle::Nap(self.nap_until - idle)
        } else if idle < self.look_until {
            Idle::Look { looks: LOOKS, pauses: PAUSES }
        } else {
            Idle::Park
        }
    }

    /// Whether it naps first.
    #[must_use]
    pub fn naps(&self) -> bool {
        self.nap_until > Ticks::ZERO
    }

    /// Whether it intends to stay awake or wake by itself at all.
    #[must_use]
    pub fn is_watchful(&self) -> bool {
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

    fn next(gaps: Gaps, idle: u64) -> Idle {
        Idler::new(gaps, PARK, false).next(Ticks(idle))
    }

    #[test]
    fn what_is_unknown_is_spun_for_as_long_as_a_park_takes() {
        assert!(matches!(next(gaps(&[]), 0), Idle::Look { .. }));
        assert!(matches!(next(gaps(&[]), 19_999), Idle::Look { .. }));
        assert_eq!(next(gaps(&[]), 20_000), Idle::Park);
    }

    #[test]
    fn gaps_shorter_than_a_park_are_spun_through() {
        let short = gaps(&[16_000; 20]);
        assert!(matches!(next(short, 0), Idle::Look { .. }));
        assert!(matches!(next(short, 35_999), Idle::Look { .. }));
        assert_eq!(next(short, 40_000), Idle::Park);
        let wild = gaps(&[1_000, 30_000, 1_000, 30_000]);
        assert!(matches!(next(wild, 39_999), Idle::Look { .. }));
        assert_eq!(next(wild, 40_000), Idle::Park, "never longer than two parks");
        assert_eq!(next(gaps(&[24_000; 20]), 0), Idle::Park);
    }

    #[test]
    fn what_was_overslept_is_forgotten() {
        let steady = gaps(&[1_000_000; 40]).overslept(Ticks(3_000_000));
        assert_eq!(next(steady, 0), Idle::Park);
        let later = (0..300).fold(steady, |gaps, _| gaps.with(Ticks(1_000_000)));
        assert!(matches!(next(later, 0), Idle::Nap(_)));
    }

    #[test]
    fn steady_gaps_are_napped_through() {
        let steady = gaps(&[1_000_000; 40]);
        assert!(steady.is_steady());
        let Idle::Nap(left) = next(steady, 100_000) else { panic!("it naps") };
        let until = 100_000 + left.0;
        let early = Ticks::from_nanos(OVERSLEEP) + PARK;
        assert!((900_000 - early.0..=1_000_000 - early.0).contains(&until), "{until}");
        assert!(matches!(next(steady, until), Idle::Look { .. }));
        assert!(matches!(next(steady, 1_010_000), Idle::Look { .. }));
        assert_eq!(next(steady, 1_200_000), Idle::Park);
    }

    #[test]
    fn a_nap_ends_as_much_earlier_as_naps_are_late() {
        let steady = Gaps { oversleep: Expected(0), ..gaps(&[1_000_000; 40]) };
        let nap = |gaps| match next(gaps, 0) {
            Idle::Nap(left) => left,
            other => panic!("{other:?}"),
        };
        let (prompt, late) = (steady.overslept(Ticks(1_000)), steady.overslept(Ticks(201_000)));
        assert_eq!(nap(prompt) - nap(late), Ticks(200_000));
        let hopeless = steady.overslept(Ticks(600_000));
        assert_eq!(next(hopeless, 0), Idle::Park, "half of the gap would be spent awake");
    }

    #[test]
    fn unsteady_and_long_gaps_are_parked() {
        assert_eq!(next(gaps(&[100_000, 900_000, 50_000, 2_000_000]), 0), Idle::Park);
        // A nap would leave half of the gap, but to end it is to guess.
        let ms = Ticks::from_nanos(1_000_000).0;
        let guess = gaps(&[5 * ms; 40]).with(Ticks(9 * ms));
        assert!(!guess.is_steady());
        assert_eq!(next(guess, 0), Idle::Park);
        let long = Ticks::from_nanos(30_000_000).0;
        assert_eq!(next(gaps(&[long; 40]), 0), Idle::Park);
        assert!(!Idler::new(gaps(&[long; 40]), PARK, false).is_watchful());
    }

    #[test]
    fn under_a_squeeze_it_parks() {
        let idler = Idler::new(gaps(&[30_000; 20]), PARK, true);
        assert_eq!(idler.next(Ticks::ZERO), Idle::Park);
        assert!(!idler.is_watchful());
    }
}
