//! Dense numbers for the keys of a trace.
//!
//! A scattered key of 64 bits becomes an index once, so that no policy has to hash.

use std::hint::black_box;

use super::page::{MAX_PAGES, Page, SpaceError};

/// Neighbouring keys share a leaf of this many bits.
const LEAF_BITS: u32 = 5;
const LEAF: usize = 1 << LEAF_BITS;
/// With fewer leaves than this (4 MiB), how full they are is not judged.
const LEAVES_TO_JUDGE: usize = 1 << 15;
/// Keys whose cache lines are fetched together.
const BATCH: usize = 128;
const NONE: u32 = u32::MAX;
/// 2^64 divided by the golden ratio (Knuth, *The Art of Computer Programming* 3, 6.4).
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// An entry of the directory: the high bits of a key and its leaf, or a key and its page.
#[derive(Clone, Copy)]
struct Entry {
    key: u64,
    value: u32,
}

/// Gives pages numbers in the order of their first appearance.
///
/// Sectors, page numbers and addresses come in neighbourhoods, so a directory (open addressing, at
/// most half full) points to leaves of 32 numbers. If keys turn out to be scattered, the directory
/// holds each key by itself. In both forms the entries of a batch of keys are touched before they
/// are used: the processor then waits for all their cache lines at once instead of one by one.
pub struct Dense {
    directory: Vec<Entry>,
    /// Used entries of the directory.
    taken: usize,
    /// Bits to shift out of a hashed key to get its index in the directory.
    shift: u32,
    /// Low bits of a key that are its index in a leaf; 0 without leaves.
    leaf_bits: u32,
    leaves: Vec<[u32; LEAF]>,
    pages: u32,
}

impl Default for Dense {
    fn default() -> Self {
        Self::new()
    }
}

impl Dense {
    /// Without any pages.
    pub fn new() -> Self {
        let mut dense = Self {
            directory: Vec::new(),
            taken: 0,
            shift: 0,
            leaf_bits: LEAF_BITS,
            leaves: Vec::new(),
            pages: 0,
        };
        dense.resize(1 << 10);
        dense
    }

    /// How many different pages there are so far.
    pub fn footprint(&self) -> u32 {
        self.pages
    }

    /// The memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.directory) + size_of_val(&*self.leaves)
    }

    /// Appends the pages of `keys` to `into`.
    ///
    /// # Errors
    ///
    /// More than [`MAX_PAGES`] different keys. Pages of the remaining batches are then missing.
    pub fn pages(&mut self, keys: &[u64], into: &mut Vec<Page>) -> Result<(), SpaceError> {
        into.reserve(keys.len());
        for batch in keys.chunks(BATCH) {
            let most = u64::from(self.pages) + batch.len() as u64;
            if most > u64::from(MAX_PAGES) {
                return Err(SpaceError::TooLarge(most));
            }
            self.touch_directory(batch);
            if self.leaf_bits == 0 {
                into.extend(batch.iter().map(|key| Page(self.scattered(*key))));
            } else {
                self.neighbours(batch, into);
            }
        }
        Ok(())
    }

    /// The keys, in the order of their pages.
    pub fn keys(&self) -> Vec<u64> {
        let mut keys = vec![0; self.pages as usize];
        self.each(|key, page| keys[page as usize] = key);
        keys
    }

    fn neighbours(&mut self, batch: &[u64], into: &mut Vec<Page>) {
        let mut places = [(0, 0); BATCH];
        let mut last = (u64::MAX, 0);
        for (place, key) in places.iter_mut().zip(batch) {
            let high = key >> LEAF_BITS;
            if high != last.0 {
                last = (high, self.leaf(high) as usize);
            }
            *place = (last.1, *key as usize % LEAF);
        }
        let places = &places[..batch.len()];
        let touched = places.iter().fold(0, |all, (leaf, at)| all | self.leaves[*leaf][*at]);
        black_box(touched);
        for (leaf, at) in places {
            let page = &mut self.leaves[*leaf][*at];
            if *page == NONE {
                *page = self.pages;
                self.pages += 1;
            }
            into.push(Page(*page));
        }
        // Only between batches, because this may remove the leaves.
        if 2 * self.taken > self.directory.len() {
            self.grow();
        }
    }

    fn leaf(&mut self, high: u64) -> u32 {
        let at = self.find(high);
        if self.directory[at].value == NONE {
            let leaf = self.leaves.len() as u32;
            self.leaves.push([NONE; LEAF]);
            self.directory[at] = Entry { key: high, value: leaf };
            self.taken += 1;
        }
        self.directory[at].value
    }

    fn scattered(&mut self, key: u64) -> u32 {
        let at = self.find(key);
        if self.directory[at].value != NONE {
            return self.directory[at].value;
        }
        let page = self.pages;
        self.directory[at] = Entry { key, value: page };
        self.pages += 1;
        self.taken += 1;
        if 2 * self.taken > self.directory.len() {
            self.resize(2 * self.directory.len());
        }
        page
    }

    /// The index of the key in the directory, or of a free entry for it.
    fn find(&self, key: u64) -> usize {
        let mut at = self.place(key);
        loop {
            let entry = self.directory[at];
            if entry.value == NONE || entry.key == key {
                return at;
            }
            at = (at + 1) & (self.directory.len() - 1);
        }
    }

    fn place(&self, key: u64) -> usize {
        // The high half of the product folds all bits of the key into the low.
        let product = u128::from(key) * u128::from(GOLDEN);
        ((product as u64 ^ (product >> 64) as u64) >> self.shift) as usize
    }

    fn touch_directory(&self, batch: &[u64]) {
        let value = |key: &u64| self.directory[self.place(key >> self.leaf_bits)].value;
        black_box(batch.iter().fold(0, |all, key| all | value(key)));
    }

    #[cold]
    fn grow(&mut self) {
        let leaves = self.leaves.len();
        if leaves < LEAVES_TO_JUDGE || self.pages as usize >= 2 * leaves {
            self.resize(2 * self.directory.len());
            return;
        }
        // A leaf that holds one key is 32 times as large as the key.
        let mut scattered = Vec::with_capacity(self.pages as usize);
        self.each(|key, page| scattered.push(Entry { key, value: page }));
        self.leaves = Vec::new();
        self.leaf_bits = 0;
        self.taken = scattered.len();
        self.directory = scattered;
        self.resize((4 * self.taken).next_power_of_two());
    }

    /// Rehashes the entries into a directory of this size, a power of two.
    fn resize(&mut self, size: usize) {
        let empty = vec![Entry { key: 0, value: NONE }; size];
        let entries = std::mem::replace(&mut self.directory, empty);
        self.shift = u64::BITS - size.trailing_zeros();
        for entry in entries.into_iter().filter(|entry| entry.value != NONE) {
            let at = self.find(entry.key);
            self.directory[at] = entry;
        }
    }

    fn each(&self, mut take: impl FnMut(u64, u32)) {
        for entry in self.directory.iter().filter(|entry| entry.value != NONE) {
            if self.leaf_bits == 0 {
                take(entry.key, entry.value);
                continue;
            }
            for (low, page) in (0..).zip(self.leaves[entry.value as usize]) {
                if page != NONE {
                    take(entry.key << LEAF_BITS | low, page);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn holds(keys: &[u64]) -> Dense {
        let (mut dense, mut pages) = (Dense::new(), Vec::new());
        // Pieces of uneven length, as a reader hands them over.
        for piece in keys.chunks(777) {
            dense.pages(piece, &mut pages).unwrap();
        }
        let mut seen = HashMap::new();
        for (key, page) in keys.iter().zip(&pages) {
            let next = seen.len() as u32;
            assert_eq!(page.0, *seen.entry(*key).or_insert(next));
        }
        assert_eq!(dense.footprint() as usize, seen.len());
        let back = dense.keys();
        assert!(seen.iter().all(|(key, page)| back[*page as usize] == *key));
        dense
    }

    #[test]
    fn neighbours_share_leaves() {
        let keys: Vec<u64> = (0..100_000).map(|n: u64| n * 7_919 % 60_000).collect();
        let dense = holds(&keys);
        assert!(dense.bytes() < 8 * 60_000, "{}", dense.bytes());
    }

    #[test]
    fn scattered_keys_are_held_one_by_one() {
        let keys: Vec<u64> = (0..100_000).map(|n: u64| (n % 60_000).wrapping_mul(GOLDEN)).collect();
        let dense = holds(&keys);
        assert!(dense.bytes() < 80 * 60_000, "{}", dense.bytes());
    }

    #[test]
    fn keys_may_be_extreme() {
        holds(&[u64::MAX, 0, u64::MAX, 1, u64::MAX - 1, 1 << 63, 0]);
    }

    proptest! {
        #[test]
        fn any_keys_are_numbered_by_appearance(
            keys in prop::collection::vec(prop_oneof![any::<u64>(), 0..5_000u64], 0..6_000),
        ) {
            holds(&keys);
        }
    }
}
