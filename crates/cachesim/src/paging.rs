//! Requests of memory to the levels below it, four bytes each.

use super::page::Page;

/// The kind of a paging event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Happened {
    /// Memory brings the page in.
    PageIn,
    /// Memory evicts the page, which is dirty.
    PageOut,
    /// Memory evicts the page, which is clean.
    CleanDrop,
    /// The page was freed: its process ended, or its swap slot was freed.
    Gone,
}

impl Happened {
    const ALL: [Self; 4] = [Self::PageIn, Self::PageOut, Self::CleanDrop, Self::Gone];
}

/// An event of a page, packed into 32 bits: the kind above the 30 bits of the page number.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Paging(u32);

const PAGE_BITS: u32 = 30;

impl Paging {
    /// An event of a page below [`MOST_PAGES`](super::page::MOST_PAGES).
    pub fn new(page: Page, happened: Happened) -> Self {
        debug_assert!(page.0 < super::page::MOST_PAGES, "{page:?}");
        Self(page.0 | (happened as u32) << PAGE_BITS)
    }

    /// The page.
    pub fn page(self) -> Page {
        Page(self.0 & ((1 << PAGE_BITS) - 1))
    }

    /// The kind of the event.
    pub fn happened(self) -> Happened {
        Happened::ALL[(self.0 >> PAGE_BITS) as usize]
    }
}

impl std::fmt::Debug for Paging {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {}", self.happened(), self.page().0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::page::MOST_PAGES;
    use super::*;

    #[test]
    fn page_and_kind_are_unpacked_as_packed() {
        for happened in Happened::ALL {
            for page in [0, 1, MOST_PAGES - 1] {
                let paging = Paging::new(Page(page), happened);
                assert_eq!((paging.page(), paging.happened()), (Page(page), happened));
            }
        }
        assert_eq!(size_of::<Paging>(), 4);
    }
}
