//! Admits a page from its second eviction on, if the first is among the last rejected ones: the
//! paper's rule with bounded memory.

use super::{Admission, Eviction};
use crate::page::{Page, Space, SpaceError};
use crate::replacement::{Lru, Replacement as _};

/// Remembers the pages that were rejected last.
pub struct Ghost {
    remembered: Lru,
}

impl Ghost {
    /// A rule that remembers `remembered` of `footprint` pages.
    ///
    /// # Errors
    /// Zero or too many pages to remember.
    pub fn new(footprint: u32, remembered: u32) -> Result<Self, SpaceError> {
        let space = Space::new(u64::from(remembered), u64::from(footprint))?;
        Ok(Self { remembered: Lru::new(space) })
    }
}

impl Admission for Ghost {
    fn admits(&mut self, eviction: Eviction) -> bool {
        let known = self.remembered.contains(eviction.page);
        if !known {
            self.remembered.admit(eviction.page);
        }
        known
    }

    fn entered(&mut self, page: Page) {
        self.remembered.remove(page);
    }

    fn gone(&mut self, page: Page) {
        self.remembered.remove(page);
    }

    fn bytes(&self) -> usize {
        self.remembered.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::tests::evict;

    #[test]
    fn the_oldest_page_and_pages_that_entered_are_forgotten() {
        let mut rule = Ghost::new(10, 2).unwrap();
        assert_eq!([1, 2, 3, 1].map(|page| evict(&mut rule, page)), [false; 4]);
        assert!(evict(&mut rule, 3));
        assert!(!evict(&mut rule, 3), "it was forgotten when it entered");
    }
}
