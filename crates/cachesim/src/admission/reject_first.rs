//! Admits a page at its second eviction within a window, as `RejectFirstAP` of `CacheLib`
//! (`allocator/NvmAdmissionPolicy.h`). Rejected pages are forgotten window by window, so a page
//! whose evictions lie further apart never enters.

use super::{Admission, Eviction};
use crate::bits::Bits;
use crate::page::Page;

/// Remembers the pages that were rejected in this window and the last.
#[derive(Debug, Clone)]
pub struct RejectFirst {
    now: Bits,
    before: Bits,
    window: u32,
    /// Pages rejected in this window.
    rejected: u32,
}

impl RejectFirst {
    /// A rule whose windows end after `window` rejected pages.
    pub fn new(footprint: u32, window: u32) -> Self {
        let (now, before) = (Bits::new(footprint), Bits::new(footprint));
        Self { now, before, window: window.max(1), rejected: 0 }
    }
}

impl Admission for RejectFirst {
    fn admits(&mut self, eviction: Eviction) -> bool {
        let page = eviction.page;
        if self.now.get(page) || self.before.get(page) {
            return true;
        }
        if self.rejected == self.window {
            std::mem::swap(&mut self.now, &mut self.before);
            self.now.clear_all();
            self.rejected = 0;
        }
        self.now.set(page);
        self.rejected += 1;
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
