//! Readahead of swap: a page-in brings the neighbours of the page along.

use crate::page::Page;

/// Pages are read in aligned clusters of `1 << vm.page-cluster`, as `swap_cluster_readahead` reads
/// slots (`mm/swap_state.c`). The model assumes that neighbouring page numbers are neighbouring
/// slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Readahead {
    order: u32,
}

impl Readahead {
    /// The largest `vm.page-cluster` that makes sense: 2 MiB.
    pub const MAX: u32 = 9;

    /// Readahead with `vm.page-cluster` at `order`; zero brings no neighbours. Orders above
    /// [`MAX`](Self::MAX) are clamped to it.
    pub fn new(order: u32) -> Self {
        Self { order: order.min(Self::MAX) }
    }

    /// `vm.page-cluster`.
    pub fn order(self) -> u32 {
        self.order
    }

    /// The neighbours of a page below `footprint`, without itself.
    pub fn neighbours(self, page: Page, footprint: u32) -> impl Iterator<Item = Page> {
        let first = page.0 >> self.order << self.order;
        let end = (first + (1 << self.order)).min(footprint);
        (first..end).map(Page).filter(move |other| *other != page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_those_of_the_aligned_cluster() {
        let neighbours = |order, page| -> Vec<u32> {
            Readahead::new(order).neighbours(Page(page), 14).map(|page| page.0).collect()
        };
        assert_eq!(neighbours(3, 5), [0, 1, 2, 3, 4, 6, 7]);
        assert_eq!(neighbours(2, 13), [12], "the footprint ends");
        assert!(neighbours(0, 5).is_empty());
    }
}
