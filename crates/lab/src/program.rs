//! The guest's program: whether a file can be it.
//!
//! The guest has no libraries, so its program needs none: an ELF file for
//! this architecture without an interpreter (`elf(5)`).

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use unjank_host::{Error, Result};

/// Whether a program needs anything but the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Linkage {
    /// It runs alone.
    Static,
    /// It wants a dynamic linker.
    Dynamic,
}

/// `e_machine` of x86-64: `EM_X86_64`.
const X86_64: u16 = 62;
/// A segment that names a dynamic linker.
const PT_INTERP: u32 = 3;
/// No program has more segments.
const MOST_SEGMENTS: u16 = 128;

/// How the program in `file` is linked.
///
/// # Errors
/// `Invalid` for what is no program of this architecture.
pub fn linkage(file: &Path) -> Result<Linkage> {
    let failed = |error| Error::file("read", file, error);
    let not = |what: &str| Error::Invalid(format!("{} is not {what}", file.display()));
    let mut source = File::open(file).map_err(|error| failed(error).of_named_file())?;
    let mut header = [0; 64];
    source.read_exact(&mut header).map_err(|error| match error.kind() {
        ErrorKind::UnexpectedEof => not("a program"),
        _ => failed(error),
    })?;
    let half = |bytes: &[u8], at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    // Magic, 64 bits, little endian.
    if header[..6] != *b"\x7fELF\x02\x01" {
        return Err(not("a program"));
    }
    if half(&header, 18) != X86_64 {
        return Err(not("a program for x86-64"));
    }
    let table = u64::from_le_bytes(header[32..40].try_into().expect("eight bytes"));
    let (size, count) = (half(&header, 54), half(&header, 56));
    if size < 4 || count > MOST_SEGMENTS {
        return Err(not("a program that this unjank understands"));
    }
    for segment in 0..count {
        let offset = table.saturating_add(u64::from(segment) * u64::from(size));
        let mut kind = [0; 4];
        source.read_exact_at(&mut kind, offset).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => not("a whole program"),
            _ => failed(error),
        })?;
        if u32::from_le_bytes(kind) == PT_INTERP {
            return Ok(Linkage::Dynamic);
        }
    }
    Ok(Linkage::Static)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A header and so many segments of these kinds.
    fn program(kinds: &[u32]) -> Vec<u8> {
        let mut file = vec![0; 64];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        file[18] = X86_64 as u8;
        file[32] = 64;
        file[54] = 56;
        file[56] = kinds.len() as u8;
        for kind in kinds {
            file.extend(kind.to_le_bytes());
            file.extend([0; 52]);
        }
        file
    }

    fn linkage_of(bytes: &[u8]) -> Result<Linkage> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), bytes).unwrap();
        linkage(file.path())
    }

    #[test]
    fn an_interpreter_makes_the_difference() {
        assert_eq!(linkage_of(&program(&[6, 1, 1])).unwrap(), Linkage::Static);
        assert_eq!(linkage_of(&program(&[6, 3, 1])).unwrap(), Linkage::Dynamic);
    }

    #[test]
    fn what_is_no_program_is_told_apart() {
        let mut arm = program(&[1]);
        arm[18] = 183;
        let mut huge = program(&[1]);
        huge[57] = 255;
        let mut cut = program(&[1, 1]);
        cut.truncate(70);
        for (bytes, what) in [
            (b"#!/bin/sh\n".to_vec(), "is not a program"),
            (vec![b'#'; 100], "is not a program"),
            (arm, "is not a program for x86-64"),
            (huge, "is not a program that this unjank understands"),
            (cut, "is not a whole program"),
        ] {
            let told = linkage_of(&bytes).unwrap_err().to_string();
            assert!(told.ends_with(what), "{told}");
        }
    }
}
