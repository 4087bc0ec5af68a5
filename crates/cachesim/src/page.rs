//! Page numbers, and the capacity and footprint of a cache.

/// Bytes of a page.
pub const PAGE: u64 = 4096;

/// A page number. Numbers are dense, start at zero, and follow the order of first appearance.
///
/// [`Dense`](super::Dense) gives numbers to the keys of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Page(pub u32);

impl Page {
    /// The page's index in an array with one entry per page.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The maximum number of pages: 4 TiB of 4 KiB pages. Two bits of a 32-bit link are left for a
/// policy's own marks.
pub const MAX_PAGES: u32 = (1 << 30) - 16;

/// The capacity of a cache, and the footprint: how many different pages there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    capacity: u32,
    footprint: u32,
}

/// Why a [`Space`] cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SpaceError {
    /// The capacity is zero.
    #[error("a cache needs room for at least one page")]
    Empty,
    /// More pages than [`MAX_PAGES`].
    #[error("{0} pages are too many; the maximum is {MAX_PAGES}")]
    TooLarge(u64),
}

impl Space {
    /// Room for `capacity` pages of `footprint` different ones.
    ///
    /// # Errors
    ///
    /// No capacity, or more pages than [`MAX_PAGES`].
    pub fn new(capacity: u64, footprint: u64) -> Result<Self, SpaceError> {
        let fits = |pages: u64| match u32::try_from(pages) {
            Ok(pages) if pages <= MAX_PAGES => Ok(pages),
            _ => Err(SpaceError::TooLarge(pages)),
        };
        if capacity == 0 {
            return Err(SpaceError::Empty);
        }
        Ok(Self { capacity: fits(capacity)?, footprint: fits(footprint)? })
    }

    /// How many pages fit, at least one.
    pub fn capacity(self) -> u32 {
        self.capacity
    }

    /// How many different pages there are. All page numbers are below it.
    pub fn footprint(self) -> u32 {
        self.footprint
    }

    /// A share of the capacity, rounded down.
    pub fn share(self, share: f64) -> u32 {
        (f64::from(self.capacity) * share) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_space_has_room_and_an_end() {
        assert_eq!(Space::new(0, 5), Err(SpaceError::Empty));
        assert_eq!(Space::new(1 << 32, 5), Err(SpaceError::TooLarge(1 << 32)));
        let space = Space::new(1_000, 5).unwrap();
        assert_eq!((space.capacity(), space.footprint()), (1_000, 5));
    }

    #[test]
    fn shares_are_rounded_down() {
        assert_eq!(Space::new(199, 5).unwrap().share(0.01), 1);
        assert_eq!(Space::new(99, 5).unwrap().share(0.01), 0);
    }
}
