//! The function or variable at an address of another process, according to the
//! symbols of its mapped files, of their debug files, and of generated code.

mod bounded_cache;
mod debug_file;
mod demangle;
#[cfg(test)]
pub(crate) mod made_elf;
mod perf_map;
mod program_file;
mod segments;
mod stabbing_max;
mod symbols;

use std::collections::BTreeMap;
use std::fs::File;

pub(crate) use bounded_cache::BoundedCache;
pub(crate) use perf_map::{names as generated_functions, names_since as generated_functions_since};
pub(crate) use program_file::open_file;
pub(crate) use segments::Segments;
use symbols::{Positions, SymbolClass};

use crate::address_space::{AddressSpace, Region};
use crate::error::Result;
use crate::root::Root;

/// The spin-wait hint instructions, as of `core::hint::spin_loop`: PAUSE of
/// x86; YIELD, WFE, ISB and SB of ARM (*Arm Architecture Reference Manual*,
/// C6.2).
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
const PAUSES: &[&[u8]] = &[&[0xf3, 0x90]];
#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
const PAUSES: &[&[u8]] = &[
    &0xd503_203f_u32.to_le_bytes(),
    &0xd503_205f_u32.to_le_bytes(),
    &0xd503_3fdf_u32.to_le_bytes(),
    &0xd503_30ff_u32.to_le_bytes(),
];

/// The code of a process, as it is mapped at one moment.
#[derive(Debug, Clone, Default)]
pub struct ProgramCode {
    space: AddressSpace,
}

/// The location of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeLocation {
    /// The file that is mapped there, the kernel's name of the region
    /// (`[vdso]`), or `None` for anonymous memory, which holds generated code.
    pub file: Option<String>,
    /// The address within the file, or the address itself.
    pub offset: u64,
    /// The function, if the file, its debug file or `/tmp/perf-PID.map` names
    /// it; Rust names are demangled.
    pub function: Option<String>,
}

impl ProgramCode {
    /// The current code mappings of `process`.
    ///
    /// # Errors
    /// As [`AddressSpace::of`].
    pub fn of(root: &Root, process: u32) -> Result<Self> {
        Ok(Self { space: AddressSpace::of(root, process)? })
    }

    /// The locations of `addresses`. Each file up to 1 GiB is read once.
    pub fn locations(&self, root: &Root, addresses: &[u64]) -> BTreeMap<u64, CodeLocation> {
        let mut locations = BTreeMap::new();
        let mut by_region: BTreeMap<u64, (&Region, Vec<u64>)> = BTreeMap::new();
        let mut made = Vec::new();
        for &address in addresses {
            locations.insert(address, CodeLocation { file: None, offset: address, function: None });
            match self.space.region(address).filter(|region| region.executable) {
                Some(region) if region.name.is_some() => {
                    by_region.entry(region.start).or_insert((region, Vec::new())).1.push(address);
                }
                _ => made.push(address),
            }
        }
        for (region, addresses) in by_region.into_values() {
            let Some(name) = &region.name else { continue };
            let offset = |address: u64| (address - region.start).saturating_add(region.offset);
            let offsets: Vec<u64> = addresses.iter().map(|&address| offset(address)).collect();
            let file = self.open(root, region);
            let at = Positions::Offsets(&offsets);
            let names = file.and_then(|it| symbols::names(root, it, name, SymbolClass::Code, at));
            let mut names = names.unwrap_or_default();
            for address in addresses {
                let offset = offset(address);
                let function = names.remove(&offset).map(|(function, _)| function);
                locations
                    .insert(address, CodeLocation { file: Some(name.clone()), offset, function });
            }
        }
        if !made.is_empty() {
            let process = self.space.process();
            for (address, function) in perf_map::names(root, process, &made) {
                locations.entry(address).and_modify(|location| location.function = Some(function));
            }
        }
        locations
    }

    /// The variable of a program or library that contains this address, and the
    /// offset in it.
    pub fn variable(&self, root: &Root, address: u64) -> Option<(String, u64)> {
        // Zero-initialised data (.bss) follows the file's own regions.
        let before = |region: &&Region| region.start <= address && region.file().is_some();
        let region = self.space.regions().iter().rfind(before)?;
        // Segments begin within pages, so only the first one, which begins with
        // the file, gives the load offset of all of them.
        let same = |it: &&Region| (it.device, it.inode) == (region.device, region.inode);
        let first = |it: &&Region| same(it) && it.offset == 0 && it.start <= region.start;
        let first = self.space.regions().iter().rfind(first)?;
        let file = self.open(root, region)?;
        let distance = address - first.start;
        let at = Positions::Behind(0, std::slice::from_ref(&distance));
        symbols::names(root, file, region.file()?, SymbolClass::Data, at)?.remove(&distance)
    }

    /// Whether the `length` bytes from `address` on contain a spin-wait hint
    /// instruction; `None` without the permission to look (`ptrace(2)`, access
    /// mode `PTRACE_MODE_ATTACH_FSCREDS`).
    pub fn pauses(&self, root: &Root, address: u64, length: usize) -> Option<bool> {
        let code = self.space.bytes(root, address, length)?;
        let is_there = |pause: &&[u8]| code.windows(pause.len()).any(|bytes| bytes == *pause);
        Some(PAUSES.iter().any(is_there))
    }

    /// Opens the file of a region: through the kernel's own link, which needs
    /// root, or by its name as the process sees it.
    fn open(&self, root: &Root, region: &Region) -> Option<File> {
        let name = region.name.as_ref().filter(|name| name.starts_with('/'))?;
        let process = self.space.process();
        let link = format!("/proc/{process}/map_files/{:x}-{:x}", region.start, region.end);
        let path = format!("/proc/{process}/root{name}");
        [link, path].iter().find_map(|path| open_file(&root.resolve(path)))
    }
}

/// The functions at these offsets of a program or library, by its symbols and those
/// of its debug file. `path` is its path.
pub(crate) fn functions(
    root: &Root,
    program: File,
    path: &str,
    offsets: &[u64],
) -> BTreeMap<u64, String> {
    let found = symbols::names(root, program, path, SymbolClass::Code, Positions::Offsets(offsets));
    found.unwrap_or_default().into_iter().map(|(offset, (name, _))| (offset, name)).collect()
}

/// Parses `text` as the memory map of a process; for the fuzzer.
#[cfg(fuzzing)]
pub fn parse_for_fuzzing(text: &str) {
    let code = ProgramCode { space: AddressSpace::parse(0, text) };
    let root = Root::at("/nonexistent");
    let _places = code.locations(&root, &[0, 1 << 40, u64::MAX]);
    let _variable = code.variable(&root, 1 << 40);
}

/// The functions at these offsets of a program; for the fuzzer.
#[cfg(fuzzing)]
pub fn functions_for_fuzzing(file: File, offsets: &[u64]) -> BTreeMap<u64, String> {
    functions(&Root::at("/nonexistent"), file, "/program", offsets)
}

#[cfg(test)]
mod tests {
    use super::*;

    static A_VARIABLE: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

    #[test]
    fn a_variable_of_this_program_is_found() {
        let code = ProgramCode::of(&Root::system(), std::process::id()).unwrap();
        let address = std::ptr::from_ref(&A_VARIABLE) as u64;
        let (name, distance) = code.variable(&Root::system(), address + 4).unwrap();
        assert!(name.ends_with("A_VARIABLE") && distance == 4, "{name} + {distance}");
        assert_eq!(code.variable(&Root::system(), 1), None);
    }

    #[test]
    fn a_function_of_this_program_is_found() {
        let code = ProgramCode::of(&Root::system(), std::process::id()).unwrap();
        let here = a_function_of_this_program_is_found as fn() as usize as u64;
        let locations = code.locations(&Root::system(), &[here, 1]);
        let location = &locations[&here];
        let function = location.function.as_deref().unwrap_or_default();
        assert!(function.ends_with("a_function_of_this_program_is_found"), "{location:?}");
        assert_eq!(location.file, std::env::current_exe().unwrap().to_str().map(str::to_owned));
        assert_eq!(locations[&1], CodeLocation { file: None, offset: 1, function: None });
    }

    #[test]
    fn a_pause_is_seen() {
        let code = ProgramCode::of(&Root::system(), std::process::id()).unwrap();
        let mut bytes = vec![0x11_u8; 64];
        let look = |bytes: &[u8]| code.pauses(&Root::system(), bytes.as_ptr() as u64, bytes.len());
        assert_eq!(look(&bytes), Some(false));
        bytes[61..].iter_mut().zip(PAUSES[0]).for_each(|(byte, pause)| *byte = *pause);
        assert_eq!(look(&bytes), Some(PAUSES[0].len() == 2));
        assert_eq!(code.pauses(&Root::system(), 0, 64), None);
    }
}
