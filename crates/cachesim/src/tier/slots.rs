//! A tier that serves a block device: it sees slots, which are written, read and discarded.
//!
//! A device that is swapped to is told neither which page a slot holds nor that memory drops a
//! clean page. The order of requests for a slot tells some of it:
//!
//! - A slot that is *read again* without a write in between holds one page, which came back, was
//!   dropped clean and comes back again. The drop is taken into account when it becomes known,
//!   before the second read; the page may enter then.
//! - A slot that is *written again* without a read in between was given to another page: memory
//!   evicts a page again only after it came back. The slot's history is forgotten. To count this as
//!   a page's second eviction would be wrong, and soon every page would enter, because the kernel
//!   uses the slots again and again.
//! - A slot that is read and then written may hold the same page, changed in memory, or another
//!   one. The kernel keeps the slot of a page that it reads in until a fault writes to the page or
//!   more than half of the swap area is in use (`mm/memory.c`, `should_try_to_free_swap`). It counts
//!   as the same page.
//! - A slot that is discarded holds no page any more.

use unjank_units::Nanos;

use super::device::{Read, SlotPolicy};
use super::{Left, Level, Placed, Tier};
use crate::admission::Admission;
use crate::bits::Bits;
use crate::page::Page;
use crate::replacement::Replacement;

/// A tier whose pages are the slots of a block device.
pub struct Slots<R, A> {
    tier: Tier<R, A>,
    /// Slots that hold a page.
    written: Bits,
    /// Those of them that were read since.
    read: Bits,
}

impl<R: Replacement, A: Admission> Slots<R, A> {
    /// A device whose slots hold nothing, over an empty tier.
    pub fn new(tier: Tier<R, A>) -> Self {
        let footprint = tier.cache.space().footprint();
        Self { tier, written: Bits::new(footprint), read: Bits::new(footprint) }
    }

    /// The tier. It counts a page that enters at a read as a read of the tier.
    pub fn tier(&self) -> &Tier<R, A> {
        &self.tier
    }

    /// The memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        self.tier.bytes() + self.written.bytes() + self.read.bytes()
    }
}

impl<R: Replacement, A: Admission> SlotPolicy for Slots<R, A> {
    fn next_to_leave(&mut self, at: Nanos) -> Option<Left> {
        self.tier.next_to_leave(at)
    }

    fn write(&mut self, slot: Page, at: Nanos) -> Placed {
        if self.written.set(slot) && !self.read.get(slot) {
            self.tier.gone(slot);
        }
        self.read.clear(slot);
        self.tier.page_out(slot, at)
    }

    fn read(&mut self, slot: Page, at: Nanos) -> Read {
        if !self.written.get(slot) {
            return Read { from: Level::Storage, enters: false, left: None };
        }
        let from = if self.tier.holds(slot) { Level::Tier } else { Level::Storage };
        let placed = if self.read.set(slot) {
            self.tier.clean_drop(slot, at)
        } else {
            Placed { level: from, left: None }
        };
        self.tier.page_in(slot, at);
        Read { from, enters: placed.level != from, left: placed.left }
    }

    fn discard(&mut self, slot: Page) {
        self.written.clear(slot);
        self.read.clear(slot);
        self.tier.gone(slot);
    }

    fn not_taken(&mut self, slot: Page) {
        self.tier.not_taken(slot);
    }

    fn resume(&mut self, slot: Page) -> Option<Left> {
        self.written.set(slot);
        self.tier.resume(slot)
    }

    fn holds(&self, slot: Page) -> bool {
        self.tier.holds(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::SecondEviction;
    use crate::page::Space;
    use crate::replacement::Lru;

    const NOW: Nanos = Nanos::ZERO;

    fn paper(capacity: u64) -> Slots<Lru, SecondEviction> {
        let space = Space::new(capacity, 10).unwrap();
        Slots::new(Tier::new(Lru::new(space), SecondEviction::new(10)))
    }

    #[test]
    fn slots_that_are_used_again_by_other_pages_do_not_enter() {
        let mut slots = paper(10);
        let space = Space::new(10, 10).unwrap();
        let mut naive = Tier::new(Lru::new(space), SecondEviction::new(10));
        for _process in 0..3 {
            for slot in 0..10 {
                assert_eq!(slots.write(Page(slot), NOW).level, Level::Storage);
                naive.page_out(Page(slot), NOW);
            }
        }
        assert_eq!(slots.tier().traffic().entered, 0);
        assert_eq!(naive.traffic().entered, 10, "all of them, at the second process");
    }

    #[test]
    fn a_page_that_comes_back_twice_enters_at_the_second_read() {
        let mut slots = paper(1);
        slots.write(Page(1), NOW);
        let first = Read { from: Level::Storage, enters: false, left: None };
        assert_eq!(slots.read(Page(1), NOW), first);
        assert_eq!(slots.read(Page(1), NOW), Read { enters: true, ..first });
        assert_eq!(slots.read(Page(1), NOW), Read { from: Level::Tier, ..first });
        slots.write(Page(2), NOW);
        slots.read(Page(2), NOW);
        let left = Some(Left { page: Page(1), stale: false });
        assert_eq!(slots.read(Page(2), NOW), Read { enters: true, left, ..first });
    }

    #[test]
    fn a_page_that_came_back_and_is_written_again_enters() {
        let mut slots = paper(1);
        slots.write(Page(1), NOW);
        slots.read(Page(1), NOW);
        assert_eq!(slots.write(Page(1), NOW), Placed { level: Level::Tier, left: None });
        let second = slots.write(Page(1), NOW);
        assert_eq!(second.level, Level::Storage, "another page, which was not evicted before");
        assert!(!slots.tier().holds(Page(1)));
    }

    #[test]
    fn a_discarded_slot_has_no_history() {
        let mut slots = paper(1);
        slots.write(Page(1), NOW);
        slots.read(Page(1), NOW);
        slots.discard(Page(1));
        assert_eq!(slots.write(Page(1), NOW).level, Level::Storage);
        slots.discard(Page(1));
        let unknown = Read { from: Level::Storage, enters: false, left: None };
        assert_eq!([slots.read(Page(1), NOW), slots.read(Page(1), NOW)], [unknown; 2]);
    }

    #[test]
    fn a_page_that_leaves_is_written_if_storage_has_an_old_copy() {
        let mut slots = paper(1);
        for slot in [1, 2] {
            slots.write(Page(slot), NOW);
            slots.read(Page(slot), NOW);
        }
        assert_eq!(slots.write(Page(1), NOW).left, None);
        let placed = slots.write(Page(2), NOW);
        assert_eq!(placed.left, Some(Left { page: Page(1), stale: true }));
    }
}
