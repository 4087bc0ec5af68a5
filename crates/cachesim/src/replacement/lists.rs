//! Lists that know their lengths, and pages that know their list.

use super::links::{self, Links};
use crate::page::{Page, Space};

/// The number of no list: that of a page that is in none.
pub(crate) const ABSENT: u8 = 0;

/// Lists with the numbers 1 to `LISTS`; a page is in at most one of them.
///
/// Nine bytes per page: its links, and the number of its list.
pub(crate) struct Lists<const LISTS: usize> {
    lengths: [u32; LISTS],
    numbers: Box<[u8]>,
    links: Links<LISTS>,
}

impl<const LISTS: usize> Lists<LISTS> {
    pub(crate) fn new(space: Space) -> Self {
        Self {
            lengths: [0; LISTS],
            numbers: vec![ABSENT; space.footprint() as usize].into_boxed_slice(),
            links: Links::new(space),
        }
    }

    /// The list of a page, or [`ABSENT`].
    pub(crate) fn of(&self, page: Page) -> u8 {
        self.numbers[page.index()]
    }

    /// The number of pages in a list.
    pub(crate) fn len(&self, list: u8) -> u32 {
        self.lengths[usize::from(list) - 1]
    }

    /// The last page of a list.
    pub(crate) fn back(&self, list: u8) -> Option<Page> {
        self.links.back(self.list(list))
    }

    /// The mark of a page, from zero to three; initially zero. It stays with the page in any list
    /// or none.
    pub(crate) fn mark(&self, page: Page) -> u32 {
        self.links.mark(page)
    }

    pub(crate) fn set_mark(&mut self, page: Page, mark: u32) {
        self.links.set_mark(page, mark);
    }

    /// Adds a page that is in no list.
    pub(crate) fn push_front(&mut self, list: u8, page: Page) {
        *self.len_mut(list) += 1;
        self.numbers[page.index()] = list;
        self.links.push_front(self.list(list), page);
    }

    /// Moves a page that is in a list, perhaps this one, to the front of this one.
    pub(crate) fn move_to_front(&mut self, list: u8, page: Page) {
        let from = self.of(page);
        if from != list {
            *self.len_mut(from) -= 1;
            *self.len_mut(list) += 1;
            self.numbers[page.index()] = list;
        }
        self.links.move_to_front(self.list(list), page);
    }

    /// Removes the last page of a list.
    pub(crate) fn pop_back(&mut self, list: u8) -> Option<Page> {
        let page = self.links.pop_back(self.list(list))?;
        *self.len_mut(list) -= 1;
        self.numbers[page.index()] = ABSENT;
        Some(page)
    }

    /// Removes a page from its list and returns the list; [`ABSENT`] if it was in none.
    pub(crate) fn take(&mut self, page: Page) -> u8 {
        let list = std::mem::replace(&mut self.numbers[page.index()], ABSENT);
        if list != ABSENT {
            self.links.unlink(page);
            *self.len_mut(list) -= 1;
        }
        list
    }

    /// The memory that they take, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.numbers) + self.links.bytes()
    }

    fn list(&self, number: u8) -> links::List {
        self.links.list(u32::from(number) - 1)
    }

    fn len_mut(&mut self, list: u8) -> &mut u32 {
        &mut self.lengths[usize::from(list) - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_know_their_lengths_and_pages_their_list() {
        let mut lists: Lists<2> = Lists::new(Space::new(9, 9).unwrap());
        for page in [1, 2, 3] {
            lists.push_front(1, Page(page));
        }
        lists.move_to_front(1, Page(1));
        lists.move_to_front(2, Page(3));
        assert_eq!([1, 2, 3, 4].map(|page| lists.of(Page(page))), [1, 1, 2, ABSENT]);
        assert_eq!([lists.len(1), lists.len(2)], [2, 1]);
        assert_eq!((lists.back(1), lists.back(2)), (Some(Page(2)), Some(Page(3))));
        assert_eq!((lists.pop_back(1), lists.take(Page(3))), (Some(Page(2)), 2));
        assert_eq!((lists.take(Page(3)), lists.pop_back(2)), (ABSENT, None));
        assert_eq!([lists.len(1), lists.len(2)], [1, 0]);
    }
}
