//! Admits a page from its second eviction on: Bahn & Kim's rule (JIIBC 23-2-8, 2023), which only
//! records metadata at the first.

use super::{Admission, Eviction};
use crate::bits::Bits;
use crate::page::Page;

/// Remembers all pages that were evicted before: the paper sets no bound.
#[derive(Debug, Clone)]
pub struct SecondEviction {
    evicted: Bits,
}

impl SecondEviction {
    /// A rule that has seen no eviction of `footprint` pages.
    pub fn new(footprint: u32) -> Self {
        Self { evicted: Bits::new(footprint) }
    }
}

impl Admission for SecondEviction {
    fn admits(&mut self, eviction: Eviction) -> bool {
        self.evicted.set(eviction.page)
    }

    fn gone(&mut self, page: Page) {
        self.evicted.clear(page);
    }

    fn bytes(&self) -> usize {
        self.evicted.bytes()
    }
}
