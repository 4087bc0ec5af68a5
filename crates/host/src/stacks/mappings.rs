//! The mapped file behind each address of a process.

use std::collections::BTreeMap;

/// A file with code, by its place in the list of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct FileNumber(pub(super) u32);

/// A range of addresses with code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mapping {
    pub(super) start: u64,
    /// The first address after it.
    pub(super) end: u64,
    /// `None` for generated code.
    pub(super) file: Option<FileNumber>,
    /// The offset in the file.
    pub(super) offset: u64,
}

/// The code of a process at one moment.
#[derive(Debug, Clone, Default)]
pub(super) struct Mappings {
    /// The mappings by first address; they do not overlap.
    by_start: BTreeMap<u64, Mapping>,
}

impl Mapping {
    /// The offset of an address in its file.
    pub(super) fn offset_of(&self, address: u64) -> u64 {
        self.offset.wrapping_add(address.wrapping_sub(self.start))
    }
}

impl Mappings {
    /// Adds a mapping, in the place of those that it overlaps.
    pub(super) fn map(&mut self, new: Mapping) {
        if new.start >= new.end {
            return;
        }
        let before = self.by_start.range(..new.start).next_back().map(|(_, it)| *it);
        let covered = self.by_start.range(new.start..new.end).map(|(_, it)| *it);
        let overlapped: Vec<Mapping> =
            before.into_iter().filter(|it| it.end > new.start).chain(covered).collect();
        for old in overlapped {
            self.by_start.remove(&old.start);
            if old.start < new.start {
                self.by_start.insert(old.start, Mapping { end: new.start, ..old });
            }
            if old.end > new.end {
                let offset = old.offset_of(new.end);
                self.by_start.insert(new.end, Mapping { start: new.end, offset, ..old });
            }
        }
        self.by_start.insert(new.start, new);
    }

    /// The mapping that an address lies in.
    pub(super) fn at(&self, address: u64) -> Option<&Mapping> {
        let (_, mapping) = self.by_start.range(..=address).next_back()?;
        (address < mapping.end).then_some(mapping)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(start: u64, end: u64, file: u32) -> Mapping {
        Mapping { start, end, file: Some(FileNumber(file)), offset: 0x100 }
    }

    #[test]
    fn a_new_mapping_replaces_what_it_covers() {
        let mut mappings = Mappings::default();
        mappings.map(mapping(0x1000, 0x9000, 1));
        mappings.map(mapping(0x3000, 0x4000, 2));
        let at = |mappings: &Mappings, address| {
            mappings.at(address).map(|it| (it.file.unwrap().0, it.offset_of(address)))
        };
        assert_eq!(at(&mappings, 0x2fff), Some((1, 0x20ff)));
        assert_eq!(at(&mappings, 0x3000), Some((2, 0x100)));
        assert_eq!(at(&mappings, 0x4000), Some((1, 0x3100)));
        assert_eq!((at(&mappings, 0xfff), at(&mappings, 0x9000)), (None, None));
        mappings.map(mapping(0x2000, 0x10000, 3));
        assert_eq!(at(&mappings, 0x1fff), Some((1, 0x10ff)));
        assert_eq!(at(&mappings, 0x3000), Some((3, 0x1100)));
        mappings.map(mapping(5, 5, 4));
        assert_eq!(mappings.by_start.len(), 2);
    }

    proptest::proptest! {
        #[test]
        fn mappings_never_overlap(all in proptest::collection::vec((0_u64..40, 0_u64..40), 0..20)) {
            let mut mappings = Mappings::default();
            for (number, (start, end)) in all.iter().enumerate() {
                mappings.map(mapping(*start, *end, number as u32));
            }
            let list: Vec<&Mapping> = mappings.by_start.values().collect();
            assert!(list.windows(2).all(|pair| pair[0].end <= pair[1].start), "{list:?}");
            for address in 0..40 {
                let last = all.iter().rposition(|(start, end)| (*start..*end).contains(&address));
                let found = mappings.at(address).map(|it| it.file.unwrap().0 as usize);
                assert_eq!(found, last);
            }
        }
    }
}
