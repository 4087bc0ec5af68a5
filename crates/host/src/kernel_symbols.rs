//! Addresses of kernel functions, by name.

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
/// tens of milliseconds, as the file has 100 000 lines or more.
///
/// # Errors
/// `File` if `/proc/kallsyms` cannot be read: some kernels lack it.
pub fn addresses_of(root: &Root, name: &str) -> Result<Vec<u64>> {
    let path = Path::new(SYMBOLS);
    let error = |source: io::Error| Error::file("read", path, source);
    let file = root.open(path).map_err(error)?;
    search(BufReader::with_capacity(1 << 16, file.take(LARGEST)), name).map_err(error)
}

fn search(mut symbols: impl BufRead, name: &str) -> io::Result<Vec<u64>> {
    let mut found = Vec::new();
    let mut line = Vec::new();
    while symbols.read_until(b'\n', &mut line)? > 0 {
        found.extend(address(&line, name).filter(|address| *address != 0));
        line.clear();
    }
    Ok(found)
}

/// The address in a line `ffffffff81000000 t name [module]` if it is a function
/// with this name.
fn address(line: &[u8], name: &str) -> Option<u64> {
    let mut words = line.split(u8::is_ascii_whitespace);
    let (address, kind, symbol) = (words.next()?, words.next()?, words.next()?);
    if symbol != name.as_bytes() || !matches!(kind, b"t" | b"T") {
        return None;
    }
    u64::from_str_radix(str::from_utf8(address).ok()?, 16).ok()
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

    proptest::proptest! {
        #[test]
        fn any_text_is_searched(bytes in proptest::collection::vec(0_u8.., 0..200)) {
            let found = search(&bytes[..], "f").unwrap();
            assert!(found.len() <= bytes.len());
        }
    }
}
