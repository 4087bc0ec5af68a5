//! Integrates power samples to energy, by the trapezoid rule over their actual
//! times.

use super::{Reading, Samples};
use crate::clock::Timestamp;
use unjank_units::{Joules, Nanos, Watts};

/// The energy under a sequence of powers.
#[derive(Debug, Clone)]
pub struct Integral {
    period: Nanos,
    energy: Joules,
    last: Option<(Timestamp, Watts)>,
    samples: Samples,
}

impl Integral {
    /// For samples that are due every `period`; zero if the period is unknown.
    pub fn new(period: Nanos) -> Self {
        Self { period, energy: Joules(0.0), last: None, samples: Samples::default() }
    }

    /// Sets the period of later samples.
    pub fn expect_every(&mut self, period: Nanos) {
        self.period = period;
    }

    /// Adds the power at one moment. The first one only starts the integral. A
    /// sample that is not later than the previous one, or not a number, counts
    /// as damaged.
    pub fn add(&mut self, at: Timestamp, power: Watts) {
        if !power.0.is_finite() || self.last.is_some_and(|(last, _)| at <= last) {
            return self.damaged();
        }
        if let Some((last, before)) = self.last {
            let time = at.since(last);
            self.energy = self.energy + Watts(f64::midpoint(before.0, power.0)).over(time);
            self.samples.longest = self.samples.longest.max(time);
            if self.period > Nanos::ZERO && time > self.period.times(2) {
                self.samples.gaps += 1;
                self.samples.gap_time = self.samples.gap_time + time;
                let due = (time.get() + self.period.get() / 2) / self.period.get();
                self.samples.lost += due.saturating_sub(1);
            }
        }
        self.last = Some((at, power));
        self.samples.good += 1;
    }

    /// Counts a damaged sample.
    pub fn damaged(&mut self) {
        self.samples.damaged += 1;
    }

    /// The last moment and its power.
    pub fn last(&self) -> Option<(Timestamp, Watts)> {
        self.last
    }

    /// The reading at `now`. The last sample's power is assumed to continue for
    /// at most two periods.
    pub fn reading(&self, now: Timestamp) -> Reading {
        let open = self.last.map_or(Joules(0.0), |(last, power)| {
            let longest =
                if self.period > Nanos::ZERO { self.period.times(2) } else { Nanos::ZERO };
            power.over(now.since(last).min(longest))
        });
        Reading {
            at: now,
            energy: self.energy + open,
            cpu: None,
            samples: self.samples,
            ended: None,
        }
    }

    /// The reading at the last sample.
    pub fn final_reading(&self) -> Option<Reading> {
        self.last.map(|(last, _)| self.reading(last))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn energy_is_the_area_under_the_powers() {
        let mut integral = Integral::new(Nanos::from_millis(1_000));
        for (millis, watts) in [(1_000, 1.0), (2_000, 3.0), (2_500, 3.0)] {
            integral.add(at(millis), Watts(watts));
        }
        let reading = integral.final_reading().unwrap();
        assert_eq!((reading.at, reading.energy, reading.samples.good), (at(2_500), Joules(3.5), 3));
        // The last power continues, but not for ever.
        assert_eq!(integral.reading(at(3_500)).energy, Joules(6.5));
        assert_eq!(integral.reading(at(99_000)).energy, Joules(9.5));
    }

    #[test]
    fn gaps_are_counted_and_bridged() {
        let mut integral = Integral::new(Nanos::from_millis(100));
        for millis in [0, 100, 190, 700] {
            integral.add(at(millis), Watts(2.0));
        }
        let reading = integral.final_reading().unwrap();
        assert_eq!(reading.energy, Joules(1.4));
        let samples = reading.samples;
        assert_eq!((samples.gaps, samples.lost, samples.good), (1, 4, 4));
        assert_eq!(
            (samples.gap_time, samples.longest),
            (Nanos::from_millis(510), samples.gap_time)
        );
    }

    #[test]
    fn damaged_samples_are_counted_and_left_out() {
        let mut integral = Integral::new(Nanos::ZERO);
        integral.add(at(10), Watts(1.0));
        integral.add(at(10), Watts(1.0));
        integral.add(at(5), Watts(1.0));
        integral.add(at(20), Watts(f64::NAN));
        assert_eq!((integral.samples.good, integral.samples.damaged), (1, 3));
        assert_eq!(integral.reading(at(50)).energy, Joules(0.0));
    }

    proptest! {
        /// A power that changes linearly is integrated exactly, whatever the
        /// moments of its samples.
        #[test]
        fn a_ramp_is_exact(steps in prop::collection::vec(1_u64..5_000, 1..200), slope in -3.0..3.0_f64) {
            let power = |t: u64| Watts(10.0 + slope * t as f64 / 1e3);
            let mut integral = Integral::new(Nanos::ZERO);
            let mut t = 0;
            integral.add(at(t), power(t));
            for step in steps {
                t += step;
                integral.add(at(t), power(t));
            }
            let seconds = t as f64 / 1e3;
            let exact = 10.0 * seconds + slope * seconds * seconds / 2.0;
            let found = integral.final_reading().unwrap().energy.0;
            prop_assert!((found - exact).abs() <= 1e-9 * (1.0 + seconds * seconds * 10.0), "{found} {exact}");
        }
    }
}
