//! Accesses of programs to pages, four bytes each.

use super::page::Page;

/// The kind of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Did {
    /// The program reads the page.
    Read,
    /// The program changes the page.
    Write,
    /// The program touches the page for the first time: its earlier content is gone.
    First,
}

impl Did {
    const ALL: [Self; 3] = [Self::Read, Self::Write, Self::First];
}

/// An access to a page, packed into 32 bits: the kind above the 30 bits of the page number.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Access(u32);

const PAGE_BITS: u32 = 30;

impl Access {
    /// An access to a page below [`MOST_PAGES`](super::page::MOST_PAGES).
    pub fn new(page: Page, did: Did) -> Self {
        debug_assert!(page.0 < super::page::MOST_PAGES, "{page:?}");
        Self(page.0 | (did as u32) << PAGE_BITS)
    }

    /// The page.
    pub fn page(self) -> Page {
        Page(self.0 & ((1 << PAGE_BITS) - 1))
    }

    /// The kind of the access.
    pub fn did(self) -> Did {
        Did::ALL[(self.0 >> PAGE_BITS) as usize]
    }
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {}", self.did(), self.page().0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::page::MOST_PAGES;
    use super::*;

    #[test]
    fn page_and_kind_are_unpacked_as_packed() {
        for did in Did::ALL {
            for page in [0, 1, MOST_PAGES - 1] {
                let access = Access::new(Page(page), did);
                assert_eq!((access.page(), access.did()), (Page(page), did));
            }
        }
        assert_eq!(size_of::<Access>(), 4);
    }
}
