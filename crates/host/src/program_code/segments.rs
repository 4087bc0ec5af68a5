//! The segments of an ELF file: from an offset in the file to the file's own address.

use object::{Object, ObjectSegment as _};

/// The most segments that are kept. The kernel starts no program with more: `load_elf_phdrs` of
/// `fs/binfmt_elf.c` reads at most 64 KiB of headers.
const MOST: usize = (64 << 10) / 56;

/// All segments of a file.
#[derive(Debug, Clone)]
pub(crate) struct Segments(Vec<Segment>);

#[derive(Debug, Clone, Copy)]
struct Segment {
    address: u64,
    offset: u64,
    size: u64,
}

impl Segments {
    pub(crate) fn of<'data>(file: &impl Object<'data>) -> Self {
        let segments = file.segments().map(|it| {
            let (offset, size) = it.file_range();
            Segment { address: it.address(), offset, size }
        });
        Self(segments.take(MOST).collect())
    }

    /// The file's own address of an offset; `None` outside of all segments.
    pub(crate) fn address_of(&self, offset: u64) -> Option<u64> {
        self.0.iter().find_map(|segment| {
            let within = offset.checked_sub(segment.offset).filter(|it| *it < segment.size)?;
            segment.address.checked_add(within)
        })
    }
}
