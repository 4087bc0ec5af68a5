//! What was measured.

use unjank_host::{Bytes, Nanos};
use unjank_measure::SeriesRecord;

/// What was measured.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// The pages of programs that were compressed, and the number of programs.
    pub sample: Option<(usize, usize)>,
    /// Every algorithm of zram; empty if none could be measured.
    pub compressors: Vec<Compressed>,
    /// The file system.
    pub file_system: Option<Storage>,
    /// The swap area on storage, if there is one.
    pub swap_area: Option<Storage>,
    /// What could not be measured, with the reasons.
    pub unsupported: Vec<(&'static str, String)>,
    /// Warnings that the numbers must be read with.
    pub warnings: Vec<String>,
}

/// An algorithm of zram.
#[derive(Debug, Clone)]
pub struct Compressed {
    /// Its name in `comp_algorithm`.
    pub algorithm: String,
    /// What it was given.
    pub original: Bytes,
    /// What it made of that. The allocator's partly filled pages, which hardly grow with the
    /// content, are not in it.
    pub compressed: Bytes,
    /// Times to compress a page.
    pub write: SeriesRecord,
    /// Times to bring one back.
    pub read: SeriesRecord,
    /// Pages read together, and the median time.
    pub groups: Vec<(usize, Nanos)>,
}

/// A place on storage.
#[derive(Debug, Clone)]
pub struct Storage {
    /// As in a sentence: `files in /home`.
    pub name: String,
    /// Times to read a page.
    pub read: SeriesRecord,
    /// Pages read together, and the median time.
    pub groups: Vec<(usize, Nanos)>,
}

impl Compressed {
    /// Bytes of programs in a byte of memory.
    pub fn ratio(&self) -> f64 {
        self.original.get() as f64 / self.compressed.get().max(1) as f64
    }
}

/// Times of reads by their length in pages.
#[derive(Debug, Default)]
pub(super) struct Groups(Vec<(usize, Vec<Nanos>)>);

impl Groups {
    pub(super) fn add(&mut self, pages: usize, taken: Nanos) {
        match self.0.iter_mut().find(|(length, _)| *length == pages) {
            Some((_, times)) => times.push(taken),
            None => self.0.push((pages, vec![taken])),
        }
    }

    pub(super) fn medians(self) -> Vec<(usize, Nanos)> {
        let median = |(pages, mut times): (usize, Vec<Nanos>)| {
            times.sort_unstable();
            (pages, times[times.len() / 2])
        };
        self.0.into_iter().map(median).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_each_length_is_kept() {
        let mut groups = Groups::default();
        for (pages, taken) in [(1, 5), (2, 9), (1, 7), (1, 6)] {
            groups.add(pages, Nanos(taken));
        }
        assert_eq!(groups.medians(), [(1, Nanos(6)), (2, Nanos(9))]);
    }
}
