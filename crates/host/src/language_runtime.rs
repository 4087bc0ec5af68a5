//! The language runtime of a program, if it affects how its waits look from
//! outside.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;

use object::Object as _;
use object::read::ReadCache;

use crate::address_space::AddressSpace;
use crate::root::Root;

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
}

impl LanguageRuntime {
    /// Its name in messages.
    pub fn words(self) -> &'static str {
        match self {
            Self::HotSpot => "HotSpot",
            Self::CPython => "CPython",
            Self::Go => "Go",
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
    let program = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(root.resolve(format!("/proc/{process}/exe")));
    if program.is_ok_and(is_go) {
        found.insert(LanguageRuntime::Go);
    }
    found
}

fn by_file(path: &str) -> Option<LanguageRuntime> {
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    let name = path.rsplit('/').next().unwrap_or_default();
    // `python3.11`, `libpython3.11.so.1.0`, and not `python-config`.
    let version = name.strip_prefix("libpython").or_else(|| name.strip_prefix("python"));
    if name == "libjvm.so" {
        Some(LanguageRuntime::HotSpot)
    } else if version
        .is_some_and(|it| it.is_empty() || it.starts_with(|c: char| c.is_ascii_digit()))
    {
        Some(LanguageRuntime::CPython)
    } else {
        None
    }
}

/// Whether the program was built by Go: it has the sections that Go's runtime
/// needs.
fn is_go(program: File) -> bool {
    let cache = ReadCache::new(program);
    let Ok(program) = object::File::parse(&cache) else { return false };
    [".gopclntab", ".go.buildinfo"].iter().any(|name| program.section_by_name(name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_is_recognised_by_a_file_name() {
        use LanguageRuntime::{CPython, HotSpot};
        for (path, expected) in [
            ("/usr/lib/jvm/java-17/lib/server/libjvm.so", Some(HotSpot)),
            ("/usr/bin/python3.11", Some(CPython)),
            ("/opt/python", Some(CPython)),
            ("/usr/lib/libpython3.12.so.1.0 (deleted)", Some(CPython)),
            ("/usr/bin/python-config", None),
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
        assert!(!is_go(tempfile::tempfile().unwrap()));
    }
}
