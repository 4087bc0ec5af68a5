//! The content of pages, and the order in which they are touched.

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The random numbers of a run.
#[derive(Debug)]
pub(crate) struct Random(Xoshiro256PlusPlus);

impl Random {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// The words of one page: one in four is random and the others repeat it. So a page is neither
    /// uniform, which compressed swap would not store at all, nor incompressible. Application heaps
    /// compress about as well.
    pub(crate) fn words(&mut self) -> impl FnMut() -> u64 + '_ {
        let mut word = 0;
        let mut index = 0_u32;
        move || {
            if index.is_multiple_of(4) {
                word = self.0.next_u64();
            }
            index += 1;
            word
        }
    }

    /// Puts `items` in random order (Fisher and Yates).
    pub(crate) fn shuffle(&mut self, items: &mut [u32]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }

    /// A number below `bound`; 0 if that is 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_permutation() {
        let order = |seed| {
            let mut items: Vec<u32> = (0..1_000).collect();
            Random::seeded(seed).shuffle(&mut items);
            items
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
        let mut sorted = order(1);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..1_000).collect::<Vec<u32>>());
    }

    #[test]
    fn pages_are_partly_compressible() {
        let mut random = Random::seeded(1);
        let words: Vec<u64> = std::iter::repeat_with(random.words()).take(512).collect();
        let mut unique = words.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), 128);
    }
}
