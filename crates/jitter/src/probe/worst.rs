//! Keeps the worst wake-ups of a thread without allocating.

use unjank_host::{Nanos, Timestamp};

/// One wake-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WakeUp {
    /// The moment that the thread asked for.
    pub(crate) due: Timestamp,
    /// When it ran.
    pub(crate) ran: Timestamp,
}

impl WakeUp {
    pub(crate) fn latency(self) -> Nanos {
        self.ran.since(self.due)
    }
}

/// Number of wake-ups kept.
const KEPT: usize = 32;

/// The worst wake-ups seen so far, worst first.
#[derive(Debug, Clone)]
pub(crate) struct Worst {
    kept: [Option<WakeUp>; KEPT],
}

impl Worst {
    pub(crate) fn new() -> Self {
        Self { kept: [None; KEPT] }
    }

    #[inline]
    pub(crate) fn consider(&mut self, wakeup: WakeUp) {
        let beaten = |kept: &Option<WakeUp>| kept.is_none_or(|k| wakeup.latency() > k.latency());
        if !beaten(&self.kept[KEPT - 1]) {
            return;
        }
        let place = self.kept.iter().position(beaten).unwrap_or(KEPT - 1);
        self.kept[place..].rotate_right(1);
        self.kept[place] = Some(wakeup);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = WakeUp> + '_ {
        self.kept.iter().copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_are_kept_in_order() {
        let mut worst = Worst::new();
        let others = (200..230).rev();
        for latency in [5, 90, 3, 40, 8, 7, 6, 1, 2, 100, 4].into_iter().chain(others) {
            worst.consider(WakeUp {
                due: Timestamp::from_nanos(1_000),
                ran: Timestamp::from_nanos(1_000 + latency),
            });
        }
        let latencies: Vec<u64> = worst.iter().map(|wakeup| wakeup.latency().get()).collect();
        assert_eq!(latencies.len(), KEPT);
        assert_eq!(latencies[28..], [201, 200, 100, 90]);
    }
}
