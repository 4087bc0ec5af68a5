//! Circular lists of pages that share one array, eight bytes per page.

use crate::page::{Page, Space};

/// The neighbours of a page or of a list's sentinel.
#[derive(Clone, Copy)]
struct Link {
    /// Towards the back.
    next: u32,
    /// Towards the front, and a mark in the two highest bits.
    prev: u32,
}

/// The `next` of a page that is in no list.
const NOWHERE: u32 = u32::MAX;
/// The bits of `prev` that are a mark.
const MARK: u32 = 0b11 << MARK_SHIFT;
const MARK_SHIFT: u32 = 30;

/// A list among those that share [`Links`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct List(u32);

/// `LISTS` doubly linked lists; a page is in at most one of them.
///
/// After the links of all pages come the sentinels of the lists, so that no operation has to check
/// whether a neighbour exists.
pub(crate) struct Links<const LISTS: usize> {
    links: Box<[Link]>,
}

impl<const LISTS: usize> Links<LISTS> {
    pub(crate) fn new(space: Space) -> Self {
        let pages = space.footprint();
        let nowhere = Link { next: NOWHERE, prev: 0 };
        let mut links = vec![nowhere; pages as usize + LISTS].into_boxed_slice();
        for (end, link) in (pages..).zip(&mut links[pages as usize..]) {
            *link = Link { next: end, prev: end };
        }
        Self { links }
    }

    /// The list with this number, below `LISTS`.
    pub(crate) fn list(&self, number: u32) -> List {
        List(self.pages() + number)
    }

    /// Whether the page is in a list.
    pub(crate) fn linked(&self, page: Page) -> bool {
        self.links[page.index()].next != NOWHERE
    }

    /// The mark of a page, from zero to three; initially zero. It stays with the page in any list
    /// or none.
    pub(crate) fn mark(&self, page: Page) -> u32 {
        self.links[page.index()].prev >> MARK_SHIFT
    }

    pub(crate) fn set_mark(&mut self, page: Page, mark: u32) {
        let prev = &mut self.links[page.index()].prev;
        *prev = *prev & !MARK | mark << MARK_SHIFT;
    }

    pub(crate) fn push_front(&mut self, list: List, page: Page) {
        let second = self.links[list.0 as usize].next;
        let link = &mut self.links[page.index()];
        *link = Link { next: second, prev: link.prev & MARK | list.0 };
        self.links[list.0 as usize].next = page.0;
        self.set_prev(second, page.0);
    }

    /// Removes a page from its list.
    pub(crate) fn unlink(&mut self, page: Page) {
        self.bridge(page);
        self.links[page.index()].next = NOWHERE;
    }

    /// Moves a linked page to the front of a list.
    pub(crate) fn move_to_front(&mut self, list: List, page: Page) {
        if self.links[list.0 as usize].next == page.0 {
            return;
        }
        self.bridge(page);
        self.push_front(list, page);
    }

    /// The last page of a list.
    pub(crate) fn back(&self, list: List) -> Option<Page> {
        self.page(self.links[list.0 as usize].prev & !MARK)
    }

    /// Removes the last page of a list.
    pub(crate) fn pop_back(&mut self, list: List) -> Option<Page> {
        let page = self.back(list)?;
        self.unlink(page);
        Some(page)
    }

    /// The neighbour of a linked page towards the front; `None` at the front.
    pub(crate) fn before(&self, page: Page) -> Option<Page> {
        self.page(self.links[page.index()].prev & !MARK)
    }

    /// The memory that it takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.links)
    }

    /// Links the neighbours of a page with each other.
    fn bridge(&mut self, page: Page) {
        let Link { next, prev } = self.links[page.index()];
        let prev = prev & !MARK;
        self.links[prev as usize].next = next;
        self.set_prev(next, prev);
    }

    fn set_prev(&mut self, of: u32, prev: u32) {
        let link = &mut self.links[of as usize];
        link.prev = link.prev & MARK | prev;
    }

    fn page(&self, link: u32) -> Option<Page> {
        (link < self.pages()).then_some(Page(link))
    }

    fn pages(&self) -> u32 {
        (self.links.len() - LISTS) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages<const LISTS: usize>(links: &Links<LISTS>, list: List) -> Vec<u32> {
        std::iter::successors(links.back(list), |page| links.before(*page))
            .map(|page| page.0)
            .collect()
    }

    #[test]
    fn lists_keep_their_order_and_their_pages() {
        let mut links: Links<2> = Links::new(Space::new(9, 9).unwrap());
        let (near, far) = (links.list(0), links.list(1));
        assert_eq!(links.back(near), None);
        for page in [1, 2, 3, 4] {
            links.push_front(near, Page(page));
        }
        links.unlink(Page(2));
        links.push_front(far, Page(2));
        links.move_to_front(near, Page(3));
        links.move_to_front(near, Page(3));
        assert_eq!(pages(&links, near), [1, 4, 3]);
        assert_eq!(pages(&links, far), [2]);
        assert_eq!(links.pop_back(near), Some(Page(1)));
        assert!(!links.linked(Page(1)) && links.linked(Page(2)));
        links.set_mark(Page(4), 3);
        links.move_to_front(far, Page(4));
        assert_eq!((links.mark(Page(4)), links.mark(Page(2))), (3, 0));
        assert_eq!((pages(&links, near), pages(&links, far)), (vec![3], vec![2, 4]));
    }
}
