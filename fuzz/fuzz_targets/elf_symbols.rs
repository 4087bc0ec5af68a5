//! Symbols of programs and libraries: arbitrary bytes, and a program with bytes changed anywhere.

#![no_main]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use unjank_host::program_code;

/// A shared library with two functions, at offsets 0x10 and 0x40 of 16 bytes each.
static LIBRARY: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let library = library();
    let found = functions(&library, &[0x18, 0x40, 0x80]);
    assert_eq!(found, [(0x18, "main".to_owned()), (0x40, "foo::bar".to_owned())].into());
    library
});

fn functions(program: &[u8], offsets: &[u64]) -> BTreeMap<u64, String> {
    let mut file: File = tempfile::tempfile().expect("a file without a name");
    file.write_all(program).expect("room for it");
    program_code::functions_for_fuzzing(file, offsets)
}

fuzz_target!(|input: (&[u8], Vec<(u16, u8)>)| {
    let (bytes, changes) = input;
    let mut changed = LIBRARY.clone();
    for (at, byte) in changes {
        let at = usize::from(at) % changed.len();
        changed[at] = byte;
    }
    for program in [bytes, &changed] {
        let offsets = [0, 0x18, 0x40, 4096, program.len() as u64, 1 << 40, u64::MAX];
        assert!(functions(program, &offsets).keys().all(|offset| offsets.contains(offset)));
    }
});

/// *Tool Interface Standard: Executable and Linking Format*, for x86-64.
fn library() -> Vec<u8> {
    const NAMES: &[u8] = b"\0main\0_ZN3foo3bar17h0123456789abcdefE\0";
    const SYMBOLS_AT: u64 = 64 + 56;
    const NAMES_AT: u64 = SYMBOLS_AT + 3 * 24;
    let sections_at = NAMES_AT + NAMES.len() as u64;
    let mut bytes = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    let mut put = |fields: &[(u64, usize)]| {
        for (value, size) in fields {
            bytes.extend_from_slice(&value.to_le_bytes()[..*size]);
        }
    };
    // A library for x86-64, one segment, four sections of which the last has names.
    put(&[(3, 2), (62, 2), (1, 4), (0, 8), (64, 8), (sections_at, 8), (0, 4)]);
    put(&[(64, 2), (56, 2), (1, 2), (64, 2), (4, 2), (3, 2)]);
    // The segment: all of the file, at 0x1000.
    put(&[(1, 4), (5, 4), (0, 8), (0x1000, 8), (0x1000, 8), (0x1000, 8), (0x1000, 8), (0x1000, 8)]);
    // Symbols: none, and two functions in the first section.
    put(&[(0, 8), (0, 8), (0, 8)]);
    put(&[(1, 4), (0x12, 1), (0, 1), (1, 2), (0x1010, 8), (16, 8)]);
    put(&[(6, 4), (0x12, 1), (0, 1), (1, 2), (0x1040, 8), (16, 8)]);
    NAMES.iter().for_each(|byte| put(&[(u64::from(*byte), 1)]));
    // Sections: none, code, symbols, names.
    let mut section = |kind, flags, address, at, size: u64, link, entry| {
        put(&[(0, 4), (kind, 4), (flags, 8), (address, 8), (at, 8), (size, 8), (link, 4), (1, 4)]);
        put(&[(1, 8), (entry, 8)]);
    };
    section(0, 0, 0, 0, 0, 0, 0);
    section(1, 6, 0x1000, 0, 0x100, 0, 0);
    section(2, 0, 0, SYMBOLS_AT, 3 * 24, 3, 24);
    section(3, 0, 0, NAMES_AT, NAMES.len() as u64, 0, 0);
    bytes
}
