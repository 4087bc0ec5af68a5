//! Accesses of programs to pages, four bytes each.

use super::page::Page;

/// The kind of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessKind {
    /// The program reads the page.
    Read,
    /// The program changes the page.
    Write,
    /// The program touches the page for the first time: its earlier content is gone.
    FirstTouch,
}

impl AccessKind {
    const ALL: [Self; 3] = [Self::Read, Self::Write, Self::FirstTouch];
}

/// An access to a page, packed into 32 bits: the kind above the 30 bits of the page number.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Access(u32);

const PAGE_BITS: u32 = 30;

impl Access {
    /// An access to a page below [`MAX_PAGES`](super::page::MAX_PAGES).
    pub fn new(page: Page, kind: AccessKind) -> Self {
        debug_assert!(page.0 < super::page::MAX_PAGES, "{page:?}");
        Self(page.0 | (kind as u32) << PAGE_BITS)
    }

    /// The page, below [`MAX_PAGES`](super::page::MAX_PAGES).
    pub fn page(self) -> Page {
        Page(self.0 & ((1 << PAGE_BITS) - 1))
    }

    /// The kind of the access.
    pub fn kind(self) -> AccessKind {
        AccessKind::ALL[(self.0 >> PAGE_BITS) as usize]
    }
}

impl std::fmt::Debug for Access {
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
        for kind in AccessKind::ALL {
            for page in [0, 1, MAX_PAGES - 1] {
                let access = Access::new(Page(page), kind);
                assert_eq!((access.page(), access.kind()), (Page(page), kind));
            }
        }
        assert_eq!(size_of::<Access>(), 4);
    }
}
