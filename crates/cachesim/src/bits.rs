//! A set of pages, one bit per page.

use super::page::Page;

/// A set of pages.
#[derive(Debug, Clone)]
pub(crate) struct Bits(Box<[u64]>);

impl Bits {
    /// The empty set of pages below `footprint`.
    pub(crate) fn new(footprint: u32) -> Self {
        Self(vec![0; (footprint as usize).div_ceil(64)].into())
    }

    /// Whether the page is in the set.
    pub(crate) fn get(&self, page: Page) -> bool {
        self.0[page.index() / 64] >> (page.index() % 64) & 1 == 1
    }

    /// Puts the page into the set. Returns whether it was in the set already.
    pub(crate) fn set(&mut self, page: Page) -> bool {
        let (word, bit) = (&mut self.0[page.index() / 64], 1 << (page.index() % 64));
        let was = *word & bit != 0;
        *word |= bit;
        was
    }

    /// Takes the page out of the set.
    pub(crate) fn clear(&mut self, page: Page) {
        self.0[page.index() / 64] &= !(1 << (page.index() % 64));
    }

    /// Takes out all pages in ascending order and calls `each` with every one.
    pub(crate) fn drain(&mut self, mut each: impl FnMut(Page)) {
        for (index, word) in self.0.iter_mut().enumerate() {
            while *word != 0 {
                each(Page(index as u32 * 64 + word.trailing_zeros()));
                *word &= *word - 1;
            }
        }
    }

    /// Empties the set.
    pub(crate) fn clear_all(&mut self) {
        self.0.fill(0);
    }

    /// The memory that it takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_what_was_put_in() {
        let mut set = Bits::new(65);
        assert!(!set.set(Page(64)) && set.set(Page(64)));
        assert!(set.get(Page(64)) && !set.get(Page(0)));
        set.clear(Page(64));
        assert!(!set.get(Page(64)));
        set.set(Page(64));
        set.set(Page(3));
        let mut drained = Vec::new();
        set.drain(|page| drained.push(page.0));
        assert_eq!(drained, [3, 64]);
        set.set(Page(3));
        set.clear_all();
        assert!(!set.get(Page(3)));
    }
}
