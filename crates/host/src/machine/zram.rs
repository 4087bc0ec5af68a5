//! zram, compressed block devices in memory:
//! `Documentation/admin-guide/blockdev/zram.rst`.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::reader::{line, one_line};
use crate::error::{Error, Result};
use crate::root::Root;
use unjank_units::Bytes;

/// One zram device: `/sys/block/zram*`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Zram {
    /// `zram0` …
    pub name: String,
    /// `disksize`.
    pub size: Bytes,
    /// The compression algorithm in use; empty on kernels with only one.
    pub algorithm: String,
    /// Bytes stored, before compression (`mm_stat`).
    pub original: Bytes,
    /// Memory in use, with the allocator's overhead (`mm_stat`).
    pub memory: Bytes,
    /// The device that cold pages are written to, if any.
    pub backing_device: Option<String>,
}

/// The zram devices with a size; the others are not in use.
///
/// # Errors
/// `Parse` with the file.
pub fn devices(root: &Root) -> Result<Vec<Zram>> {
    let mut devices = Vec::new();
    for name in root.list("/sys/block")? {
        if name.strip_prefix("zram").is_none_or(|number| number.parse::<u32>().is_err()) {
            continue;
        }
        let device = one_device(root, name)?;
        if device.size > Bytes(0) {
            devices.push(device);
        }
    }
    Ok(devices)
}

/// The bytes that a device's content takes after compression. The allocator takes more: mostly
/// partly filled pages, of which it has about as many in a large device as in a small one.
///
/// # Errors
/// `Parse` with the file.
pub fn compressed(root: &Root, name: &str) -> Result<Bytes> {
    let dir = Path::new("/sys/block").join(name);
    let stat = dir.join("mm_stat");
    match root.read_if_there(&stat)? {
        Some(text) => {
            let [_, compressed, _] = parse_mm_stat(&text, &stat)?;
            Ok(Bytes(compressed))
        }
        // The name before Linux 4.1.
        None => root.read_number(dir.join("compr_data_size")).map(Bytes),
    }
}

fn one_device(root: &Root, name: String) -> Result<Zram> {
    let dir = Path::new("/sys/block").join(&name);
    let number = |file: &str| {
        root.read_number_if_there(dir.join(file)).map(Option::<u64>::unwrap_or_default)
    };
    let stat = dir.join("mm_stat");
    let (original, memory) = match root.read_if_there(&stat)? {
        Some(text) => {
            let [original, _, memory] = parse_mm_stat(&text, &stat)?;
            (original, memory)
        }
        // The names before Linux 4.1.
        None => (number("orig_data_size")?, number("mem_used_total")?),
    };
    let backing = line(root, dir.join("backing_dev"))?.filter(|device| device != "none");
    Ok(Zram {
        size: Bytes(number("disksize")?),
        algorithm: chosen(&line(root, dir.join("comp_algorithm"))?.unwrap_or_default()),
        original: Bytes(original),
        memory: Bytes(memory),
        backing_device: backing,
        name,
    })
}

/// Parses the first three numbers of bytes: stored, compressed, used in total.
pub(crate) fn parse_mm_stat(text: &str, path: &Path) -> Result<[u64; 3]> {
    let mut numbers = text.split_whitespace().map(str::parse::<u64>);
    match [numbers.next(), numbers.next(), numbers.next()] {
        [Some(Ok(original)), Some(Ok(compressed)), Some(Ok(memory))] => {
            Ok([original, compressed, memory])
        }
        _ => Err(Error::parse(path, 1, "expected numbers of bytes: stored, compressed, used")),
    }
}

/// The word in brackets: `lzo [lz4] zstd`; all words if none is.
fn chosen(words: &str) -> String {
    let inside = |text: &str| {
        let (_, rest) = text.split_once('[')?;
        let (chosen, _) = rest.split_once(']')?;
        Some(one_line(chosen))
    };
    inside(words).unwrap_or_else(|| words.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_read_in_their_order() {
        let parse = |text: &str| parse_mm_stat(text, Path::new("/sys/block/zram0/mm_stat"));
        assert_eq!(parse("  4096  74  12288 0 12288 0 0 0 0").unwrap(), [4096, 74, 12_288]);
        for text in ["", "4096", "4096 74", "x 1 2", "1 x 2", "1 2 x"] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with("cannot parse /sys/block/zram0/mm_stat, line 1"), "{error}");
        }
    }

    #[test]
    fn the_algorithm_in_brackets_is_the_one_in_use() {
        assert_eq!(chosen("lzo lzo-rle [lz4] zstd "), "lz4");
        assert_eq!(chosen("lzo"), "lzo");
        assert_eq!(chosen("]["), "][");
    }
}
