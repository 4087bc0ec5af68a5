//! The clock of a policy: which frequency the kernel sets for a requested one.

use unjank_host::Hertz;

use crate::model::OppTable;

/// Kilohertz, the unit of cpufreq: divisions round as in the kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Khz(pub u32);

impl From<Khz> for Hertz {
    fn from(khz: Khz) -> Self {
        Self::from_khz(u64::from(khz.0))
    }
}

impl From<Hertz> for Khz {
    fn from(frequency: Hertz) -> Self {
        Self(u32::try_from(frequency.0 / 1_000).unwrap_or(u32::MAX))
    }
}

/// How a requested frequency becomes one of the table
/// (`CPUFREQ_RELATION_*`, `include/linux/cpufreq.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// L: the lowest at or above the requested one.
    AtLeast,
    /// H: the highest at or below it.
    AtMost,
    /// C: the closest.
    Closest,
}

/// Which of two equally close frequencies is set. Kernels since 4.8 walk a
/// sorted table from its first entry and keep the first of the closest; earlier
/// ones took the faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ties {
    /// The slower: for tables that begin with the slowest frequency.
    Slower,
    /// The faster: for tables that begin with the fastest, as those of ACPI do,
    /// and for kernels before 4.8.
    Faster,
}

/// The frequencies of one policy, its limits, and its current frequency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clock {
    table: Box<[Khz]>,
    ties: Ties,
    min: Khz,
    max: Khz,
    current: usize,
}

impl Clock {
    /// A clock at the slowest frequency of `table`, without further limits.
    pub fn new(table: &OppTable, ties: Ties) -> Self {
        let khz: Box<[Khz]> =
            table.points().iter().map(|point| Khz::from(point.frequency)).collect();
        let (min, max) = (khz[0], khz[khz.len() - 1]);
        Self { table: khz, ties, min, max, current: 0 }
    }

    /// The frequency at which it runs.
    pub fn current(&self) -> Khz {
        self.table[self.current]
    }

    /// The current frequency's index in the table, the slowest first.
    pub fn index(&self) -> usize {
        self.current
    }

    /// `scaling_min_freq`.
    pub fn min(&self) -> Khz {
        self.min
    }

    /// `scaling_max_freq`.
    pub fn max(&self) -> Khz {
        self.max
    }

    /// `cpuinfo_min_freq`.
    pub fn lowest(&self) -> Khz {
        self.table[0]
    }

    /// `cpuinfo_max_freq`.
    pub fn highest(&self) -> Khz {
        self.table[self.table.len() - 1]
    }

    /// All frequencies, the slowest first.
    pub fn table(&self) -> &[Khz] {
        &self.table
    }

    /// Whether the current frequency is the upper limit.
    pub fn is_at_max(&self) -> bool {
        self.current() == self.max
    }

    /// The frequency that the kernel sets for `requested`
    /// (`cpufreq_frequency_table_target`, `drivers/cpufreq/freq_table.c`):
    /// within the limits, by `relation`.
    pub fn resolve(&self, requested: Khz, relation: Relation) -> Khz {
        self.table[self.place(requested, relation)]
    }

    /// Sets the frequency for `requested`, as `__cpufreq_driver_target` does.
    pub fn target(&mut self, requested: Khz, relation: Relation) {
        self.current = self.place(requested, relation);
    }

    /// Begins at the frequency of the table that is closest to `khz`.
    pub fn begin_at(&mut self, khz: Khz) {
        self.current = self.place(khz, Relation::Closest);
    }

    /// Sets the limits as a write of `scaling_min_freq` or `scaling_max_freq`
    /// does, and brings the frequency within them
    /// (`cpufreq_policy_apply_limits`). A minimum above the maximum is lowered
    /// to it.
    pub fn limit(&mut self, min: Khz, max: Khz) {
        self.max = max.clamp(self.lowest(), self.highest());
        self.min = min.clamp(self.lowest(), self.max);
        if self.current() > self.max {
            self.target(self.max, Relation::AtMost);
        } else if self.current() < self.min {
            self.target(self.min, Relation::AtLeast);
        }
    }

    fn place(&self, requested: Khz, relation: Relation) -> usize {
        let requested = requested.clamp(self.min, self.max);
        let end = self.table.len() - 1;
        // Few frequencies: a linear search is faster than a binary one.
        let above = self.table.iter().position(|khz| *khz >= requested).unwrap_or(end);
        let below = if self.table[above] > requested { above.saturating_sub(1) } else { above };
        let place = match relation {
            Relation::AtLeast => above,
            Relation::AtMost => below,
            Relation::Closest => {
                let up = self.table[above].0.abs_diff(requested.0);
                let down = self.table[below].0.abs_diff(requested.0);
                match self.ties {
                    Ties::Slower if down <= up => below,
                    Ties::Faster if down < up => below,
                    Ties::Slower | Ties::Faster => above,
                }
            }
        };
        self.within(place)
    }

    /// Corrects for limits that are not in the table.
    fn within(&self, place: usize) -> usize {
        if self.table[place] > self.max && place > 0 && self.table[place - 1] >= self.min {
            place - 1
        } else if self.table[place] < self.min && place + 1 < self.table.len() {
            place + 1
        } else {
            place
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use unjank_host::Watts;

    use super::*;
    use crate::model::Opp;

    /// The clock of a Galaxy S II.
    pub(crate) fn exynos(ties: Ties) -> Clock {
        Clock::new(&exynos_table(), ties)
    }

    pub(crate) fn exynos_table() -> OppTable {
        let points = [(200, 205.0), (500, 304.0), (800, 421.0), (1000, 518.0), (1200, 629.0)];
        let point = |(mhz, milliwatts): (u64, f64)| Opp {
            frequency: Hertz::from_khz(mhz * 1_000),
            busy: Watts::from_milliwatts(milliwatts),
        };
        let mut table = OppTable::new(points.map(point).to_vec()).unwrap();
        table.idle = Watts::from_milliwatts(5.0);
        table.rest = Watts::from_milliwatts(952.0);
        table
    }

    fn mhz(mhz: u32) -> Khz {
        Khz(mhz * 1_000)
    }

    #[test]
    fn requests_become_frequencies_of_the_table() {
        let clock = exynos(Ties::Faster);
        let resolved = |requested, relation| clock.resolve(mhz(requested), relation).0 / 1_000;
        assert_eq!(resolved(600, Relation::AtLeast), 800);
        assert_eq!(resolved(600, Relation::AtMost), 500);
        assert_eq!(resolved(600, Relation::Closest), 500);
        assert_eq!(resolved(700, Relation::Closest), 800);
        assert_eq!(resolved(800, Relation::AtLeast), 800);
        assert_eq!(resolved(800, Relation::AtMost), 800);
        assert_eq!(resolved(5, Relation::AtMost), 200);
        assert_eq!(resolved(5_000, Relation::AtLeast), 1200);
    }

    #[test]
    fn ties_go_by_the_order_of_the_table() {
        let between = mhz(350);
        assert_eq!(exynos(Ties::Faster).resolve(between, Relation::Closest), mhz(500));
        assert_eq!(exynos(Ties::Slower).resolve(between, Relation::Closest), mhz(200));
    }

    #[test]
    fn limits_hold_even_if_they_are_not_in_the_table() {
        let mut clock = exynos(Ties::Faster);
        clock.limit(mhz(300), mhz(900));
        assert_eq!(clock.current(), mhz(500));
        assert_eq!(clock.resolve(mhz(1200), Relation::AtLeast), mhz(800));
        assert_eq!(clock.resolve(mhz(200), Relation::AtMost), mhz(500));
        clock.limit(mhz(1200), mhz(1200));
        assert_eq!(clock.current(), mhz(1200));
        clock.limit(mhz(200), mhz(1200));
        assert_eq!(clock.current(), mhz(1200));
        assert!(clock.is_at_max());
    }
}
