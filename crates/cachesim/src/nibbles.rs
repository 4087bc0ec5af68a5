//! An array of four bits per page.

use super::page::Page;

/// A number from 0 to 15 for each page, two per byte.
#[derive(Debug, Clone)]
pub(crate) struct Nibbles(Box<[u8]>);

impl Nibbles {
    /// Zero for each page below `footprint`.
    pub(crate) fn new(footprint: u32) -> Self {
        Self(vec![0; (footprint as usize).div_ceil(2)].into())
    }

    /// The number of a page.
    pub(crate) fn get(&self, page: Page) -> u8 {
        self.0[page.index() / 2] >> (page.index() % 2 * 4) & 15
    }

    /// Sets the number of a page to the low four bits of `number`.
    pub(crate) fn set(&mut self, page: Page, number: u8) {
        let shift = page.index() % 2 * 4;
        let both = &mut self.0[page.index() / 2];
        *both = *both & !(15 << shift) | (number & 15) << shift;
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
    fn neighbours_do_not_touch_each_other() {
        let mut numbers = Nibbles::new(3);
        for (page, number) in [(0, 15), (1, 9), (2, 7), (1, 3)] {
            numbers.set(Page(page), number);
        }
        assert_eq!([0, 1, 2].map(|page| numbers.get(Page(page))), [15, 3, 7]);
        assert_eq!(numbers.bytes(), 2);
    }
}
