//! Symbols of a program or library: `.symtab`, `.dynsym`, and those of its
//! debug file.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs::File;

use object::{ObjectSymbol as _, SymbolKind};

use super::bounded_cache::BoundedCache;
use super::debug_file;
use super::demangle::demangle;
use super::segments::Segments;
use super::stabbing_max::StabbingMax;
use crate::root::Root;

/// The kind of symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SymbolClass {
    /// Functions.
    Code,
    /// Variables.
    Data,
}

/// Positions in a program: offsets in its file, or its own addresses.
#[derive(Debug, Clone, Copy)]
pub(super) enum Positions<'a> {
    /// Offsets in the file.
    Offsets(&'a [u64]),
    /// Addresses relative to a byte of the file: its offset, and the distance
    /// from it in memory.
    Behind(u64, &'a [u64]),
}

/// The names at these positions of `program`, by the numbers in `at`; a
/// variable with the offset in it.
pub(super) fn names(
    root: &Root,
    program: File,
    path: &str,
    wanted: SymbolClass,
    at: Positions<'_>,
) -> Option<BTreeMap<u64, (String, u64)>> {
    let cache = BoundedCache::new(program);
    let program = object::File::parse(&cache).ok()?;
    let segments = Segments::of(&program);
    let addresses: BTreeMap<u64, u64> = match at {
        Positions::Offsets(offsets) => {
            offsets.iter().filter_map(|&it| Some((segments.address_of(it)?, it))).collect()
        }
        Positions::Behind(offset, distances) => {
            let start = segments.address_of(offset)?;
            distances.iter().filter_map(|&it| Some((start.checked_add(it)?, it))).collect()
        }
    };
    let asked: Vec<u64> = addresses.keys().copied().collect();
    let mut found = in_tables(&program, wanted, &asked);
    if found.len() < asked.len()
        && let Some(debug) = debug_file::open(root, &program, path)
    {
        let cache = BoundedCache::new(debug);
        let debug = object::File::parse(&cache).ok();
        let more = debug.map(|debug| in_tables(&debug, wanted, &asked)).unwrap_or_default();
        for (address, name) in more {
            found.entry(address).or_insert(name);
        }
    }
    let named = found
        .into_iter()
        .map(|(address, (start, name))| (addresses[&address], (name, address - start)));
    Some(named.collect())
}

/// The symbols that contain these addresses, with their starts; if there are
/// several, the one that begins last, and of those the first one.
fn in_tables<'data>(
    program: &impl object::Object<'data>,
    wanted: SymbolClass,
    asked: &[u64],
) -> BTreeMap<u64, (u64, String)> {
    let kind = match wanted {
        SymbolClass::Code => SymbolKind::Text,
        SymbolClass::Data => SymbolKind::Data,
    };
    let symbols = || {
        let all = program.symbols().chain(program.dynamic_symbols()).enumerate();
        all.filter(|(_, symbol)| symbol.kind() == kind && symbol.is_definition())
    };
    let mut best = StabbingMax::of(asked);
    for (number, symbol) in symbols() {
        let start = symbol.address();
        let end = start.saturating_add(symbol.size().max(1));
        best.add(&(start..end), (start, Reverse(number)));
    }
    let mut addresses: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    for (address, (_, Reverse(number))) in best.greatest() {
        addresses.entry(number).or_default().push(address);
    }
    let mut found = BTreeMap::new();
    for (number, symbol) in symbols() {
        let Some(addresses) = addresses.get(&number) else { continue };
        let Ok(name) = symbol.name().map(demangle) else { continue };
        let start = symbol.address();
        found.extend(addresses.iter().map(|address| (*address, (start, name.clone()))));
    }
    found
}

#[cfg(test)]
mod tests {
    use object::elf::{SHT_STRTAB, SHT_SYMTAB};

    use super::*;
    use crate::program_code::made_elf::{MadeSection, made_elf};

    fn this_program() -> File {
        File::open("/proc/self/exe").unwrap()
    }

    #[test]
    fn other_files_have_no_names() {
        let (root, file) = (Root::system(), tempfile::tempfile().unwrap());
        assert!(names(&root, file, "/a", SymbolClass::Code, Positions::Offsets(&[0])).is_none());
    }

    /// A function in section 1: `Elf64_Sym`.
    fn function(name: u32, start: u64, size: u64) -> Vec<u8> {
        let rest = [&[2_u8, 0, 1, 0][..], &start.to_le_bytes(), &size.to_le_bytes()].concat();
        [&name.to_le_bytes()[..], &rest].concat()
    }

    #[test]
    fn the_symbol_that_begins_last_counts() {
        let symbols = [
            vec![0; 24],
            function(1, 0x1000, 0x100),
            function(3, 0x1010, 0x10),
            function(5, 0x1010, 0x10),
            function(7, 0x1030, 0),
        ];
        let file = made_elf(&[
            MadeSection::new(".strtab", SHT_STRTAB, b"\0a\0b\0c\0d\0"),
            MadeSection::new(".symtab", SHT_SYMTAB, &symbols.concat()),
        ]);
        let program = object::File::parse(&file[..]).unwrap();
        let asked = [0xfff, 0x1000, 0x1015, 0x1020, 0x1030, 0x1031, 0x1100];
        let found = in_tables(&program, SymbolClass::Code, &asked);
        let found: Vec<_> = found.iter().map(|(at, (_, name))| (*at, name.as_str())).collect();
        let expected = [(0x1000, "a"), (0x1015, "b"), (0x1020, "a"), (0x1030, "d"), (0x1031, "a")];
        assert_eq!(found, expected);
        assert!(in_tables(&program, SymbolClass::Data, &asked).is_empty());
    }

    #[test]
    fn a_table_that_is_too_large_is_not_read() {
        let named = |size: u64| {
            let table = MadeSection { size, ..MadeSection::new(".symtab", SHT_SYMTAB, b"") };
            let mut bytes = made_elf(&[MadeSection::new(".strtab", SHT_STRTAB, b"\0"), table]);
            let file = tempfile::NamedTempFile::new().unwrap();
            bytes.push(0);
            std::fs::write(&file, bytes).unwrap();
            file.as_file().set_len(1 << 30).unwrap();
            let at = Positions::Offsets(&[0]);
            names(&Root::at("/nonexistent"), file.reopen().unwrap(), "/a", SymbolClass::Code, at)
        };
        assert_eq!(named(24 << 10), Some(BTreeMap::new()));
        assert_eq!(named(24 << 24), None);
    }

    #[test]
    fn an_offset_outside_all_segments_has_no_name() {
        let at = Positions::Offsets(&[u64::MAX]);
        let found = names(&Root::system(), this_program(), "/a", SymbolClass::Code, at);
        assert_eq!(found.unwrap().len(), 0);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_parsed(bytes in proptest::collection::vec(0_u8.., 0..400)) {
            use std::io::Write as _;
            let root = Root::at("/nonexistent");
            for at in [Positions::Offsets(&[0, 100]), Positions::Behind(0, &[0, u64::MAX])] {
                let mut file = tempfile::tempfile().unwrap();
                file.write_all(&[&b"\x7fELF\x02\x01\x01"[..], &bytes].concat()).unwrap();
                let _either = names(&root, file, "/a", SymbolClass::Data, at);
            }
        }
    }
}
