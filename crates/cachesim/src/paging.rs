//! What memory does with pages over whatever lies below: four bytes a time.

use super::page::Page;

/// What happened to a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Happened {
    /// Memory asked for it.
    PageIn,
    /// Memory evicted it changed.
    PageOut,
    /// Memory dropped it as it had come.
    CleanDrop,
    /// Its content is nowhere any more.
    Gone,
}

impl Happened {
    const ALL: [Self; 4] = [Self::PageIn, Self::PageOut, Self::CleanDrop, Self::Gone];
}

/// Something that happened to a page, as one number: what happened above the
/// 30 bits of the page.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Paging(u32);

const PAGE_BITS: u32 = 30;

impl Paging {
    /// Of a page below [`MOST_PAGES`](super::page::MOST_PAGES).
    pub fn new(page: Page, happened: Happened) -> Self {
        debug_assert!(page.0 < super::page::MOST_PAGES, "{page:?}");
        Self(page.0 | (happened as u32) << PAGE_BITS)
    }

    /// The page.
    pub fn page(self) -> Page {
        Page(self.0 & ((1 << PAGE_BITS) - 1))
    }

    /// What happened to it.
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
    fn both_halves_lead_back() {
        for happened in Happened::ALL {
            for page in [0, 1, MOST_PAGES - 1] {
                let paging = Paging::new(Page(page), happened);
                assert_eq!((paging.page(), paging.happened()), (Page(page), happened));
            }
        }
        assert_eq!(size_of::<Paging>(), 4);
    }
}
