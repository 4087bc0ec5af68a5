//! Addresses of kernel functions, by name, and names by address.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use crate::error::{Error, Result};
use crate::root::Root;

const SYMBOLS: &str = "/proc/kallsyms";
/// The longest part of the file that is read, in bytes.
const LARGEST: u64 = 256 << 20;

/// The addresses of all functions named `name` in the kernel and its modules.
/// Empty without the permission to see them: the kernel shows zeroes to
/// ordinary users, and with `kernel.kptr_restrict=2` to everybody. Takes some
/// tens of milliseconds, as the file has 100,000 lines or more.
///
/// # Errors
/// `File` if `/proc/kallsyms` cannot be read: some kernels lack it.
pub fn addresses_of(root: &Root, name: &str) -> Result<Vec<u64>> {
    let path = Path::new(SYMBOLS);
    let error = |source: io::Error| Error::file("read", path, source);
    let file = root.open(path).map_err(error)?;
    search(BufReader::with_capacity(1 << 16, file.take(LARGEST)), name).map_err(error)
}

/// The functions that contain these addresses, by address: those of the kernel
/// and its modules. An address behind all functions has the last one. Takes as
/// long as [`addresses_of`], and yields nothing without its permission.
///
/// # Errors
/// `File` if `/proc/kallsyms` cannot be read.
pub fn names_of(root: &Root, addresses: &BTreeSet<u64>) -> Result<BTreeMap<u64, String>> {
    if addresses.is_empty() {
        return Ok(BTreeMap::new());
    }
    let path = Path::new(SYMBOLS);
    let error = |source: io::Error| Error::file("read", path, source);
    let file = root.open(path).map_err(error)?;
    name_all(BufReader::with_capacity(1 << 16, file.take(LARGEST)), addresses).map_err(error)
}

fn search(mut symbols: impl BufRead, name: &str) -> io::Result<Vec<u64>> {
    let mut found = Vec::new();
    let mut line = Vec::new();
    while symbols.read_until(b'\n', &mut line)? > 0 {
        let named = function(&line).filter(|(_, symbol)| *symbol == name.as_bytes());
        found.extend(named.map(|(address, _)| address));
        line.clear();
    }
    Ok(found)
}

fn name_all(
    mut symbols: impl BufRead,
    addresses: &BTreeSet<u64>,
) -> io::Result<BTreeMap<u64, String>> {
    // The lines are in no order. So each function is noted at the first address
    // that it can contain, unless a nearer one is, and addresses without one are
    // in the function of the address before.
    let mut nearest: BTreeMap<u64, (u64, String)> = BTreeMap::new();
    let mut line = Vec::new();
    while symbols.read_until(b'\n', &mut line)? > 0 {
        if let Some((start, name)) = function(&line)
            && let Some(&address) = addresses.range(start..).next()
            && nearest.get(&address).is_none_or(|(before, _)| *before < start)
        {
            nearest.insert(address, (start, String::from_utf8_lossy(name).into_owned()));
        }
        line.clear();
    }
    let mut names = BTreeMap::new();
    let mut last: Option<&str> = None;
    for &address in addresses {
        last = nearest.get(&address).map(|(_, name)| name.as_str()).or(last);
        names.extend(last.map(|name| (address, name.to_owned())));
    }
    Ok(names)
}

/// The address and name in a line `ffffffff81000000 t name [module]` about a
/// function whose address is shown.
fn function(line: &[u8]) -> Option<(u64, &[u8])> {
    let mut words = line.split(u8::is_ascii_whitespace);
    let (address, kind, symbol) = (words.next()?, words.next()?, words.next()?);
    if !matches!(kind, b"t" | b"T" | b"w" | b"W") {
        return None;
    }
    let address = u64::from_str_radix(str::from_utf8(address).ok()?, 16).ok()?;
    (address != 0).then_some((address, symbol))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_their_whole_name() {
        let symbols = "\
ffffffff8a001000 T dbs_work
ffffffff8a001234 t dbs_work_handler
ffffffff8a001300 d dbs_work_handler
ffffffffc0aa0010 t dbs_work_handler\t[cpufreq_governor]
ffffffff8a002000 T dbs_work_handler_of_another
";
        let found = search(symbols.as_bytes(), "dbs_work_handler").unwrap();
        assert_eq!(found, [0xffff_ffff_8a00_1234, 0xffff_ffff_c0aa_0010]);
    }

    #[test]
    fn hidden_addresses_are_ignored() {
        let symbols = "0000000000000000 t dbs_work_handler\nshort\n\nzz t dbs_work_handler";
        assert_eq!(search(symbols.as_bytes(), "dbs_work_handler").unwrap(), [0_u64; 0]);
    }

    #[test]
    fn the_file_is_that_of_the_root() {
        let top = tempfile::tempdir().unwrap();
        let root = Root::at(top.path());
        assert!(addresses_of(&root, "f").unwrap_err().is_not_found());
        std::fs::create_dir(top.path().join("proc")).unwrap();
        std::fs::write(top.path().join("proc/kallsyms"), "10 T f\n").unwrap();
        assert_eq!(addresses_of(&root, "f").unwrap(), [16]);
    }

    #[test]
    fn an_address_has_the_function_that_it_is_in() {
        let symbols = "\
ffffffffc0aa0010 t of_a_module\t[module]
ffffffff8a001000 T first
ffffffff8a001234 t second
ffffffff8a001300 d data
";
        let addresses = [0xffff_ffff_8a00_1000, 0xffff_ffff_8a00_1233, 0xffff_ffff_8a00_1299];
        let outside = [0x1000, 0xffff_ffff_8a00_1400, 0xffff_ffff_c0aa_0011];
        let all = addresses.into_iter().chain(outside).collect();
        let names = name_all(symbols.as_bytes(), &all).unwrap();
        let of = |address: u64| names.get(&address).map(String::as_str);
        assert_eq!(addresses.map(of), [Some("first"), Some("first"), Some("second")]);
        assert_eq!(outside.map(of), [None, Some("second"), Some("of_a_module")]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_searched(bytes in proptest::collection::vec(0_u8.., 0..200)) {
            let found = search(&bytes[..], "f").unwrap();
            assert!(found.len() <= bytes.len());
            assert!(name_all(&bytes[..], &BTreeSet::from([7, 16])).unwrap().len() <= 2);
        }
    }
}
