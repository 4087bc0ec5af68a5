//! The rule of mmd, the memory daemon of Android 17: pages that were not requested for about a day
//! go back to storage. Constants are mmd's published ones (`system/memory/mmd`,
//! `src/zram/writeback.rs`; the defaults of <https://source.android.com/docs/core/perf/mmd>).
//!
//! mmd manages zram. Every page enters while there is room. Once an hour, pages that were not
//! requested for 20 to 25 hours are written to storage, the sooner the fuller zram is: 5 to 300 MiB
//! in a round, at most 1 GiB a day. Its conditions that the phone is idle and charged, and its
//! backoff of ten minutes, are taken as met.

use unjank_units::Nanos;

use super::{Admission, Eviction};
use crate::page::{Page, Space};
use crate::replacement::{Lru, Replacement};
use crate::tier::Level;

const ROUND: Nanos = Nanos::from_millis(3_600_000);
const DAY: Nanos = Nanos::from_millis(86_400_000);
/// Idle time after which a page leaves an empty and a full tier, in seconds.
const AGES: [f64; 2] = [90_000.0, 72_000.0];
/// Pages of 4 KiB in a MiB.
const MIB: f64 = 256.0;
/// Minimum and maximum number of pages of a round.
const OF_ROUND: [f64; 2] = [5.0 * MIB, 300.0 * MIB];
/// Maximum number of pages of a day.
const OF_DAY: f64 = 1024.0 * MIB;

/// Remembers when each page was requested last.
pub struct Age {
    held: Lru,
    /// The time of each page's last request, in seconds.
    requested_at: Box<[u32]>,
    next_round: Nanos,
    next_day: Nanos,
    /// Idle time after which a page leaves in this round, in seconds.
    idle_for: f64,
    left_of_round: u32,
    left_of_day: f64,
}

impl Age {
    /// The rule for an empty tier.
    pub fn new(tier: Space) -> Self {
        Self {
            held: Lru::new(tier),
            requested_at: vec![0; tier.footprint() as usize].into(),
            next_round: ROUND,
            next_day: DAY,
            idle_for: AGES[0],
            left_of_round: 0,
            left_of_day: OF_DAY,
        }
    }

    fn fullness(&self) -> f64 {
        f64::from(self.held.len()) / f64::from(self.held.space().capacity())
    }

    fn begin_round(&mut self, at: Nanos) {
        if at >= self.next_day {
            self.left_of_day = OF_DAY;
            self.next_day = Nanos(at.0 - at.0 % DAY.0 + DAY.0);
        }
        self.next_round = Nanos(at.0 - at.0 % ROUND.0 + ROUND.0);
        self.idle_for = AGES[0] + (AGES[1] - AGES[0]) * self.fullness();
        let pages = (self.fullness() * OF_ROUND[1]).min(self.left_of_day);
        self.left_of_round = if pages < OF_ROUND[0] { 0 } else { pages as u32 };
    }
}

fn seconds(at: Nanos) -> u32 {
    u32::try_from(at.0 / 1_000_000_000).unwrap_or(u32::MAX)
}

impl Admission for Age {
    fn admits(&mut self, eviction: Eviction) -> bool {
        self.requested_at[eviction.page.index()] = seconds(eviction.at);
        self.held.len() < self.held.space().capacity()
    }

    fn entered(&mut self, page: Page) {
        self.held.admit(page);
    }

    fn left(&mut self, page: Page) {
        self.held.remove(page);
    }

    fn requested(&mut self, page: Page, found: Level, at: Nanos) {
        if found == Level::Tier {
            self.held.hit(page);
            self.requested_at[page.index()] = seconds(at);
        }
    }

    fn rewritten(&mut self, page: Page, at: Nanos) {
        self.requested(page, Level::Tier, at);
    }

    fn leaves(&mut self, at: Nanos) -> Option<Page> {
        if at >= self.next_round {
            self.begin_round(at);
        }
        if self.left_of_round == 0 {
            return None;
        }
        let page = self.held.oldest()?;
        let idle = f64::from(seconds(at).saturating_sub(self.requested_at[page.index()]));
        if idle < self.idle_for {
            return None;
        }
        self.left_of_round -= 1;
        self.left_of_day -= 1.0;
        Some(page)
    }

    fn gone(&mut self, _: Page) {}

    fn bytes(&self) -> usize {
        self.held.bytes() + size_of_val(&*self.requested_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::tests::evict_at;

    const HOUR: u64 = 3_600;

    fn at(hours: u64) -> Nanos {
        Nanos(hours * HOUR * 1_000_000_000)
    }

    #[test]
    fn a_full_tier_returns_pages_that_were_idle_for_twenty_hours() {
        let mut rule = Age::new(Space::new(2_000, 3_000).unwrap());
        for page in 0..2_000 {
            assert!(evict_at(&mut rule, page, at(u64::from(page / 1_000))));
        }
        assert!(!evict_at(&mut rule, 2_500, at(2)), "it is full");
        rule.requested(Page(0), Level::Tier, at(10));
        assert_eq!(rule.leaves(at(19)), None);
        let mut left = Vec::new();
        while let Some(page) = rule.leaves(at(25)) {
            rule.left(page);
            left.push(page.0);
        }
        assert_eq!((left.len(), left[0]), (1_999, 1), "all but the requested one");
        assert!(evict_at(&mut rule, 2_500, at(25)));
        assert_eq!(rule.leaves(at(60)), None, "two pages are less than a round");
    }
}
