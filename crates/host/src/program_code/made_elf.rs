//! Programs that tests make: elf(5).

use object::elf::{SHT_STRTAB, SectionType};

/// A section of a program.
pub(crate) struct MadeSection<'a> {
    pub(crate) name: &'a str,
    /// `sh_type`.
    pub(crate) kind: SectionType,
    pub(crate) content: &'a [u8],
    /// The size in its header; that of the last section may be larger than its content.
    pub(crate) size: u64,
}

impl<'a> MadeSection<'a> {
    pub(crate) fn new(name: &'a str, kind: SectionType, content: &'a [u8]) -> Self {
        Self { name, kind, content, size: content.len() as u64 }
    }
}

/// The bytes of a program with these sections and section 1, which has their names. Symbols have
/// their names in section 2.
pub(crate) fn made_elf(sections: &[MadeSection<'_>]) -> Vec<u8> {
    let own = MadeSection::new(".shstrtab", SHT_STRTAB, &[]);
    let mut names = vec![0];
    let starts: Vec<usize> = [&own]
        .into_iter()
        .chain(sections)
        .map(|section| {
            let start = names.len();
            names.extend(section.name.bytes().chain([0]));
            start
        })
        .collect();
    let own = MadeSection::new(own.name, own.kind, &names);
    let count = sections.len() + 2;
    let mut file = Vec::new();
    let mut put = |numbers: &[(u64, usize)]| {
        let bytes =
            numbers.iter().flat_map(|(number, size)| number.to_le_bytes()[..*size].to_vec());
        file.extend(bytes);
    };
    let magic = u64::from_le_bytes(*b"\x7fELF\x02\x01\x01\x00");
    put(&[(magic, 8), (0, 8), (2, 2), (62, 2), (1, 4), (0, 8), (0, 8), (64, 8), (0, 4)]);
    put(&[(64, 2), (56, 2), (0, 2), (64, 2), (count as u64, 2), (1, 2)]);
    put(&[(0, 8); 8]);
    let mut at = 64 * (count as u64 + 1);
    for (section, start) in [&own].into_iter().chain(sections).zip(starts) {
        put(&[(start as u64, 4), (section.kind.0.into(), 4), (0, 8), (0, 8), (at, 8)]);
        put(&[(section.size, 8), (2, 4), (0, 4), (1, 8), (24, 8)]);
        at += section.content.len() as u64;
    }
    for section in [&own].into_iter().chain(sections) {
        file.extend(section.content);
    }
    file
}
