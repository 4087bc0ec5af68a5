//! A page and what happened to it, in four bytes: traces have hundreds of millions of these.

use std::fmt::{self, Debug, Formatter};
use std::marker::PhantomData;

use super::page::{MAX_PAGES, Page};

/// What happens to pages: at most four kinds, which are numbered from 0.
pub trait PackedKind: Copy + Debug + 'static {
    /// All kinds, in the order of their numbers.
    const ALL: &'static [Self];

    /// The number of this one.
    fn number(self) -> u32;
}

/// A page and a kind, packed into 32 bits: the kind above the 30 bits of the page number.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Packed<K>(u32, PhantomData<K>);

const PAGE_BITS: u32 = 30;

impl<K: PackedKind> Packed<K> {
    /// Packs a page below [`MAX_PAGES`].
    pub fn new(page: Page, kind: K) -> Self {
        debug_assert!(page.0 < MAX_PAGES, "{page:?}");
        Self(page.0 | kind.number() << PAGE_BITS, PhantomData)
    }

    /// The page, below [`MAX_PAGES`].
    pub fn page(self) -> Page {
        Page(self.0 & ((1 << PAGE_BITS) - 1))
    }

    /// What happened to it.
    pub fn kind(self) -> K {
        K::ALL[(self.0 >> PAGE_BITS) as usize]
    }
}

impl<K: PackedKind> Debug for Packed<K> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.kind(), self.page().0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Access, AccessKind, PagingEvent, PagingKind};

    fn unpacks<K: PackedKind + PartialEq>() {
        for &kind in K::ALL {
            for page in [0, 1, MAX_PAGES - 1] {
                let packed = Packed::new(Page(page), kind);
                assert_eq!((packed.page(), packed.kind()), (Page(page), kind));
            }
        }
    }

    #[test]
    fn page_and_kind_are_unpacked_as_packed() {
        unpacks::<AccessKind>();
        unpacks::<PagingKind>();
        assert_eq!([size_of::<Access>(), size_of::<PagingEvent>()], [4, 4]);
    }
}
