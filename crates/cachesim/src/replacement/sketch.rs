//! Estimated counts of recent requests per page: a count-min sketch, laid out as in Caffeine.
//!
//! Source: Caffeine 3, `FrequencySketch` (Manes; after Cormode, Muthukrishnan, *An
//! Improved Data Stream Summary: The Count-Min Sketch*, 2005). Each page has four counters of four
//! bits in one block of 64 bytes, so that a request touches one cache line. A request counts if one
//! of them is not full. After a sample of counted requests, all counters and the number of counted
//! requests are halved. The frequency of a page is the least of its counters.

use super::counts::Counts;
use crate::page::{Page, Space};

/// Two words for each of a page's four counters.
const BLOCK: usize = 8;
/// A counter of four bits that is full.
const FULL: u64 = 15;
/// The lowest bit of each counter of a word.
const LOWEST: u64 = 0x1111_1111_1111_1111;
/// All but the highest bit of each counter of a word.
const LOWER: u64 = 0x7777_7777_7777_7777;

/// Sixteen counters for each page that fits.
pub struct Sketch {
    blocks: Box<[Block]>,
    /// Requests counted since the counters were halved, and half of those before.
    counted: u64,
    sample: u64,
}

/// A cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Block([u64; BLOCK]);

/// The places of a page's counters: a word of its block, and the bit at which its counter begins.
type Places = [(usize, u32); 4];

impl Sketch {
    fn halve(&mut self) {
        let mut odd = 0;
        for word in self.blocks.iter_mut().flat_map(|block| &mut block.0) {
            odd += u64::from((*word & LOWEST).count_ones());
            *word = *word >> 1 & LOWER;
        }
        // Subtracts the counts that halving rounds off; a request is in four counters.
        self.counted = self.counted.saturating_sub(odd / 4) / 2;
    }

    /// A page's block, and its counters in it.
    fn places(&self, page: Page) -> (usize, Places) {
        let hash = spread(page.0);
        let block = hash as usize & (self.blocks.len() - 1);
        let hash = spread_again(hash);
        // Five bits each: one of two words, and one of its sixteen counters.
        let place = |counter: u32| {
            let bits = hash >> (8 * counter);
            (2 * counter as usize + (bits & 1) as usize, 4 * (bits >> 1 & 15))
        };
        (block, [0, 1, 2, 3].map(place))
    }
}

impl Counts for Sketch {
    fn new(space: Space, sample: u64) -> Self {
        // If all pages fit, frequencies are never compared.
        let pages = space.capacity().min(space.footprint()).max(BLOCK as u32);
        let blocks = pages.next_power_of_two() as usize / BLOCK;
        Self { blocks: vec![Block([0; BLOCK]); blocks].into(), counted: 0, sample }
    }

    fn count(&mut self, page: Page) {
        let (block, places) = self.places(page);
        let words = &mut self.blocks[block].0;
        let mut counts = 0;
        for (word, bit) in places {
            let more = u64::from(words[word] >> bit & FULL != FULL);
            words[word] += more << bit;
            counts |= more;
        }
        self.counted += counts;
        if self.counted == self.sample {
            self.halve();
        }
    }

    fn of(&self, page: Page) -> u32 {
        let (block, places) = self.places(page);
        let words = &self.blocks[block].0;
        places.into_iter().fold(FULL, |least, (word, bit)| least.min(words[word] >> bit & FULL))
            as u32
    }

    /// Does nothing, as in Caffeine: other pages share the counters.
    fn forget(&mut self, _: Page) {}

    fn bytes(&self) -> usize {
        size_of_val(&*self.blocks)
    }
}

/// Two rounds of a hash of 32 bits, and its third: `triple32` of Wellons's *hash-prospector*.
fn spread(number: u32) -> u32 {
    let number = (number ^ number >> 17).wrapping_mul(0xed5a_d4bb);
    let number = (number ^ number >> 11).wrapping_mul(0xac4c_1b51);
    number ^ number >> 15
}

fn spread_again(number: u32) -> u32 {
    let number = number.wrapping_mul(0x3184_8bab);
    number ^ number >> 14
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_with_full_counters_does_not_count() {
        let mut sketch = Sketch::new(Space::new(10, 3).unwrap(), 100);
        for _ in 0..1_000 {
            sketch.count(Page(0));
        }
        assert_eq!((sketch.of(Page(0)), sketch.counted), (15, 15));
        for _ in 0..14 {
            sketch.count(Page(1));
        }
        assert_eq!((sketch.of(Page(1)), sketch.of(Page(2))), (14, 0));
        assert_eq!(sketch.counted, 29);
    }

    #[test]
    fn a_sample_halves_all_counters() {
        let mut sketch = Sketch::new(Space::new(10, 3).unwrap(), 20);
        (0..15).for_each(|_| sketch.count(Page(0)));
        (0..4).for_each(|_| sketch.count(Page(1)));
        assert_eq!(sketch.counted, 19);
        sketch.count(Page(1));
        assert_eq!((sketch.of(Page(0)), sketch.of(Page(1))), (7, 2));
        // Eight odd counters: two requests that halving rounds off.
        assert_eq!(sketch.counted, (20 - 2) / 2);
    }

    #[test]
    fn pages_seldom_share_all_counters() {
        let pages = 10_000;
        let mut sketch =
            Sketch::new(Space::new(pages.into(), 2 * u64::from(pages)).unwrap(), u64::MAX);
        (0..pages).for_each(|page| sketch.count(Page(page)));
        let wrong = (pages..2 * pages).filter(|page| sketch.of(Page(*page)) > 0).count();
        assert!(wrong < 400, "{wrong} of {pages} pages that were never requested");
        assert!((0..pages).all(|page| sketch.of(Page(page)) > 0));
        assert_eq!(sketch.bytes(), 8 << 14);
    }
}
