//! Follows pages through the slots of a swap area, from one look to the next. Pure.
//!
//! A look may come upon a page twice: processes that were forked share it until one of them changes
//! it. The slot keeps the page's first name then.

use unjank_cachesim::tier::Key;
use unjank_host::Nanos;

use super::super::tier::map::Slot;

/// What a look has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The slot holds its page no longer.
    Left(Slot, Key),
    /// The slot holds another page than before.
    Arrived(Slot, Key),
}

/// A slot.
#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    /// Its page.
    key: Option<Key>,
    /// When a look has found the page there for the first time.
    since: Nanos,
    /// The number of the last look that has found it there.
    seen: u32,
    /// The number of the last look that has found another page there.
    offered: u32,
}

/// The pages in the slots of a swap area.
#[derive(Debug)]
pub struct Following {
    entries: Box<[Entry]>,
    /// The number of this look, or of the next one.
    look: u32,
    /// What this look has found in a slot with another page, or none.
    new: Vec<(Slot, Key)>,
    followed: u64,
}

impl Following {
    /// An area of so many slots, of which nothing is known.
    pub fn new(slots: Slot) -> Self {
        let entries = vec![Entry::default(); slots as usize].into();
        Self { entries, look: 1, new: Vec::new(), followed: 0 }
    }

    /// This look finds the page in a slot.
    pub fn see(&mut self, slot: Slot, key: Key) {
        let Some(entry) = self.entries.get_mut(slot as usize) else { return };
        if entry.key == Some(key) {
            entry.seen = self.look;
        } else if entry.seen != self.look && entry.offered != self.look {
            entry.offered = self.look;
            self.new.push((slot, key));
        }
    }

    /// Ends a look at the time `at`, and calls `each` with the changes since the one before: what
    /// has left first.
    pub fn end_look(&mut self, at: Nanos, mut each: impl FnMut(Change)) {
        for (slot, entry) in (0..).zip(&mut self.entries) {
            if entry.seen != self.look
                && let Some(key) = entry.key.take()
            {
                self.followed -= 1;
                each(Change::Left(slot, key));
            }
        }
        for (slot, key) in self.new.drain(..) {
            let entry = &mut self.entries[slot as usize];
            if entry.seen != self.look {
                *entry = Entry { key: Some(key), since: at, seen: self.look, ..*entry };
                self.followed += 1;
                each(Change::Arrived(slot, key));
            }
        }
        self.look = self.look.wrapping_add(1);
    }

    /// Forgets a look that has failed.
    pub fn abandon_look(&mut self) {
        self.new.clear();
        self.look = self.look.wrapping_add(1);
    }

    /// When the slot's page was found there for the first time; `None` for a slot without a known
    /// page.
    pub fn since(&self, slot: Slot) -> Option<Nanos> {
        let entry = self.entries.get(slot as usize)?;
        entry.key.map(|_| entry.since)
    }

    /// The number of slots with a known page.
    pub fn followed(&self) -> u64 {
        self.followed
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::num::NonZeroU64;

    use proptest::prelude::*;

    use super::*;

    fn key(number: u64) -> Key {
        Key(NonZeroU64::new(number).unwrap())
    }

    fn look(following: &mut Following, at: u64, seen: &[(Slot, u64)]) -> Vec<Change> {
        for (slot, page) in seen {
            following.see(*slot, key(*page));
        }
        let mut changes = Vec::new();
        following.end_look(Nanos(at), |change| changes.push(change));
        changes
    }

    #[test]
    fn pages_arrive_stay_and_leave() {
        let mut following = Following::new(4);
        assert_eq!(
            look(&mut following, 10, &[(1, 7), (3, 8)]),
            [Change::Arrived(1, key(7)), Change::Arrived(3, key(8))]
        );
        assert_eq!(look(&mut following, 20, &[(3, 8), (1, 7)]), []);
        assert_eq!((following.since(1), following.since(0)), (Some(Nanos(10)), None));
        assert_eq!(
            look(&mut following, 30, &[(1, 9)]),
            [Change::Left(1, key(7)), Change::Left(3, key(8)), Change::Arrived(1, key(9))]
        );
        assert_eq!((following.since(1), following.followed()), (Some(Nanos(30)), 1));
        assert_eq!(look(&mut following, 40, &[(4, 5)]), [Change::Left(1, key(9))], "no such slot");
    }

    #[test]
    fn a_page_that_two_processes_share_has_one_name() {
        let mut following = Following::new(2);
        assert_eq!(look(&mut following, 1, &[(0, 7), (0, 8)]), [Change::Arrived(0, key(7))]);
        assert_eq!(look(&mut following, 2, &[(0, 8), (0, 7)]), []);
        assert_eq!(
            look(&mut following, 3, &[(0, 8)]),
            [Change::Left(0, key(7)), Change::Arrived(0, key(8))],
            "the first process has ended"
        );
    }

    #[test]
    fn a_look_that_has_failed_changes_nothing() {
        let mut following = Following::new(2);
        look(&mut following, 1, &[(0, 7)]);
        following.see(1, key(8));
        following.abandon_look();
        assert_eq!(look(&mut following, 2, &[(0, 7)]), []);
        assert_eq!(following.since(0), Some(Nanos(1)));
    }

    proptest! {
        #[test]
        fn the_changes_lead_from_one_look_to_the_next(
            looks in prop::collection::vec(prop::collection::btree_map(0_u32..8, 1_u64..6, 0..8), 1..8),
        ) {
            let mut following = Following::new(8);
            let mut held: BTreeMap<Slot, Key> = BTreeMap::new();
            for (at, seen) in (1..).zip(&looks) {
                let seen: Vec<_> = seen.iter().map(|(slot, page)| (*slot, *page)).collect();
                for change in look(&mut following, at, &seen) {
                    match change {
                        Change::Left(slot, key) => prop_assert_eq!(held.remove(&slot), Some(key)),
                        Change::Arrived(slot, key) => {
                            prop_assert_eq!(held.insert(slot, key), None);
                            prop_assert_eq!(following.since(slot), Some(Nanos(at)));
                        }
                    }
                }
                let now: BTreeMap<_, _> = seen.into_iter().map(|(slot, page)| (slot, key(page))).collect();
                prop_assert_eq!(&held, &now);
                prop_assert_eq!(following.followed(), held.len() as u64);
            }
        }
    }
}
