//! What programs do with pages: four bytes a time.

use super::page::Page;

/// What a program did with a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Did {
    /// It read the page.
    Read,
    /// It changed the page.
    Write,
    /// It touched the page for the first time: whatever was in it before is gone.
    First,
}

impl Did {
    const ALL: [Self; 3] = [Self::Read, Self::Write, Self::First];
}

/// One access to a page, as one number: what was done above the 30 bits of
/// the page.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Access(u32);

const PAGE_BITS: u32 = 30;

impl Access {
    /// To a page below [`MOST_PAGES`](super::page::MOST_PAGES).
    pub fn new(page: Page, did: Did) -> Self {
        debug_assert!(page.0 < super::page::MOST_PAGES, "{page:?}");
        Self(page.0 | (did as u32) << PAGE_BITS)
    }

    /// The page.
    pub fn page(self) -> Page {
        Page(self.0 & ((1 << PAGE_BITS) - 1))
    }

    /// What was done.
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
    fn both_halves_lead_back() {
        for did in Did::ALL {
            for page in [0, 1, MOST_PAGES - 1] {
                let access = Access::new(Page(page), did);
                assert_eq!((access.page(), access.did()), (Page(page), did));
            }
        }
        assert_eq!(size_of::<Access>(), 4);
    }
}
