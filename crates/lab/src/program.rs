//! Programs for the guest, and their shared libraries.
//!
//! A program that names a dynamic linker (`PT_INTERP` of `elf(5)`) is packed
//! with it and with its libraries; the dynamic linker itself lists them, as for
//! `ldd(1)`.

use std::path::{Path, PathBuf};
use std::process::Command;

use object::elf::FileHeader64;
use object::read::elf::{FileHeader as _, ProgramHeader as _};
use object::{LittleEndian, elf};
use unjank_host::input::Stop;
use unjank_host::{Error, Result};

use crate::architecture::Architecture;
use crate::packed_file;

/// A program for the guest's processor.
#[derive(Debug)]
pub struct Program {
    file: PathBuf,
    architecture: Architecture,
    /// The bytes of its file, at most 1 GiB.
    pub content: Vec<u8>,
    /// The dynamic linker that it names; `None` for a static program.
    pub dynamic_linker: Option<PathBuf>,
}

/// A shared library that a program needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Library {
    /// The name by which programs request it: `libc.so.6`.
    pub name: String,
    /// Its path on this machine, according to the dynamic linker.
    pub file: PathBuf,
}

impl Program {
    /// Reads the program in `file`. `stop` ends the reading.
    ///
    /// # Errors
    /// `Invalid` for a file that is not a program of this architecture.
    pub fn read(file: &Path, architecture: Architecture, stop: &Stop) -> Result<Self> {
        let content = packed_file::read(file, stop)?;
        let dynamic_linker = dynamic_linker(&content, architecture)
            .map_err(|what| Error::Invalid(format!("{} is not {what}", file.display())))?;
        Ok(Self { file: file.to_owned(), architecture, content, dynamic_linker })
    }

    /// The shared libraries that it needs, directly or through others.
    ///
    /// # Errors
    /// `Unsupported` if its dynamic linker is unknown, `Invalid` if one of the
    /// libraries is not installed.
    pub fn libraries(&self) -> Result<Vec<Library>> {
        let Some(linker) = &self.dynamic_linker else { return Ok(Vec::new()) };
        let program = self.file.display();
        let known = self.architecture.dynamic_linkers();
        if !known.iter().any(|known| linker == Path::new(known)) {
            return Err(Error::Unsupported(format!(
                "{program} needs the dynamic linker {}, which unjank does not know; a static \
                 program (-static) needs none",
                linker.display()
            )));
        }
        if self.architecture != Architecture::default() {
            return Err(Error::Unsupported(format!(
                "{program} needs shared libraries, which this machine cannot list for {}; a static \
                 program (-static) needs none",
                self.architecture
            )));
        }
        // A path without a slash would be searched for among the libraries.
        let file = self.file.canonicalize().map_err(|e| Error::file("find", &self.file, e))?;
        let listed = Command::new(linker)
            .arg("--list")
            .arg(file)
            .env_remove("LD_PRELOAD")
            .output()
            .map_err(|error| Error::file("run", linker, error))?;
        let failed =
            |what: &str| Error::Invalid(format!("{program}: cannot list its libraries: {what}"));
        if !listed.status.success() {
            return Err(failed(String::from_utf8_lossy(&listed.stderr).trim()));
        }
        libraries(&String::from_utf8_lossy(&listed.stdout), known).map_err(|what| failed(&what))
    }
}

/// The dynamic linker that a program names. The error completes `… is not`.
fn dynamic_linker(content: &[u8], architecture: Architecture) -> Result<Option<PathBuf>, String> {
    let header: &FileHeader64<LittleEndian> =
        FileHeader64::parse(content).map_err(|_| "a program")?;
    let other = || format!("a program for {architecture}");
    let endian = header.endian().map_err(|_| other())?;
    if header.e_machine(endian) != architecture.elf() {
        return Err(other());
    }
    let segments = header.program_headers(endian, content).map_err(|_| "a whole program")?;
    let Some(segment) = segments.iter().find(|it| it.p_type(endian) == elf::PT_INTERP) else {
        return Ok(None);
    };
    let name = segment.interpreter(endian, content).map_err(|_| "a whole program")?;
    let name = name.and_then(|name| std::str::from_utf8(name).ok()).ok_or("a whole program")?;
    Ok(Some(PathBuf::from(name)))
}

/// Parses the list of a dynamic linker: `libm.so.6 => /lib/libm.so.6 (0x7f…)`
/// in each line, and lines without an arrow for itself and for the kernel's
/// part (`vdso(7)`).
fn libraries(listed: &str, linkers: &[&str]) -> Result<Vec<Library>, String> {
    let found = listed.lines().filter_map(|line| line.trim().split_once(" => "));
    // musl lists itself under the name of the C library, and as the linker that
    // the program names.
    let needed = found.filter(|(name, _)| !linkers.contains(name));
    needed
        .map(|(name, place)| {
            let file = place.rsplit_once(" (").map_or(place, |(file, _)| file);
            match Path::new(name).file_name().and_then(|name| name.to_str()) {
                Some(name) if file.starts_with('/') => {
                    Ok(Library { name: name.to_owned(), file: PathBuf::from(file) })
                }
                _ => Err(format!("{name}: {file}")),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header and segments of these kinds.
    fn program(kinds: &[u32]) -> Vec<u8> {
        let mut file = vec![0; 64];
        file[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        file[18] = elf::EM_X86_64.0 as u8;
        file[32] = 64;
        file[54] = 56;
        file[56] = kinds.len() as u8;
        let end = 64 + 56 * kinds.len() as u64;
        let name = b"/lib64/ld-linux-x86-64.so.2\0";
        for kind in kinds {
            let mut segment = [0; 56];
            segment[..4].copy_from_slice(&kind.to_le_bytes());
            segment[8..16].copy_from_slice(&end.to_le_bytes());
            segment[32..40].copy_from_slice(&(name.len() as u64).to_le_bytes());
            file.extend(segment);
        }
        file.extend(name);
        file
    }

    #[test]
    fn the_named_dynamic_linker_is_found() {
        assert_eq!(dynamic_linker(&program(&[6, 1, 1]), Architecture::X86_64), Ok(None));
        let found = dynamic_linker(&program(&[6, elf::PT_INTERP.0, 1]), Architecture::X86_64);
        assert_eq!(found, Ok(Some(PathBuf::from("/lib64/ld-linux-x86-64.so.2"))));
    }

    #[test]
    fn other_files_are_refused_with_a_reason() {
        let mut arm = program(&[1]);
        arm[18] = 183;
        let mut cut = program(&[1, 1]);
        cut.truncate(70);
        let mut nameless = program(&[elf::PT_INTERP.0]);
        nameless.truncate(64 + 56 + 3);
        for (bytes, what) in [
            (b"#!/bin/sh\n".to_vec(), "a program"),
            (vec![b'#'; 100], "a program"),
            (arm.clone(), "a program for x86-64"),
            (cut, "a whole program"),
            (nameless, "a whole program"),
        ] {
            assert_eq!(dynamic_linker(&bytes, Architecture::X86_64), Err(what.to_owned()));
        }
        assert_eq!(dynamic_linker(&arm, Architecture::Aarch64), Ok(None));
        let here = dynamic_linker(&program(&[1]), Architecture::Aarch64);
        assert_eq!(here, Err("a program for aarch64".to_owned()));
    }

    #[test]
    fn libraries_are_read_as_glibc_and_musl_list_them() {
        let linkers = Architecture::X86_64.dynamic_linkers();
        let library = |name: &str, file: &str| Library { name: name.into(), file: file.into() };
        let glibc = "\tlinux-vdso.so.1 (0x00007ffd)\n\
                     \tlibgcc_s.so.1 => /lib/x86_64-linux-gnu/libgcc_s.so.1 (0x00007f21)\n\
                     \tlibodd.so => /opt/a (b)/libodd.so (0x00007f21)\n\
                     \t/lib64/ld-linux-x86-64.so.2 (0x00007f22)\n";
        assert_eq!(
            libraries(glibc, linkers).unwrap(),
            [
                library("libgcc_s.so.1", "/lib/x86_64-linux-gnu/libgcc_s.so.1"),
                library("libodd.so", "/opt/a (b)/libodd.so"),
            ]
        );
        let musl = "\t/lib/ld-musl-x86_64.so.1 (0x7f3d)\n\
                    \tlibz.so.1 => /lib/libz.so.1 (0x7f3d)\n\
                    \tlibc.musl-x86_64.so.1 => /lib/ld-musl-x86_64.so.1 (0x7f3d)\n";
        assert_eq!(libraries(musl, linkers).unwrap().len(), 2);
        let missing = libraries("\tlibnone.so.3 => not found\n", linkers);
        assert_eq!(missing, Err("libnone.so.3: not found".to_owned()));
    }

    #[test]
    fn libraries_of_this_test_are_found() {
        let this = std::env::current_exe().unwrap();
        let this = Program::read(&this, Architecture::default(), &Stop::default()).unwrap();
        let libraries = this.libraries().unwrap();
        assert_eq!(this.dynamic_linker.is_none(), libraries.is_empty(), "{libraries:?}");
        assert!(libraries.iter().all(|library| library.file.is_file()), "{libraries:?}");
    }
}
