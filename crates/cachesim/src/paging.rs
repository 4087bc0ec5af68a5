//! Requests of memory to the levels below it, four bytes each.

use super::packed::{Packed, PackedKind};

/// The kind of a paging event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PagingKind {
    /// Memory brings the page in.
    PageIn,
    /// Memory evicts the page, which is dirty.
    PageOut,
    /// Memory evicts the page, which is clean.
    CleanDrop,
    /// The page was freed: its process ended, or its swap slot was freed.
    Gone,
}

impl PackedKind for PagingKind {
    const ALL: &'static [Self] = &[Self::PageIn, Self::PageOut, Self::CleanDrop, Self::Gone];

    fn number(self) -> u32 {
        self as u32
    }
}

/// An event of a page.
pub type PagingEvent = Packed<PagingKind>;
