//! Symbols of a program or library: `.symtab`, `.dynsym`, and those of its
//! debug file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;

use object::read::ReadCache;
use object::{ObjectSymbol as _, SymbolKind};

use super::debug_file;
use super::demangle::demangle;
use super::segments::Segments;
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
    let cache = ReadCache::new(program);
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
    let asked: BTreeSet<u64> = addresses.keys().copied().collect();
    let mut found = in_tables(&program, wanted, &asked);
    if found.len() < asked.len()
        && let Some(debug) = debug_file::open(root, &program, path)
    {
        let cache = ReadCache::new(debug);
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
/// several, the one that begins last.
fn in_tables<'data>(
    program: &impl object::Object<'data>,
    wanted: SymbolClass,
    asked: &BTreeSet<u64>,
) -> BTreeMap<u64, (u64, String)> {
    let kind = match wanted {
        SymbolClass::Code => SymbolKind::Text,
        SymbolClass::Data => SymbolKind::Data,
    };
    let mut found: BTreeMap<u64, (u64, String)> = BTreeMap::new();
    for symbol in program.symbols().chain(program.dynamic_symbols()) {
        let start = symbol.address();
        if symbol.kind() != kind || !symbol.is_definition() {
            continue;
        }
        for &address in asked.range(start..start.saturating_add(symbol.size().max(1))) {
            if found.get(&address).is_none_or(|(best, _)| start > *best)
                && let Ok(name) = symbol.name()
            {
                found.insert(address, (start, demangle(name)));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn this_program() -> File {
        File::open("/proc/self/exe").unwrap()
    }

    #[test]
    fn other_files_have_no_names() {
        let (root, file) = (Root::system(), tempfile::tempfile().unwrap());
        assert!(names(&root, file, "/a", SymbolClass::Code, Positions::Offsets(&[0])).is_none());
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
