//! What a worker without work does: a pure decision, without threads and
//! without a clock.
//!
//! Being woken takes longer than most pieces of work that are handed over one
//! at a time, and spinning until the next one takes a CPU. A queue learns how
//! long it stays empty, and one worker goes by that: it spins through short
//! gaps, naps through steady ones so that it is awake again just before they
//! end, and parks for everything else.

use crate::ladder::Expected;
use crate::ticks::Ticks;

/// How long a queue stays empty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gaps {
    /// The mean.
    pub mean: Expected,
    /// The mean of how far each was from the mean.
    pub deviation: Expected,
}

/// A gap is steady if it deviates by less than this share.
const STEADY_SHARE: u32 = 8;

/// Gaps of more nanoseconds than this are not waited for awake.
const LONGEST: u64 = 20_000_000;

/// Gaps up to so many times what parking costs are spun through.
const SHORT: u64 = 3;

/// A nap ends so many times what parking costs before the gap is expected to,
/// and so many nanoseconds at least: a timer is as late as a wake-up, and then
/// some.
const EARLY: u64 = 2;
const AT_LEAST_EARLY: u64 = 30_000;

/// Pauses between two looks at the queue: the one who watches disturbs nobody.
const PAUSES: u32 = 4;
const LOOKS: u32 = 8;

impl Gaps {
    /// With one more gap.
    #[must_use]
    pub fn with(self, gap: Ticks) -> Self {
        let gap = Ticks(gap.0.min(u64::from(u32::MAX)));
        let deviation =
            if self.mean.0 == 0 { gap } else { Ticks(gap.0.abs_diff(u64::from(self.mean.0))) };
        Self { mean: self.mean.with(gap), deviation: self.deviation.with(deviation) }
    }

    fn is_steady(self) -> bool {
        self.deviation.0 <= self.mean.0 / STEADY_SHARE
    }

    /// Until when to nap and until when to look, counted from when the queue
    /// became empty.
    fn plan(self, park: Ticks) -> (Ticks, Ticks) {
        let mean = Ticks(u64::from(self.mean.0));
        let around = Ticks(u64::from(self.deviation.0)) * 2;
        if mean == Ticks::ZERO {
            (Ticks::ZERO, park)
        } else if mean <= park * SHORT {
            (Ticks::ZERO, (mean + around + park).min(park * SHORT * 2))
        } else if mean <= Ticks::from_nanos(LONGEST) && self.is_steady() {
            let early = around + (park * EARLY).max(Ticks::from_nanos(AT_LEAST_EARLY));
            (mean - early, mean + around + park)
        } else {
            (Ticks::ZERO, Ticks::ZERO)
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

    /// What to do when the queue has been empty for `idle`.
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
        crate::calibrate::learn_rate(true);
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
    fn short_gaps_are_spun_through() {
        let short = gaps(&[30_000; 20]);
        assert!(matches!(next(short, 0), Idle::Look { .. }));
        assert!(matches!(next(short, 49_999), Idle::Look { .. }));
        assert_eq!(next(short, 120_000), Idle::Park);
        let wild = gaps(&[1_000, 90_000, 1_000, 90_000]);
        assert!(matches!(next(wild, 119_999), Idle::Look { .. } | Idle::Park));
        assert_eq!(next(wild, 120_000), Idle::Park, "never longer than six parks");
    }

    #[test]
    fn steady_gaps_are_napped_through() {
        let steady = gaps(&[1_000_000; 40]);
        assert!(steady.is_steady());
        let Idle::Nap(left) = next(steady, 100_000) else { panic!("it naps") };
        let until = 100_000 + left.0;
        let early = Ticks::from_nanos(AT_LEAST_EARLY).0.max(2 * PARK.0);
        assert!((900_000 - early..=1_000_000 - early).contains(&until), "{until}");
        assert!(matches!(next(steady, until), Idle::Look { .. }));
        assert!(matches!(next(steady, 1_010_000), Idle::Look { .. }));
        assert_eq!(next(steady, 1_200_000), Idle::Park);
    }

    #[test]
    fn unsteady_and_long_gaps_are_parked() {
        assert_eq!(next(gaps(&[100_000, 900_000, 50_000, 2_000_000]), 0), Idle::Park);
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
