//! Names of pages for a policy: the process and the address.

use std::num::NonZeroU64;

use unjank_cachesim::tier::Key;
use unjank_host::swapped_pages::SwappedPage;

use super::tier::server::PAGE;

/// Page numbers of processes: addresses of 48 bits.
const BITS: u32 = 36;

/// The name of a page. A process that gets the number of one that has ended has its pages' history,
/// too: some pages are kept at their first eviction.
pub(super) fn of(page: SwappedPage) -> Option<Key> {
    let number = (page.address / PAGE) & ((1 << BITS) - 1);
    NonZeroU64::new(u64::from(page.process) << BITS | number).map(Key)
}

/// The process of a page of this name.
pub(super) fn process(key: Key) -> u32 {
    (key.0.get() >> BITS) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_different_processes_or_addresses_have_different_names() {
        let page =
            |process, address| of(SwappedPage { process, address, area: 0, slot: 7 }).unwrap();
        let pages = [(1, 0), (1, 4096), (2, 0), (4_194_303, (1 << 48) - 4096)];
        let keys: std::collections::BTreeSet<u64> =
            pages.iter().map(|&(process, address)| page(process, address).0.get()).collect();
        assert_eq!(keys.len(), pages.len());
        for (process, address) in pages {
            assert_eq!(super::process(page(process, address)), process);
        }
    }
}
