//! Operating performance points: the frequencies of a clock, and their power.

use unjank_host::{Hertz, Joules, Nanos, Watts};

/// One operating performance point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Opp {
    /// Clock frequency of the CPU.
    pub frequency: Hertz,
    /// Power of one busy CPU.
    pub busy: Watts,
}

/// The operating performance points of CPUs that share a clock, and the power of
/// the rest of the device.
#[derive(Debug, Clone, PartialEq)]
pub struct OppTable {
    points: Vec<Opp>,
    /// Power of one idle CPU, at any point.
    pub idle: Watts,
    /// Constant power of the rest of the device.
    pub rest: Watts,
}

impl OppTable {
    /// A table of `points` in any order, without power for idle CPUs and the
    /// rest of the device. `None` without points.
    pub fn new(mut points: Vec<Opp>) -> Option<Self> {
        points.sort_by_key(|point| point.frequency);
        points.dedup_by_key(|point| point.frequency);
        (!points.is_empty()).then_some(Self { points, idle: Watts(0.0), rest: Watts(0.0) })
    }

    /// The points, the slowest first.
    pub fn points(&self) -> &[Opp] {
        &self.points
    }

    /// Frequency of the slowest point.
    pub fn lowest(&self) -> Hertz {
        self.points[0].frequency
    }

    /// Frequency of the fastest point.
    pub fn highest(&self) -> Hertz {
        self.points[self.points.len() - 1].frequency
    }

    /// Power of a busy CPU at `frequency`: that of the nearest point, for drivers
    /// that report the hardware's real frequency.
    pub fn busy_at(&self, frequency: Hertz) -> Watts {
        let far = |point: &&Opp| point.frequency.0.abs_diff(frequency.0);
        self.points.iter().min_by_key(far).map_or(Watts(0.0), |point| point.busy)
    }

    /// The energy of one CPU that was busy for `busy` and idle for `idle` at
    /// `frequency`, without the rest of the device.
    pub fn cpu_energy(&self, frequency: Hertz, busy: Nanos, idle: Nanos) -> Joules {
        self.busy_at(frequency).over(busy) + self.idle.over(idle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(mhz: u64, milliwatts: f64) -> Opp {
        Opp { frequency: Hertz::from_khz(mhz * 1_000), busy: Watts::from_milliwatts(milliwatts) }
    }

    #[test]
    fn points_are_sorted_and_single() {
        assert_eq!(OppTable::new(vec![]), None);
        let table =
            OppTable::new(vec![point(1200, 600.0), point(200, 200.0), point(200, 1.0)]).unwrap();
        assert_eq!(table.points(), [point(200, 200.0), point(1200, 600.0)]);
        assert_eq!((table.lowest(), table.highest()), (Hertz(200_000_000), Hertz(1_200_000_000)));
    }

    #[test]
    fn energy_is_that_of_the_nearest_point() {
        let mut table = OppTable::new(vec![point(200, 200.0), point(1200, 600.0)]).unwrap();
        table.idle = Watts::from_milliwatts(10.0);
        let half = Nanos::from_millis(500);
        assert_eq!(table.cpu_energy(Hertz(1_190_000_000), half, half), Joules(0.305));
        assert_eq!(table.cpu_energy(Hertz(0), half, Nanos::ZERO), Joules(0.1));
    }
}
