//! Requests of memory to the levels below it, four bytes each.

use super::page::Page;

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

impl PagingKind {
    const ALL: [Self; 4] = [Self::PageIn, Self::PageOut, Self::CleanDrop, Self::Gone];
}

/// An event of a page, packed into 32 bits: the kind above the 30 bits of the page number.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PagingEvent(u32);

const PAGE_BITS: u32 = 30;

impl PagingEvent {
    /// An event of a page below [`MAX_PAGES`](super::page::MAX_PAGES).
    pub fn new(page: Page, kind: PagingKind) -> Self {
        debug_assert!(page.0 < super::page::MAX_PAGES, "{page:?}");
        Self(page.0 | (kind as u32) << PAGE_BITS)
    }

    /// The page, below [`MAX_PAGES`](super::page::MAX_PAGES).
    pub fn page(self) -> Page {
        Page(self.0 & ((1 << PAGE_BITS) - 1))
    }

    /// The kind of the event.
    pub fn kind(self) -> PagingKind {
        PagingKind::ALL[(self.0 >> PAGE_BITS) as usize]
    }
}

impl std::fmt::Debug for PagingEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {}", self.kind(), self.page().0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::page::MAX_PAGES;
    use super::*;

    #[test]
    fn page_and_kind_are_unpacked_as_packed() {
        for kind in PagingKind::ALL {
            for page in [0, 1, MAX_PAGES - 1] {
                let paging = PagingEvent::new(Page(page), kind);
                assert_eq!((paging.page(), paging.kind()), (Page(page), kind));
            }
        }
        assert_eq!(size_of::<PagingEvent>(), 4);
    }
}
