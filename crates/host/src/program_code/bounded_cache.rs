//! Bounded reading of a program or library: another user may have written it, and its headers may
//! say that a table has any size.

use std::cell::Cell;
use std::fs::File;
use std::ops::Range;

use object::ReadRef;
use object::read::ReadCache;

/// The most that is read of one file, in bytes: a quarter of the largest file. A symbol takes 24
/// bytes, so this is a table of eleven million. The table is 6 % of this program with debug
/// information (200,000 symbols), and 3 % of LLVM's library (260,000).
const MOST: u64 = 256 << 20;
/// The memory that each part takes besides its bytes, about.
const PART: u64 = 96;

/// The parts of a file that were read. Beyond the limit, reads fail.
#[derive(Debug)]
pub(crate) struct BoundedCache {
    parts: ReadCache<File>,
    left: Cell<u64>,
}

impl BoundedCache {
    pub(crate) fn new(file: File) -> Self {
        Self { parts: ReadCache::new(file), left: Cell::new(MOST) }
    }

    /// Takes a part from what may still be read.
    fn spend(&self, bytes: u64) -> Result<(), ()> {
        let left = self.left.get().checked_sub(bytes.saturating_add(PART)).ok_or(())?;
        self.left.set(left);
        Ok(())
    }
}

impl<'data> ReadRef<'data> for &'data BoundedCache {
    fn len(self) -> Result<u64, ()> {
        (&self.parts).len()
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'data [u8], ()> {
        self.spend(size)?;
        (&self.parts).read_bytes_at(offset, size)
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'data [u8], ()> {
        // The cache keeps the bytes at once, but looks at no more than 4 KiB.
        self.spend(0)?;
        let bytes = (&self.parts).read_bytes_at_until(range, delimiter)?;
        self.spend(bytes.len() as u64)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_the_limit_is_read() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(3 * MOST).unwrap();
        let cache = BoundedCache::new(file);
        assert_eq!((&cache).len(), Ok(3 * MOST));
        assert!((&cache).read_bytes_at(0, MOST).is_err(), "it is too large");
        for part in 0..4 {
            assert!((&cache).read_bytes_at(part * 99, MOST / 5).is_ok(), "{part}");
        }
        assert!((&cache).read_bytes_at(0, MOST / 5 - 1).is_err(), "together they are too large");
        assert_eq!((&cache).read_bytes_at_until(7..99, 0), Ok(&[][..]));
    }
}
