//! An array of four bits per page.

use std::ops::Range;

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

    /// Sets the numbers of `pages` that are one of `old` to `new`. Takes sixteen at a time where
    /// it can.
    pub(crate) fn replace<const N: usize>(&mut self, pages: Range<u32>, old: [u8; N], new: u8) {
        let (mut at, end) = (pages.start as usize, pages.end as usize);
        while at < end {
            let word = self.0.get_mut(at / 2..).and_then(<[u8]>::first_chunk_mut);
            match word {
                Some(word) if at % 2 == 0 && end - at >= IN_WORD => {
                    *word = replaced(u64::from_le_bytes(*word), old, new).to_le_bytes();
                    at += IN_WORD;
                }
                _ => {
                    let page = Page(at as u32);
                    if old.contains(&self.get(page)) {
                        self.set(page, new);
                    }
                    at += 1;
                }
            }
        }
    }

    /// The memory that it takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.0)
    }
}

/// A number in each of sixteen places.
const ONES: u64 = 0x1111_1111_1111_1111;

/// Numbers in a word.
const IN_WORD: usize = 16;

/// A word with `new` in the place of each of `old`.
fn replaced<const N: usize>(word: u64, old: [u8; N], new: u8) -> u64 {
    let mut found = 0;
    for number in old {
        // Zero where the number is. A carry stays within its place, as the top bit is left out.
        let differs = word ^ (u64::from(number) * ONES);
        found |= !(((differs & (ONES * 7)) + ONES * 7) | differs) & (ONES * 8);
    }
    let places = (found >> 3) * 15;
    word & !places | (u64::from(new) * ONES) & places
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_are_replaced_as_one_by_one(
            numbers in prop::collection::vec(0_u8..16, 1..200),
            (start, length) in (0_usize..200, 0_usize..200),
            old in prop::array::uniform3(0_u8..16),
            new in 0_u8..16,
        ) {
            let start = start.min(numbers.len());
            let end = (start + length).min(numbers.len());
            let mut expected = numbers.clone();
            for number in expected[start..end].iter_mut().filter(|it| old.contains(it)) {
                *number = new;
            }
            let mut packed = Nibbles::new(numbers.len() as u32);
            for (page, number) in numbers.iter().enumerate() {
                packed.set(Page(page as u32), *number);
            }
            packed.replace(start as u32..end as u32, old, new);
            let all: Vec<u8> = (0..numbers.len()).map(|page| packed.get(Page(page as u32))).collect();
            prop_assert_eq!(all, expected);
        }
    }

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
