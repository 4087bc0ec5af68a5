//! A simple model of launch times.

use unjank_host::Nanos;

use unjank_cachesim::tier::Waits;

/// A launch takes a fixed time plus the time of the page-ins it waits for, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Latency {
    /// The time of a launch of an app that has to start, without page-ins.
    pub start: Nanos,
    /// The time of a launch of an app that comes back, without page-ins.
    pub resume: Nanos,
    /// The time of a page-in from storage.
    pub storage: Nanos,
    /// The time of a page-in from the tier.
    pub tier: Nanos,
}

impl Default for Latency {
    /// Round numbers for a phone of 2013 to 2016: a random read of 4 KiB from eMMC, and a copy from
    /// non-volatile memory.
    fn default() -> Self {
        Self {
            start: Nanos::from_millis(1_500),
            resume: Nanos::from_millis(1_000),
            storage: Nanos::from_micros(150),
            tier: Nanos::from_micros(5),
        }
    }
}

impl Latency {
    /// The time of a launch.
    pub fn of(self, starts: bool, waits: Waits) -> Nanos {
        let fixed = if starts { self.start } else { self.resume };
        let page_ins = [(waits.storage, self.storage), (waits.tier, self.tier)];
        let waited = page_ins.map(|(count, each)| count.saturating_mul(each.0));
        Nanos(fixed.0.saturating_add(waited[0]).saturating_add(waited[1]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_takes_its_page_ins_one_after_the_other() {
        let latency = Latency::default();
        let waits = Waits { storage: 1_000, tier: 2_000 };
        assert_eq!(latency.of(false, waits), Nanos::from_millis(1_000 + 150 + 10));
        assert_eq!(latency.of(true, Waits::default()), Nanos::from_millis(1_500));
    }
}
