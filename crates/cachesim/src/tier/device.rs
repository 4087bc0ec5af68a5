//! Policies for a tier that serves a block device.

use unjank_units::Nanos;

use super::registry::Key;
use super::{Left, Level, Placed};
use crate::page::Page;

/// The result of reading a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Read {
    /// The level that holds the page.
    pub from: Level,
    /// Whether the page is to be copied into the tier.
    pub enters: bool,
    /// The page that leaves the tier for it.
    pub left: Option<Left>,
}

/// Decides which slots of a block device have their page in the tier. The pages of its results are
/// slots.
pub trait SlotPolicy {
    /// A slot is written. Returns where to; a copy at the other level is out of date.
    fn write(&mut self, slot: Page, at: Nanos) -> Placed;

    /// A slot is read.
    fn read(&mut self, slot: Page, at: Nanos) -> Read;

    /// A slot is discarded.
    fn discard(&mut self, slot: Page);

    /// The page of a slot could not be moved to the tier: it is in storage.
    fn not_taken(&mut self, slot: Page);

    /// Takes over a slot whose page another run of the tier held, and of which storage may have an
    /// old copy. The slot that leaves may be the slot itself.
    fn resume(&mut self, slot: Page) -> Option<Left>;

    /// The next slot that leaves although no other enters. To be called before each request.
    fn next_to_leave(&mut self, at: Nanos) -> Option<Left>;

    /// Whether the slot's page is in the tier, or is about to be copied there.
    fn holds(&self, slot: Page) -> bool;

    /// The policy, if it identifies pages.
    fn by_page(&self) -> Option<&dyn PagePolicy> {
        None
    }

    /// As [`by_page`](Self::by_page), mutable.
    fn by_page_mut(&mut self) -> Option<&mut dyn PagePolicy> {
        None
    }
}

/// A policy that learns which pages the slots hold, some time after they were written.
pub trait PagePolicy {
    /// The number of writes so far.
    fn writes(&self) -> Writes;

    /// The slot held the page `key` when there had been `as_of` writes.
    fn name(&mut self, slot: Page, key: Key, as_of: Writes, at: Nanos);

    /// The slot that leaves next for want of room: its page is known, and the tier does not keep
    /// it. It is still in the fast memory.
    fn next_dismissed(&self) -> Option<Page>;

    /// How many written slots were identified.
    fn naming(&self) -> Naming;
}

/// A number of writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Writes(pub(super) u64);

impl Writes {
    /// The writes since an earlier number.
    pub fn since(self, earlier: Self) -> u64 {
        self.0 - earlier.0
    }
}

/// How many written slots were identified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Naming {
    /// Slots whose page got a name.
    pub named: u64,
    /// Slots whose page came back, was freed or written over first.
    pub missed: u64,
}
