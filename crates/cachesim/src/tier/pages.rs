//! A tier that serves a block device and identifies the pages in its slots after they were written.
//!
//! A device that is swapped to sees slots ([`slots`](super::slots)). The kernel gives a page that
//! changed another slot at its next eviction, so that a slot's history is soon that of many pages.
//! Where `/proc/PID/pagemap` can be read, it tells which page each slot holds, but not at the
//! moment of the eviction. So:
//!
//! - Every page that is written enters the fast backing and is *staged* there.
//! - When it is [named](PagePolicy::name), the tier decides, with the page's own history, whether to
//!   keep it. Nothing is moved then.
//! - When there is little room, a staged page that the tier does not keep leaves, and when there is
//!   none, one that has no name yet; the oldest first.
//!
//! A page that comes back before it was named has no eviction in its history. A page of memory that
//! processes share, or of a file in memory, has no name and is staged only.

use unjank_units::Nanos;

use super::device::{Naming, PagePolicy, Read, SlotPolicy, Writes};
use super::registry::{Key, Numbered, Registry};
use super::{Left, Level, Placed, Tier};
use crate::admission::Admission;
use crate::bits::Bits;
use crate::page::{Page, Space};
use crate::replacement::Replacement;
use crate::replacement::lists::{ABSENT, Lists};

/// No page, or no slot.
const NONE: u32 = u32::MAX;
/// The numbers of pages for each slot: those that are in memory have a history, too.
const PAGES_PER_SLOT: u32 = 2;
/// The part of the room that is made free before it is needed: one part of so many. Memory evicts
/// pages in bursts.
const ROOM_PER_FREE: u32 = 8;

/// The lists of slots whose pages are in the fast backing; all others are in storage.
mod list {
    /// Without a name.
    pub(super) const UNNAMED: u8 = 1;
    /// Until there is no room.
    pub(super) const LEAVING: u8 = 2;
    /// Kept by the tier.
    pub(super) const KEPT: u8 = 3;
}

/// The state of a slot.
#[derive(Debug, Clone, Copy)]
struct Slot {
    /// The page that it holds.
    page: u32,
    /// When it was written; zero if it holds nothing.
    written: Writes,
    /// Whether the page that was written had a name: another name is that of a page which is still
    /// to be written.
    is_named: bool,
}

impl Slot {
    const EMPTY: Self = Self { page: NONE, written: Writes(0), is_named: false };
}

/// A tier of pages in the slots of a block device.
pub struct Pages<R, A> {
    /// Its pages are numbers of `registry`.
    tier: Tier<R, A>,
    registry: Registry,
    /// The slot of each page.
    slot_of: Box<[u32]>,
    slots: Box<[Slot]>,
    /// Slots that were read since they were written.
    read: Bits,
    lists: Lists<3>,
    /// Slots in the fast backing, at most.
    room: u32,
    writes: Writes,
    naming: Naming,
}

/// The number of pages that a tier over so many slots may have to know.
pub fn footprint(slots: u32) -> u32 {
    Registry::footprint_for(slots.saturating_mul(PAGES_PER_SLOT))
}

impl<R: Replacement, A: Admission> Pages<R, A> {
    /// A device of `slots` slots that hold nothing, over an empty tier of [`footprint`] pages and
    /// a fast backing with `room` for more pages than the tier keeps.
    ///
    /// # Panics
    /// The sizes do not fit each other.
    pub fn new(tier: Tier<R, A>, slots: u32, room: u32) -> Self {
        let space = tier.cache.space();
        assert!(space.capacity() < room, "{room} pages have no room beside the tier's");
        let lists = Lists::new(Space::new(1, slots.into()).expect("few enough for a tier"));
        Self {
            slot_of: vec![NONE; space.footprint() as usize].into(),
            registry: Registry::new(space.footprint()),
            tier,
            slots: vec![Slot::EMPTY; slots as usize].into(),
            read: Bits::new(slots),
            lists,
            room,
            writes: Writes::default(),
            naming: Naming::default(),
        }
    }

    /// The tier. A page enters and leaves it when it is named.
    pub fn tier(&self) -> &Tier<R, A> {
        &self.tier
    }

    /// The memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        self.tier.bytes()
            + self.registry.bytes()
            + self.read.bytes()
            + self.lists.bytes()
            + size_of_val(&*self.slot_of)
            + size_of_val(&*self.slots)
    }

    fn slot_of(&self, page: Page) -> Option<Page> {
        let slot = self.slot_of[page.index()];
        (slot != NONE).then_some(Page(slot))
    }

    /// The number of a page. It may have been that of another one, which is forgotten: better one
    /// that no slot holds.
    fn number(&mut self, key: Key) -> Option<Page> {
        let (tier, slot_of) = (&self.tier, &self.slot_of);
        let in_no_slot = |page: Page| slot_of[page.index()] == NONE && !tier.holds(page);
        let numbered = self
            .registry
            .number(key, in_no_slot)
            .or_else(|| self.registry.number(key, |page| !tier.holds(page)));
        let Numbered { page, replaces } = numbered?;
        if replaces {
            self.tier.gone(page);
            if let Some(slot) = self.slot_of(page) {
                self.part(slot);
            }
        }
        Some(page)
    }

    /// Slots in the fast backing.
    fn held(&self) -> u32 {
        [list::UNNAMED, list::LEAVING, list::KEPT].map(|list| self.lists.len(list)).iter().sum()
    }

    /// The slot that must leave for another one.
    fn make_room(&mut self) -> Option<Left> {
        if self.held() < self.room {
            return None;
        }
        let leaving = self.lists.pop_back(list::LEAVING);
        let slot = leaving.or_else(|| self.lists.pop_back(list::UNNAMED))?;
        Some(Left { page: slot, stale: true })
    }

    /// The tier keeps a page no longer.
    fn dismiss(&mut self, page: Page) {
        if let Some(slot) = self.slot_of(page)
            && self.lists.of(slot) == list::KEPT
        {
            self.put(slot, list::LEAVING);
        }
    }

    /// A slot is not known to hold its page any more.
    fn part(&mut self, slot: Page) {
        let page = std::mem::replace(&mut self.slots[slot.index()].page, NONE);
        if page != NONE {
            self.slot_of[page as usize] = NONE;
        }
        if self.lists.of(slot) == list::KEPT {
            self.put(slot, list::LEAVING);
        }
    }

    /// A slot does not hold its page any more.
    fn release(&mut self, slot: Page) {
        let Slot { written, is_named, .. } = self.slots[slot.index()];
        self.naming.missed += u64::from(!is_named && written != Writes::default());
        self.part(slot);
        self.lists.take(slot);
    }

    fn put(&mut self, slot: Page, list: u8) {
        self.lists.take(slot);
        self.lists.push_front(list, slot);
    }
}

impl<R: Replacement, A: Admission> SlotPolicy for Pages<R, A> {
    fn holds(&self, slot: Page) -> bool {
        self.lists.of(slot) != ABSENT
    }

    fn next_to_leave(&mut self, at: Nanos) -> Option<Left> {
        if let Some(left) = self.tier.next_to_leave(at) {
            self.dismiss(left.page);
        }
        if self.held() + self.room / ROOM_PER_FREE <= self.room {
            return None;
        }
        let slot = self.lists.pop_back(list::LEAVING)?;
        Some(Left { page: slot, stale: true })
    }

    fn write(&mut self, slot: Page, _at: Nanos) -> Placed {
        self.release(slot);
        let left = self.make_room();
        self.read.clear(slot);
        self.writes.0 += 1;
        self.slots[slot.index()] = Slot { written: self.writes, ..Slot::EMPTY };
        self.put(slot, list::UNNAMED);
        Placed { level: Level::Tier, left }
    }

    fn read(&mut self, slot: Page, at: Nanos) -> Read {
        let Slot { page, written, .. } = self.slots[slot.index()];
        if written == Writes::default() {
            return Read { from: Level::Storage, enters: false, left: None };
        }
        let from = if self.holds(slot) { Level::Tier } else { Level::Storage };
        let mut read = Read { from, enters: false, left: None };
        // If it was read before, the page was dropped clean, and comes back again.
        let was_dropped = self.read.set(slot);
        if page == NONE {
            return read;
        }
        if was_dropped {
            let placed = self.tier.clean_drop(Page(page), at);
            if let Some(left) = placed.left {
                self.dismiss(left.page);
            }
            if placed.level == Level::Tier && self.lists.of(slot) != list::KEPT {
                read.enters = from == Level::Storage;
                if read.enters {
                    read.left = self.make_room();
                }
                self.put(slot, list::KEPT);
            }
        }
        self.tier.page_in(Page(page), at);
        read
    }

    fn discard(&mut self, slot: Page) {
        self.release(slot);
        self.slots[slot.index()] = Slot::EMPTY;
        self.read.clear(slot);
    }

    fn not_taken(&mut self, slot: Page) {
        if self.lists.of(slot) == list::KEPT {
            self.tier.not_taken(Page(self.slots[slot.index()].page));
        }
        self.lists.take(slot);
    }

    fn resume(&mut self, slot: Page) -> Option<Left> {
        self.write(slot, Nanos::ZERO).left
    }

    fn by_page(&self) -> Option<&dyn PagePolicy> {
        Some(self)
    }

    fn by_page_mut(&mut self) -> Option<&mut dyn PagePolicy> {
        Some(self)
    }
}

impl<R: Replacement, A: Admission> PagePolicy for Pages<R, A> {
    fn next_dismissed(&self) -> Option<Page> {
        self.lists.back(list::LEAVING)
    }

    fn naming(&self) -> Naming {
        self.naming
    }

    fn writes(&self) -> Writes {
        self.writes
    }

    fn name(&mut self, slot: Page, key: Key, as_of: Writes, at: Nanos) {
        let Some(Slot { written, is_named, .. }) = self.slots.get_mut(slot.index()) else { return };
        if *is_named || *written == Writes::default() || *written > as_of {
            return;
        }
        *is_named = true;
        self.naming.named += 1;
        let Some(page) = self.number(key) else {
            if self.holds(slot) {
                self.put(slot, list::LEAVING);
            }
            return;
        };
        // A slot that the page left, which a child of its process may still use.
        if let Some(old) = self.slot_of(page) {
            self.part(old);
        }
        self.slots[slot.index()].page = page.0;
        self.slot_of[page.index()] = slot.0;
        if !self.holds(slot) {
            // It has left already.
            return self.tier.went_past(page, at);
        }
        let placed = self.tier.page_out(page, at);
        if let Some(left) = placed.left {
            self.dismiss(left.page);
        }
        let is_kept = placed.level == Level::Tier;
        self.put(slot, if is_kept { list::KEPT } else { list::LEAVING });
    }
}

#[cfg(test)]
mod tests;
