//! Meters over energy counters of the hardware or a driver.

use super::{About, Ended, Meter, Reading, Samples};
use crate::clock::Timestamp;
use crate::error::Result;
use unjank_units::{Joules, Nanos};

/// The values of counters at one moment: the total, and the CPUs' part.
pub(super) type Counts = (Joules, Option<Joules>);

/// A meter that reads its counters on request.
pub(super) struct Counted<C> {
    about: About,
    counters: C,
    last: Reading,
}

/// Counters that count from the moment they were opened.
pub(super) trait Counters: Send {
    fn counts(&mut self) -> Result<Counts>;
}

impl<C: Counters> Counted<C> {
    /// # Errors
    /// The counters cannot be read.
    pub(super) fn open(about: About, mut counters: C) -> Result<Self> {
        let (energy, cpu) = counters.counts()?;
        let samples = Samples { good: 1, ..Samples::default() };
        let last = Reading { at: Timestamp::now(), energy, cpu, samples, ended: None };
        Ok(Self { about, counters, last })
    }
}

impl<C: Counters> Meter for Counted<C> {
    fn about(&self) -> &About {
        &self.about
    }

    fn read(&mut self) -> Result<Reading> {
        if self.last.ended.is_none() {
            match self.counters.counts() {
                Ok((energy, cpu)) => {
                    let now = Timestamp::now();
                    let time: Nanos = now.since(self.last.at);
                    self.last.samples.good += 1;
                    self.last.samples.longest = self.last.samples.longest.max(time);
                    (self.last.at, self.last.energy, self.last.cpu) = (now, energy, cpu);
                }
                Err(error) => {
                    self.last.ended = Some(Ended { at: self.last.at, reason: error.to_string() });
                }
            }
        }
        Ok(self.last.clone())
    }
}

/// A counter that wraps to zero after `range`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wrapping {
    range: u64,
    last: u64,
    total: u64,
}

impl Wrapping {
    /// A counter with the value `first`, which wraps after `range`.
    pub(super) fn new(first: u64, range: u64) -> Self {
        Self { range, last: first, total: 0 }
    }

    /// The total count, with `now` as the current value. Must be called at
    /// least once per wrap.
    pub(super) fn step(&mut self, now: u64) -> u64 {
        let more = match now.checked_sub(self.last) {
            Some(more) => more,
            None => self.range.saturating_sub(self.last).saturating_add(now),
        };
        self.last = now;
        self.total = self.total.saturating_add(more);
        self.total
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::error::Error;

    #[test]
    fn a_counter_that_wraps_goes_on() {
        let mut counter = Wrapping::new(900, 1_000);
        assert_eq!([950, 30, 40].map(|now| counter.step(now)), [50, 130, 140]);
    }

    proptest! {
        #[test]
        fn steps_below_a_wrap_are_all_counted(
            range in 1_u64..1_000_000, first in any::<u64>(), steps in prop::collection::vec(any::<u64>(), 0..50),
        ) {
            let first = first % range;
            let mut counter = Wrapping::new(first, range);
            let (mut truth, mut at) = (0, first);
            for step in steps {
                let step = step % range;
                (truth, at) = (truth + step, (at + step) % range);
                prop_assert_eq!(counter.step(at), truth);
            }
        }
    }

    struct Breaks(u32);

    impl Counters for Breaks {
        fn counts(&mut self) -> Result<Counts> {
            self.0 += 1;
            if self.0 > 2 {
                return Err(Error::Unsupported("it was unplugged".to_owned()));
            }
            Ok((Joules(f64::from(self.0)), None))
        }
    }

    #[test]
    fn a_counter_that_fails_keeps_its_last_count() {
        let about = About {
            name: "test".to_owned(),
            source: String::new(),
            origin: crate::energy::Origin::Measured,
            covers: String::new(),
        };
        let mut meter = Counted::open(about, Breaks(0)).unwrap();
        let good = meter.read().unwrap();
        let bad = meter.read().unwrap();
        assert_eq!((good.energy, bad.energy), (Joules(2.0), Joules(2.0)));
        assert_eq!(bad.ended.as_ref().unwrap().reason, "it was unplugged");
        assert_eq!(bad.ended.unwrap().at, good.at);
    }
}
