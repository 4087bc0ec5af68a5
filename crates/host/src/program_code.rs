//! What lies at an address of another process: `/proc/PID/maps`, and the
//! symbols of the files that are mapped there.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};

use object::read::ReadCache;
use object::{Object as _, ObjectSegment as _, ObjectSymbol as _, SymbolKind};

use crate::error::Result;
use crate::root::Root;

/// Symbols of a larger file are not looked for.
const LARGEST: u64 = 1 << 30;

/// What `core::hint::spin_loop` and its kin are made of: PAUSE of x86; YIELD,
/// WFE, ISB and SB of ARM (*Arm Architecture Reference Manual*, C6.2).
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
    process: u32,
    regions: Vec<Region>,
}

/// Where an address lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file that is mapped there, the kernel's name of the region
    /// (`[vdso]`), or nothing: memory, which holds code that was made at run
    /// time.
    pub file: Option<String>,
    /// The address within the file, or the address itself.
    pub offset: u64,
    /// The function, where the file tells: demangled if it is one of Rust.
    pub function: Option<String>,
}

/// A line of `/proc/PID/maps` that may be executed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Region {
    start: u64,
    end: u64,
    offset: u64,
    name: Option<String>,
}

impl ProgramCode {
    /// The code that `process` has mapped now.
    ///
    /// # Errors
    /// `File` without the right to look (`ptrace(2)`, access mode
    /// `PTRACE_MODE_READ_FSCREDS`), or if the process has ended.
    pub fn of(root: &Root, process: u32) -> Result<Self> {
        let maps = root.read(format!("/proc/{process}/maps"))?;
        Ok(Self { process, regions: maps.lines().filter_map(Region::parse).collect() })
    }

    /// Where each of `addresses` lies. Each file is read once, whatever its
    /// size, up to 1 GiB.
    pub fn places(&self, root: &Root, addresses: &[u64]) -> BTreeMap<u64, Place> {
        let mut places = BTreeMap::new();
        let mut by_region: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        for &address in addresses {
            let place = Place { file: None, offset: address, function: None };
            places.insert(address, place);
            let holds = |region: &Region| (region.start..region.end).contains(&address);
            if let Some(region) = self.regions.iter().position(holds) {
                by_region.entry(region).or_default().push(address);
            }
        }
        for (region, addresses) in by_region {
            let region = &self.regions[region];
            let Some(name) = &region.name else { continue };
            let offset = |address: u64| address - region.start + region.offset;
            let offsets: Vec<u64> = addresses.iter().map(|&address| offset(address)).collect();
            let functions = self.open(root, region).and_then(|file| functions(file, &offsets));
            let mut functions = functions.unwrap_or_default();
            for address in addresses {
                let offset = offset(address);
                let function = functions.remove(&offset);
                places.insert(address, Place { file: Some(name.clone()), offset, function });
            }
        }
        places
    }

    /// Whether an instruction by which a program says that it spins lies in
    /// the `length` bytes from `address` on; `None` without the right to look
    /// (`ptrace(2)`, access mode `PTRACE_MODE_ATTACH_FSCREDS`).
    pub fn pauses(&self, root: &Root, address: u64, length: usize) -> Option<bool> {
        let memory = File::open(root.resolve(format!("/proc/{}/mem", self.process))).ok()?;
        let mut code = vec![0; length];
        memory.read_exact_at(&mut code, address).ok()?;
        let is_there = |pause: &&[u8]| code.windows(pause.len()).any(|bytes| bytes == *pause);
        Some(PAUSES.iter().any(is_there))
    }

    /// The file of a region: through the kernel's own link, for which one needs
    /// to be root, or by its name as the process sees it.
    fn open(&self, root: &Root, region: &Region) -> Option<File> {
        let name = region.name.as_ref().filter(|name| name.starts_with('/'))?;
        let link = format!("/proc/{}/map_files/{:x}-{:x}", self.process, region.start, region.end);
        let path = format!("/proc/{}/root{name}", self.process);
        [link, path].iter().find_map(|path| {
            let mut options = OpenOptions::new();
            options.read(true).custom_flags(libc::O_NONBLOCK);
            let file = options.open(root.resolve(path)).ok()?;
            let about = file.metadata().ok()?;
            (about.is_file() && about.len() <= LARGEST).then_some(file)
        })
    }
}

impl Region {
    /// `7f00-7f40 r-xp 00000000 fe:00 1234   /usr/lib/libc.so.6`: `proc_pid_maps(5)`.
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.splitn(6, ' ');
        let (start, end) = words.next()?.split_once('-')?;
        let executable = words.next()?.contains('x');
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        let offset = number(words.next()?)?;
        let name = words.nth(2).unwrap_or_default().trim_start();
        let name = (!name.is_empty()).then(|| name.to_owned());
        executable.then_some(Self { start: number(start)?, end: number(end)?, offset, name })
    }
}

/// The functions at these offsets of a program or library.
fn functions(file: File, offsets: &[u64]) -> Option<BTreeMap<u64, String>> {
    let cache = ReadCache::new(file);
    let program = object::File::parse(&cache).ok()?;
    let segments: Vec<_> = program.segments().map(|it| (it.address(), it.file_range())).collect();
    let address_of = |offset: u64| {
        segments.iter().find_map(|&(address, (start, size))| {
            let within = offset.checked_sub(start).filter(|within| *within < size)?;
            address.checked_add(within)
        })
    };
    let addresses: Vec<Option<u64>> = offsets.iter().map(|&offset| address_of(offset)).collect();
    let mut found: Vec<Option<(u64, String)>> = vec![None; offsets.len()];
    for symbol in program.symbols().chain(program.dynamic_symbols()) {
        if symbol.kind() != SymbolKind::Text || !symbol.is_definition() {
            continue;
        }
        let start = symbol.address();
        for (address, found) in addresses.iter().zip(&mut found) {
            let Some(address) = address else { continue };
            let holds = *address >= start && *address - start < symbol.size().max(1);
            if holds && found.as_ref().is_none_or(|(best, _)| start > *best) {
                *found = symbol.name().ok().map(|name| (start, demangle(name)));
            }
        }
    }
    let named = offsets.iter().zip(found);
    Some(named.filter_map(|(&offset, found)| Some((offset, found?.1))).collect())
}

/// A name of Rust without its hash; others as they are.
fn demangle(name: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(name))
}

/// Reads `text` as the memory map of a process; for the fuzzer.
#[cfg(fuzzing)]
pub fn parse_for_fuzzing(text: &str) {
    let regions: Vec<Region> = text.lines().filter_map(Region::parse).collect();
    let code = ProgramCode { process: 0, regions };
    let _places = code.places(&Root::at("/nonexistent"), &[0, 1 << 40, u64::MAX]);
}

/// The functions at these offsets of a program; for the fuzzer.
#[cfg(fuzzing)]
pub fn functions_for_fuzzing(file: File, offsets: &[u64]) -> BTreeMap<u64, String> {
    functions(file, offsets).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_be_executed_counts() {
        let line = "7f00a000-7f00f000 r-xp 00028000 fe:00 1234          /usr/lib/a b.so (deleted)";
        let region = Region::parse(line).unwrap();
        assert_eq!((region.start, region.end, region.offset), (0x7f00_a000, 0x7f00_f000, 0x28000));
        assert_eq!(region.name.as_deref(), Some("/usr/lib/a b.so (deleted)"));
        let memory = Region::parse("10-20 rwxp 00000000 00:00 0 ").unwrap();
        assert_eq!(memory.name, None);
        for other in ["10-20 rw-p 00000000 00:00 0", "", "10 r-xp 0 0 0", "x-y r-xp 0 0 0"] {
            assert_eq!(Region::parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_function_of_this_program_is_found() {
        let code = ProgramCode::of(&Root::system(), std::process::id()).unwrap();
        let here = a_function_of_this_program_is_found as fn() as usize as u64;
        let places = code.places(&Root::system(), &[here, 1]);
        let place = &places[&here];
        let function = place.function.as_deref().unwrap_or_default();
        assert!(function.ends_with("a_function_of_this_program_is_found"), "{place:?}");
        assert_eq!(place.file, std::env::current_exe().unwrap().to_str().map(str::to_owned));
        assert_eq!(places[&1], Place { file: None, offset: 1, function: None });
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

    #[test]
    fn what_is_no_program_has_no_functions() {
        let file = tempfile::tempfile().unwrap();
        assert!(functions(file, &[0]).is_none());
    }

    proptest::proptest! {
        #[test]
        fn any_line_is_taken(line in ".{0,120}") {
            let _either = Region::parse(&line);
        }

        #[test]
        fn any_bytes_are_a_program_or_not(bytes in proptest::collection::vec(0_u8.., 0..400)) {
            use std::io::Write as _;
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&[&b"\x7fELF\x02\x01\x01"[..], &bytes].concat()).unwrap();
            let _either = functions(file, &[0, 100]);
        }
    }
}
