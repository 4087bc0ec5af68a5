//! The language runtime of a program, if it affects how its waits look from
//! outside.

use std::collections::BTreeSet;
use std::fs::File;

use memchr::memmem;
use object::{Object as _, ObjectSection as _};

use crate::address_space::AddressSpace;
use crate::program_code::{BoundedCache, open_file};
use crate::root::Root;

/// Larger sections are not searched.
const LARGEST_SECTION: u64 = 64 << 20;

/// A runtime with its own ways to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LanguageRuntime {
    /// OpenJDK's virtual machine: each thread sleeps on its own futex.
    HotSpot,
    /// Python's reference implementation: one lock for its interpreter.
    CPython,
    /// Go: goroutines wait inside the program; threads wait only if there is no
    /// goroutine to run.
    Go,
    /// tokio, Rust's: its tasks wait inside the program.
    Tokio,
    /// The virtual machine of Erlang: its processes wait inside the program.
    Beam,
}

impl LanguageRuntime {
    /// Its name in messages.
    pub fn words(self) -> &'static str {
        match self {
            Self::HotSpot => "HotSpot",
            Self::CPython => "CPython",
            Self::Go => "Go",
            Self::Tokio => "tokio",
            Self::Beam => "Erlang",
        }
    }
}

/// The runtimes in `process`, recognised by its mapped files and by the
/// sections of its program, which even a stripped one has. Empty without the
/// permission to look.
pub fn of(root: &Root, process: u32) -> BTreeSet<LanguageRuntime> {
    let space = AddressSpace::of(root, process).unwrap_or_default();
    let files = space.regions().iter().filter(|region| region.executable);
    let files = files.filter_map(|region| region.name.as_deref());
    let mut found: BTreeSet<LanguageRuntime> = files.filter_map(by_file).collect();
    let program = open_file(&root.resolve(format!("/proc/{process}/exe")));
    found.extend(program.and_then(by_program));
    found
}

fn by_file(path: &str) -> Option<LanguageRuntime> {
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    let name = path.rsplit('/').next().unwrap_or_default();
    // `python3.11`, `libpython3.11.so.1.0`, and not `python-config`.
    let version = name.strip_prefix("libpython").or_else(|| name.strip_prefix("python"));
    if name == "libjvm.so" {
        Some(LanguageRuntime::HotSpot)
    } else if name.starts_with("beam.") {
        Some(LanguageRuntime::Beam)
    } else if version
        .is_some_and(|it| it.is_empty() || it.starts_with(|c: char| c.is_ascii_digit()))
    {
        Some(LanguageRuntime::CPython)
    } else {
        None
    }
}

/// The runtime that was linked into a program. Go's has sections of its own; tokio's
/// has its functions, and in a stripped program the names of its source files, for
/// messages of panics.
fn by_program(program: File) -> Option<LanguageRuntime> {
    let cache = BoundedCache::new(program);
    let program = object::File::parse(&cache).ok()?;
    if [".gopclntab", ".go.buildinfo"].iter().any(|name| program.section_by_name(name).is_some()) {
        return Some(LanguageRuntime::Go);
    }
    let section = |name| {
        let section = program.section_by_name(name).filter(|it| it.size() <= LARGEST_SECTION);
        section.and_then(|it| it.data().ok()).unwrap_or_default()
    };
    let is_tokio = has_tokios(section(".strtab")) || names_tokio(section(".rodata"));
    is_tokio.then_some(LanguageRuntime::Tokio)
}

/// Whether one of these symbols, in either of Rust's manglings, is of tokio's runtime.
fn has_tokios(symbols: &[u8]) -> bool {
    memmem::find(symbols, b"5tokio7runtime").is_some()
}

/// Whether there is a path such as `tokio-1.48.0/src/task/spawn.rs`.
fn names_tokio(texts: &[u8]) -> bool {
    const CRATE: &[u8] = b"/tokio-1.";
    memmem::find_iter(texts, CRATE).any(|at| {
        let rest = &texts[at + CRATE.len()..];
        let version =
            rest.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
        version > 0 && rest[version..].starts_with(b"/src/")
    })
}

#[cfg(test)]
mod tests {
    use object::elf::{SHT_PROGBITS, SHT_STRTAB};

    use super::*;
    use crate::program_code::made_elf::{MadeSection, made_elf};

    #[test]
    fn a_runtime_is_recognised_by_the_sections_of_a_program() {
        let top = tempfile::tempdir().unwrap();
        let process = top.path().join("proc/7");
        std::fs::create_dir_all(&process).unwrap();
        let program = process.join("exe");
        let found = |sections: &[MadeSection<'_>]| {
            std::fs::write(&program, made_elf(sections)).unwrap();
            of(&Root::at(top.path()), 7)
        };
        let symbols = |content| MadeSection::new(".strtab", SHT_STRTAB, content);
        assert!(found(&[symbols(b"\0main\0")]).is_empty());
        let tokio = found(&[symbols(b"\0_ZN5tokio7runtime4park17h0123456789abcdefE\0")]);
        assert_eq!(tokio, BTreeSet::from([LanguageRuntime::Tokio]));
        let go = found(&[MadeSection::new(".gopclntab", SHT_PROGBITS, b"")]);
        assert_eq!(go, BTreeSet::from([LanguageRuntime::Go]));
        File::options().write(true).open(&program).unwrap().set_len(3 << 30).unwrap();
        assert!(of(&Root::at(top.path()), 7).is_empty(), "it is too large");
    }

    #[test]
    fn a_runtime_is_recognised_by_a_file_name() {
        use LanguageRuntime::{Beam, CPython, HotSpot};
        for (path, expected) in [
            ("/usr/lib/jvm/java-17/lib/server/libjvm.so", Some(HotSpot)),
            ("/usr/bin/python3.11", Some(CPython)),
            ("/opt/python", Some(CPython)),
            ("/usr/lib/libpython3.12.so.1.0 (deleted)", Some(CPython)),
            ("/usr/bin/python-config", None),
            ("/usr/lib/erlang/erts-15.2/bin/beam.smp", Some(Beam)),
            ("/usr/lib/libc.so.6", None),
            ("[vdso]", None),
        ] {
            assert_eq!(by_file(path), expected, "{path}");
        }
    }

    #[test]
    fn this_program_has_no_runtime() {
        assert!(of(&Root::system(), std::process::id()).is_empty());
        assert!(of(&Root::system(), u32::MAX).is_empty());
        assert_eq!(by_program(tempfile::tempfile().unwrap()), None);
    }

    #[test]
    fn tokio_has_its_name_in_symbols_or_texts() {
        assert!(has_tokios(b"_ZN5tokio7runtime4park6Inner4park17h0123456789abcdefE"));
        assert!(has_tokios(b"_RNvMs_NtNtCs1_5tokio7runtime4parkNtB4_5Inner4park"));
        assert!(!has_tokios(b"_ZN10tokio_util7runtime4parkE") && !has_tokios(b"main"));
        // Or the test would recognise itself.
        let path = |version: &str| format!("crates.io/tokio-{version}/src/task/spawn.rs");
        assert!(names_tokio(path("1.48.0").as_bytes()));
        assert!(!names_tokio(path("util-0.7.1").as_bytes()) && !names_tokio(b"/tokio-1."));
        assert!(!names_tokio(b"/tokio-1./src/"), "as constants of a program may lie side by side");
    }
}
