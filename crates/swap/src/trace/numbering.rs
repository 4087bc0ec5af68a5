//! Dense numbers for the pages of a trace, whatever device or file they are of.

use std::collections::HashMap;

use super::event::{Event, Space};
use unjank_cachesim::page::SpaceError;
use unjank_cachesim::{Dense, Page};

/// Bits of a page's number beside which its space fits into a key.
const PAGE_BITS: u32 = 48;
/// Numbers below have a key of their own; the keys above are for those that have none.
const OWN_KEY: u64 = (1 << PAGE_BITS) - (1 << 31);

/// Gives pages numbers in the order of their first appearance.
///
/// A page is its space and its number there. Memory is what [`Dense`] takes, and some 40 bytes
/// more for each page whose number within its space needs more than 48 bits, such as a hash.
#[derive(Default)]
pub struct Numbering {
    dense: Dense,
    /// Keys of pages with large numbers.
    large: HashMap<(Space, u64), u64>,
    keys: Vec<u64>,
}

impl Numbering {
    /// Appends the page of each event to `into`.
    ///
    /// # Errors
    /// More different pages than there are numbers.
    pub fn pages<'a>(
        &mut self,
        events: impl IntoIterator<Item = &'a Event>,
        into: &mut Vec<Page>,
    ) -> Result<(), SpaceError> {
        let mut keys = std::mem::take(&mut self.keys);
        keys.clear();
        keys.extend(events.into_iter().map(|event| self.key(event)));
        let numbered = self.dense.pages(&keys, into);
        self.keys = keys;
        numbered
    }

    /// A key of 64 bits that no other page has.
    pub(crate) fn key(&mut self, event: &Event) -> u64 {
        if event.page < OWN_KEY {
            return u64::from(event.space.0) << PAGE_BITS | event.page;
        }
        // Those of the last space that no page has of its own; there are more than numbers.
        let next = u64::MAX - self.large.len() as u64;
        *self.large.entry((event.space, event.page)).or_insert(next)
    }

    /// How many different pages there were so far.
    pub fn footprint(&self) -> u32 {
        self.dense.footprint()
    }

    /// The memory that it takes, in bytes, about.
    pub fn bytes(&self) -> usize {
        self.dense.bytes() + 40 * self.large.len()
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::Nanos;

    use super::super::event::{Backing, Operation, Who};
    use super::*;

    #[test]
    fn a_page_is_its_space_and_its_number() {
        let event = |space, page| Event {
            at: Nanos::ZERO,
            page,
            who: Who::UNKNOWN,
            space: Space(space),
            operation: Operation::Read,
            backing: Backing::Unknown,
        };
        let most = u64::MAX;
        let events = [
            event(1, 7),
            event(2, 7),
            event(1, 7),
            event(65_535, OWN_KEY - 1),
            event(1, most),
            event(2, most),
            event(1, most),
            event(65_535, OWN_KEY),
        ];
        let (mut numbering, mut pages) = (Numbering::default(), Vec::new());
        for event in &events {
            numbering.pages([event], &mut pages).unwrap();
        }
        let numbers: Vec<u32> = pages.iter().map(|page| page.0).collect();
        assert_eq!(numbers, [0, 1, 0, 2, 3, 4, 3, 5]);
        assert_eq!(numbering.footprint(), 6);
    }
}
