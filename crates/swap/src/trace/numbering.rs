//! Dense numbers for the pages of a trace, across all devices and files.

use std::collections::HashMap;

use super::event::{Event, Space};
use unjank_cachesim::page::SpaceError;
use unjank_cachesim::{Dense, Page};

/// Bits of a key that hold the page's number; the space has the rest.
const PAGE_BITS: u32 = 48;
/// Page numbers below this are part of the key; larger ones are assigned the keys above.
const OWN_KEY: u64 = (1 << PAGE_BITS) - (1 << 31);

/// Gives pages numbers in the order of their first appearance.
///
/// A page is identified by its space and its number there. Memory is that of [`Dense`], plus about
/// 40 bytes for each page whose number within its space needs more than 48 bits, such as a hash.
#[derive(Default)]
pub struct Numbering {
    dense: Dense,
    /// Keys assigned to pages with large numbers.
    large: HashMap<(Space, u64), u64>,
    keys: Vec<u64>,
}

impl Numbering {
    /// Appends the page of each event to `into`.
    ///
    /// # Errors
    /// There are more distinct pages than numbers.
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

    /// A key of 64 bits, unique to the page.
    pub fn key(&mut self, event: &Event) -> u64 {
        if event.page < OWN_KEY {
            return u64::from(event.space.0) << PAGE_BITS | event.page;
        }
        // Keys from the top, which `OWN_KEY` keeps free; there are more of them than page numbers.
        let next = u64::MAX - self.large.len() as u64;
        *self.large.entry((event.space, event.page)).or_insert(next)
    }

    /// How many distinct pages there were so far.
    pub fn footprint(&self) -> u32 {
        self.dense.footprint()
    }

    /// Approximate memory use in bytes.
    pub fn bytes(&self) -> usize {
        self.dense.bytes() + 40 * self.large.len()
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::Nanos;

    use super::super::event::{Backing, Operation, ProcessIndex};
    use super::*;

    #[test]
    fn a_page_is_identified_by_its_space_and_number() {
        let event = |space, page| Event {
            at: Nanos::ZERO,
            page,
            who: ProcessIndex::UNKNOWN,
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
