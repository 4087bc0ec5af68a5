//! Numbers for pages that are known by a key, in memory that is taken once.
//!
//! A hash table with sets of eight entries: a key is looked up with eight comparisons, and a new
//! one takes the place of an old one in its set. The place of an entry is the page's number.

use std::num::NonZeroU64;

use crate::page::Page;

/// Entries of a set.
const WAYS: usize = 8;

/// Names a page of memory, as by its process and address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key(pub NonZeroU64);

/// The pages that have numbers.
pub(super) struct Registry {
    /// Zero for none.
    keys: Box<[u64]>,
    /// The entry of a full set that a new key tries to replace first.
    hand: usize,
}

/// A page's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Numbered {
    pub(super) page: Page,
    /// Whether the number was that of another page.
    pub(super) replaces: bool,
}

impl Registry {
    /// The number of numbers if there must be at least so many.
    pub(super) fn footprint_for(pages: u32) -> u32 {
        (pages as usize).next_multiple_of(WAYS).next_power_of_two() as u32
    }

    /// So many numbers, which [`footprint_for`](Self::footprint_for) returned.
    pub(super) fn new(footprint: u32) -> Self {
        assert_eq!(footprint, Self::footprint_for(footprint), "numbers of whole sets");
        Self { keys: vec![0; footprint as usize].into(), hand: 0 }
    }

    /// The number of a page. A new page may take that of one that `may_go`; `None` if there is none
    /// in its set.
    pub(super) fn number(&mut self, key: Key, may_go: impl Fn(Page) -> bool) -> Option<Numbered> {
        let first = self.set(key) * WAYS;
        let set = &mut self.keys[first..first + WAYS];
        let page = |way: usize| Page((first + way) as u32);
        let held = |of: u64| set.iter().position(|key| *key == of);
        if let Some(way) = held(key.0.get()) {
            return Some(Numbered { page: page(way), replaces: false });
        }
        let free = held(0);
        self.hand = self.hand.wrapping_add(1);
        let mut ways = (0..WAYS).map(|way| (way + self.hand) % WAYS);
        let way = free.or_else(|| ways.find(|way| may_go(page(*way))))?;
        set[way] = key.0.get();
        Some(Numbered { page: page(way), replaces: free.is_none() })
    }

    /// The memory that it takes, in bytes.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.keys)
    }

    /// Fibonacci hashing: the upper bits of the product depend on all bits of the key.
    fn set(&self, key: Key) -> usize {
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        let sets = self.keys.len() / WAYS;
        let hash = key.0.get().wrapping_mul(GOLDEN);
        ((hash >> 32) as usize) & (sets - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(key: u64) -> Key {
        Key(NonZeroU64::new(key).unwrap())
    }

    #[test]
    fn a_page_keeps_its_number() {
        assert_eq!([1, 8, 100, 128].map(Registry::footprint_for), [8, 8, 128, 128]);
        let mut registry = Registry::new(128);
        let numbers: Vec<Page> =
            (1..=20).map(|it| registry.number(key(it), |_| false).unwrap().page).collect();
        for (number, it) in numbers.iter().zip(1..) {
            let again = Numbered { page: *number, replaces: false };
            assert_eq!(registry.number(key(it), |_| true), Some(again));
        }
    }

    #[test]
    fn a_new_page_takes_the_number_of_one_that_may_go() {
        let mut registry = Registry::new(8);
        for it in 1..=8 {
            assert!(!registry.number(key(it), |_| true).unwrap().replaces);
        }
        assert_eq!(registry.number(key(9), |_| false), None);
        let taken = registry.number(key(9), |page| page == Page(3)).unwrap();
        assert_eq!(taken, Numbered { page: Page(3), replaces: true });
        let others: Vec<u32> =
            (10..18).map(|it| registry.number(key(it), |_| true).unwrap().page.0).collect();
        assert!((0..8).all(|page| others.contains(&page)), "{others:?} in turn");
    }

    #[test]
    fn addresses_of_neighbours_spread_over_the_sets() {
        let mut registry = Registry::new(1 << 13);
        let replaced = (0..1 << 12)
            .filter(|page| registry.number(key(77 << 36 | page), |_| true).unwrap().replaces)
            .count();
        assert!(replaced < 64, "{replaced} of 4096, with the table half full");
    }
}
