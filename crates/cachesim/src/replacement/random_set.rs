//! Pages in no order, of which one can be drawn at random.

use super::random::Random;
use crate::page::{Page, Space};

/// The place of a page that is not in the set.
const NOWHERE: u32 = u32::MAX;

/// A set of pages: four bytes for each page of the footprint, and four for each page that fits.
pub(super) struct RandomSet {
    /// The index of each page among `pages`.
    places: Box<[u32]>,
    pages: Vec<Page>,
}

impl RandomSet {
    pub(super) fn new(space: Space) -> Self {
        let most = space.capacity().min(space.footprint()) as usize;
        let places = vec![NOWHERE; space.footprint() as usize].into_boxed_slice();
        Self { places, pages: Vec::with_capacity(most) }
    }

    pub(super) fn contains(&self, page: Page) -> bool {
        self.places[page.index()] != NOWHERE
    }

    pub(super) fn len(&self) -> u32 {
        self.pages.len() as u32
    }

    /// Adds a page that is not in the set.
    pub(super) fn add(&mut self, page: Page) {
        self.places[page.index()] = self.len();
        self.pages.push(page);
    }

    /// Removes a page. Returns whether it was in the set.
    pub(super) fn take(&mut self, page: Page) -> bool {
        let place = std::mem::replace(&mut self.places[page.index()], NOWHERE) as usize;
        if place >= self.pages.len() {
            return false;
        }
        self.pages.swap_remove(place);
        if let Some(moved) = self.pages.get(place) {
            self.places[moved.index()] = place as u32;
        }
        true
    }

    /// One of the pages; the set must not be empty.
    pub(super) fn draw(&self, random: &mut Random) -> Page {
        self.pages[random.below(self.len()) as usize]
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.places) + self.pages.capacity() * size_of::<Page>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_drawn_until_it_is_taken() {
        let mut set = RandomSet::new(Space::new(9, 5).unwrap());
        for page in [3, 1, 4] {
            set.add(Page(page));
        }
        let mut random = Random::new(0);
        let mut drawn = |set: &RandomSet| {
            let mut times = [0; 5];
            (0..600).for_each(|_| times[set.draw(&mut random).index()] += 1);
            times.map(|times| times > 100)
        };
        assert_eq!(drawn(&set), [false, true, false, true, true]);
        assert_eq!((set.take(Page(3)), set.take(Page(3)), set.len()), (true, false, 2));
        assert_eq!(drawn(&set), [false, true, false, false, true]);
        assert!(set.contains(Page(4)) && !set.contains(Page(3)));
    }
}
