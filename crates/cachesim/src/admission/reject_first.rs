//! The second eviction within a window, as `RejectFirstAP` of
//! `CacheLib` (`allocator/NvmAdmissionPolicy.h`): what it remembers is
//! forgotten window by window, so a page whose evictions lie further apart
//! never enters.

use super::{Admission, Eviction};
use crate::bits::Bits;
use crate::page::Page;

/// Remembers the pages that were turned away in this window and the last.
#[derive(Debug, Clone)]
pub struct RejectFirst {
    now: Bits,
    before: Bits,
    window: u32,
    /// Pages turned away in this window.
    turned_away: u32,
}

impl RejectFirst {
    /// A rule whose windows end after `window` pages were turned away.
    pub fn new(footprint: u32, window: u32) -> Self {
        let (now, before) = (Bits::new(footprint), Bits::new(footprint));
        Self { now, before, window: window.max(1), turned_away: 0 }
    }
}

impl Admission for RejectFirst {
    fn admits(&mut self, eviction: Eviction) -> bool {
        let page = eviction.page;
        if self.now.get(page) || self.before.get(page) {
            return true;
        }
        if self.turned_away == self.window {
            std::mem::swap(&mut self.now, &mut self.before);
            self.now.clear_all();
            self.turned_away = 0;
        }
        self.now.set(page);
        self.turned_away += 1;
        false
    }

    fn gone(&mut self, page: Page) {
        self.now.clear(page);
        self.before.clear(page);
    }

    fn bytes(&self) -> usize {
        self.now.bytes() + self.before.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::tests::evict;

    #[test]
    fn evictions_further_apart_than_two_windows_are_first_ones() {
        let mut rule = RejectFirst::new(10, 2);
        assert!(!evict(&mut rule, 1) && evict(&mut rule, 1));
        for other in [2, 3] {
            evict(&mut rule, other);
        }
        assert!(evict(&mut rule, 1), "of the last window");
        for other in [4, 5] {
            evict(&mut rule, other);
        }
        assert!(!evict(&mut rule, 1), "of the one before");
    }
}
