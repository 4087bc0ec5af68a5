//! Linux's two lists: new pages join the inactive list, pages in use move from there to the active
//! list, and inactive pages are evicted.
//!
//! After `mm/vmscan.c` and `mm/workingset.c` of 6.12, for mapped pages, without zones, priorities
//! of scans and the balance between files and swap:
//!
//! - At the end of the inactive list, a page that was touched since the last scan stays for another
//!   round, and becomes active if the scan before had found it touched, too
//!   (`folio_check_references`). The fault that brought the page in counts as a touch.
//! - The oldest active pages become inactive while there are more active pages per inactive one
//!   than the square root of ten times the memory in GiB, or than one below a GiB
//!   (`inactive_is_low`).
//! - A page that comes back is active at once if at most as many pages were evicted or activated
//!   meanwhile as are active now (`workingset_refault`).

use super::Reclaim;
use crate::bits::Bits;
use crate::page::{Page, Space};
use crate::replacement::Replacement;
use crate::replacement::links::{Links, List};

/// Pages of 4 KiB in a GiB.
const GIB: u64 = 1 << 18;
/// The [`TwoList::left_at`] of a page that was never evicted.
const NEVER: u32 = 0;

/// Linux's active and inactive list, as a policy of memory: `mm/vmscan.c` of 6.12.
pub struct TwoList {
    space: Space,
    links: Links<2>,
    inactive: List,
    active: List,
    inactive_len: u32,
    active_len: u32,
    is_active: Bits,
    /// Touched since the last scan: the accessed bits of page tables.
    young: Bits,
    /// Young at the last scan: `PG_referenced`.
    referenced: Bits,
    /// The age at which each page was evicted.
    left_at: Box<[u32]>,
    /// Pages evicted or activated so far: `nonresident_age`. It wraps around.
    age: u32,
    /// The maximum number of active pages per inactive one.
    ratio: u64,
}

impl TwoList {
    /// Empty lists.
    pub fn new(space: Space) -> Self {
        let footprint = space.footprint();
        let links = Links::new(space);
        let (inactive, active) = (links.list(0), links.list(1));
        let gib = u64::from(space.capacity()) / GIB;
        Self {
            space,
            links,
            inactive,
            active,
            inactive_len: 0,
            active_len: 0,
            is_active: Bits::new(footprint),
            young: Bits::new(footprint),
            referenced: Bits::new(footprint),
            left_at: vec![NEVER; footprint as usize].into(),
            age: NEVER,
            ratio: (10 * gib).isqrt().max(1),
        }
    }

    /// Evicts a page. Each scan of a young page takes back a touch, so there are at most as many
    /// scans as touches.
    fn evict(&mut self) -> Option<Page> {
        loop {
            while u64::from(self.active_len) > u64::from(self.inactive_len) * self.ratio {
                self.deactivate_oldest()?;
            }
            let page = self.links.back(self.inactive)?;
            if !self.young.get(page) {
                self.links.unlink(page);
                self.inactive_len -= 1;
                self.referenced.clear(page);
                self.left_at[page.index()] = self.grow_older();
                return Some(page);
            }
            self.young.clear(page);
            if self.referenced.set(page) {
                self.inactive_len -= 1;
                self.links.unlink(page);
                self.activate(page);
                self.grow_older();
            } else {
                self.links.move_to_front(self.inactive, page);
            }
        }
    }

    fn activate(&mut self, page: Page) {
        self.links.push_front(self.active, page);
        self.active_len += 1;
        self.is_active.set(page);
    }

    fn deactivate_oldest(&mut self) -> Option<()> {
        let page = self.links.pop_back(self.active)?;
        self.active_len -= 1;
        self.is_active.clear(page);
        self.young.clear(page);
        self.links.push_front(self.inactive, page);
        self.inactive_len += 1;
        Some(())
    }

    fn grow_older(&mut self) -> u32 {
        self.age = self.age.wrapping_add(1).max(NEVER + 1);
        self.age
    }

    fn comes_back_soon(&self, page: Page) -> bool {
        let left_at = self.left_at[page.index()];
        left_at != NEVER && self.age.wrapping_sub(left_at) <= self.active_len
    }
}

impl Reclaim for TwoList {
    fn reclaim(&mut self) -> Option<Page> {
        self.evict()
    }
}

impl Replacement for TwoList {
    fn contains(&self, page: Page) -> bool {
        self.links.linked(page)
    }

    fn hit(&mut self, page: Page) {
        self.young.set(page);
    }

    fn admit(&mut self, page: Page) -> Option<Page> {
        let full = self.len() == self.space.capacity();
        let victim = if full { self.evict() } else { None };
        self.young.set(page);
        if self.comes_back_soon(page) {
            self.activate(page);
            self.grow_older();
        } else {
            self.links.push_front(self.inactive, page);
            self.inactive_len += 1;
        }
        victim
    }

    fn remove(&mut self, page: Page) -> bool {
        let there = self.contains(page);
        if there {
            self.links.unlink(page);
            if self.is_active.get(page) {
                self.active_len -= 1;
            } else {
                self.inactive_len -= 1;
            }
        }
        for set in [&mut self.is_active, &mut self.young, &mut self.referenced] {
            set.clear(page);
        }
        self.left_at[page.index()] = NEVER;
        there
    }

    fn len(&self) -> u32 {
        self.inactive_len + self.active_len
    }

    fn space(&self) -> Space {
        self.space
    }

    fn bytes(&self) -> usize {
        let sets = [&self.is_active, &self.young, &self.referenced];
        let sets: usize = sets.iter().map(|set| set.bytes()).sum();
        self.links.bytes() + sets + size_of_val(&*self.left_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists(capacity: u64) -> TwoList {
        TwoList::new(Space::new(capacity, 100).unwrap())
    }

    fn run(lists: &mut TwoList, pages: &[u32]) -> Vec<Option<u32>> {
        let mut touch = |page| {
            if lists.contains(page) {
                lists.hit(page);
                None
            } else {
                lists.admit(page).map(|left| left.0)
            }
        };
        pages.iter().map(|&page| touch(Page(page))).collect()
    }

    #[test]
    fn pages_that_are_touched_once_leave_in_their_order() {
        let mut lists = lists(3);
        assert_eq!(run(&mut lists, &[1, 2, 3, 4, 5]), [None, None, None, Some(1), Some(2)]);
        assert_eq!(lists.active_len, 0);
    }

    #[test]
    fn a_page_in_use_survives_a_scan() {
        let mut lists = lists(4);
        run(&mut lists, &[1, 2, 3, 4]);
        for new in 5..50 {
            run(&mut lists, &[1, new]);
        }
        assert!(lists.is_active.get(Page(1)));
        assert!(lists.contains(Page(1)));
    }

    #[test]
    fn below_a_gib_there_are_at_most_as_many_active_pages_as_inactive_ones() {
        let mut lists = lists(8);
        for round in 0..20 {
            run(&mut lists, &[0, 1, 2, 3, 4, 5, 6, 7, 10 + round]);
        }
        run(&mut lists, &[50]);
        assert!(lists.active_len <= lists.inactive_len + 1, "{}", lists.active_len);
        assert_eq!(lists.len(), 8);
    }

    #[test]
    fn a_page_that_comes_back_soon_is_active_at_once() {
        let mut lists = lists(4);
        // Two active pages, then a scan that pushes 3 out.
        run(&mut lists, &[1, 2, 3, 4]);
        for new in 5..20 {
            run(&mut lists, &[1, 2, new]);
        }
        let last_out = run(&mut lists, &[30])[0].unwrap();
        assert!(lists.active_len >= 1);
        run(&mut lists, &[last_out]);
        assert!(lists.is_active.get(Page(last_out)));
        lists.remove(Page(last_out));
        run(&mut lists, &[last_out]);
        assert!(!lists.is_active.get(Page(last_out)), "its history went with it");
    }

    #[test]
    fn sixteen_bytes_a_page_are_enough() {
        assert!(lists(10).bytes() <= 16 * 100 + 256);
    }
}
