//! Lines of JSON, each with a checksum, in an append-only file.
//!
//! ```text
//! {"crc32":"1970e734","line":{"restored":{"seq":1}}}
//! ```
//!
//! The checksum is the CRC-32 of gzip and zlib, over the bytes of `line`. It
//! finds every change of up to three bits in a line of up to 11 KiB, and misses
//! one in four thousand million others. Files from before 2026-11-23 have lines
//! without a checksum, and begin with `{"schema":`.

use serde::Serialize;

const HEAD: &[u8] = b"{\"crc32\":\"";
const MIDDLE: &[u8] = b"\",\"line\":";
const TAIL: &[u8] = b"}";
/// Hexadecimal digits of a checksum.
const DIGITS: usize = 8;
/// The beginning of a file without checksums.
const UNCHECKED: &[u8] = b"{\"schema\":";

/// A damaged line: its checksum is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Damaged;

/// The lines of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lines<'a> {
    /// The text of each line, in order.
    pub(crate) texts: Vec<Result<&'a [u8], Damaged>>,
    /// The length in bytes to keep. The rest was cut off while it was written
    /// (or is a damaged line end), and was not acted upon.
    pub(crate) intact: u64,
}

/// `entry` as one line, with its line end.
pub(crate) fn line(entry: &impl Serialize) -> String {
    let text = serde_json::to_string(entry).expect("an entry has only string keys");
    let sum = crc32fast::hash(text.as_bytes());
    format!("{{\"crc32\":\"{sum:08x}\",\"line\":{text}}}\n")
}

/// Parses a file. A last line without its line end is skipped if it can be the
/// beginning of a line: its writer was killed, or the disk was full. Otherwise it
/// is damaged.
pub(crate) fn read(bytes: &[u8]) -> Lines<'_> {
    let unchecked = bytes.starts_with(UNCHECKED);
    let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let (lines, rest) = bytes.split_at(whole);
    let mut read = Lines { texts: Vec::new(), intact: bytes.len() as u64 };
    for line in lines.split_inclusive(|&byte| byte == b'\n') {
        let line = &line[..line.len() - 1];
        let plain = || Some(line).filter(|line| unchecked && !line.starts_with(HEAD));
        read.texts.push(checked(line).or_else(plain).ok_or(Damaged));
    }
    let before_last = &rest[..rest.len().saturating_sub(1)];
    if let Some(text) = checked(rest) {
        read.texts.push(Ok(text));
    } else if let Some(text) = checked(before_last) {
        // Only its line end is damaged.
        read.texts.push(Ok(text));
        read.intact -= 1;
    } else if can_begin_a_line(rest) || (unchecked && !rest.starts_with(HEAD)) {
        read.intact = whole as u64;
    } else {
        read.texts.push(Err(Damaged));
    }
    read
}

/// The text of a line, if its checksum is correct.
fn checked(line: &[u8]) -> Option<&[u8]> {
    let (sum, rest) = line.strip_prefix(HEAD)?.split_at_checked(DIGITS)?;
    let text = rest.strip_prefix(MIDDLE)?.strip_suffix(TAIL)?;
    (format!("{:08x}", crc32fast::hash(text)).as_bytes() == sum).then_some(text)
}

/// Whether `rest` can be the beginning of a line. It may also be that of the
/// first line of a file without checksums.
fn can_begin_a_line(rest: &[u8]) -> bool {
    let as_in = |fixed: &[u8], from: usize| {
        let part = rest.get(from..).unwrap_or_default();
        part.iter().zip(fixed).all(|(byte, fixed)| byte == fixed)
    };
    let sum = rest.iter().skip(HEAD.len()).take(DIGITS);
    let is_checked = as_in(HEAD, 0)
        && sum.clone().all(u8::is_ascii_hexdigit)
        && as_in(MIDDLE, HEAD.len() + DIGITS);
    is_checked || UNCHECKED.starts_with(rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file(texts: &[&str]) -> Vec<u8> {
        texts.iter().map(|text| line(&text)).collect::<String>().into_bytes()
    }

    fn texts(bytes: &[u8]) -> Vec<Option<String>> {
        let text = |text: &[u8]| String::from_utf8(text.to_owned()).unwrap();
        read(bytes).texts.into_iter().map(|each| each.ok().map(text)).collect()
    }

    #[test]
    fn a_line_is_as_documented() {
        let entry = serde_json::json!({"restored": {"seq": 1}});
        assert_eq!(line(&entry), "{\"crc32\":\"1970e734\",\"line\":{\"restored\":{\"seq\":1}}}\n");
        // The check value of this CRC-32: https://reveng.sourceforge.io/crc-catalogue/.
        assert_eq!(crc32fast::hash(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn a_flipped_bit_anywhere_is_damage_and_the_other_lines_are_read() {
        let whole = file(&["one", "two", "three"]);
        let ends: Vec<usize> = whole
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'\n')
            .map(|(at, _)| at)
            .collect();
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut flipped = whole.clone();
                flipped[at] ^= 1 << bit;
                let read = read(&flipped);
                if at == ends[2] {
                    // The last line is complete except for its end, which is cut off.
                    assert_eq!(texts(&flipped).len(), 3, "{at}.{bit}");
                    assert_eq!(read.intact, whole.len() as u64 - 1);
                    assert!(!read.texts.contains(&Err(Damaged)));
                    continue;
                }
                assert!(read.texts.contains(&Err(Damaged)), "{at}.{bit}: {read:?}");
                assert_eq!(read.intact, flipped.len() as u64, "nothing is cut off");
                let others = [(0..=ends[0], "one"), (ends[0] + 1..=ends[1], "two")];
                for (place, text) in others.iter().filter(|(place, _)| at > *place.end()) {
                    let wanted = Some(format!("{text:?}"));
                    assert!(texts(&flipped).contains(&wanted), "{place:?} {at}.{bit}");
                }
            }
        }
    }

    #[test]
    fn a_line_that_was_cut_off_is_skipped_and_is_not_damage() {
        let whole = file(&["one", "two"]);
        let first = file(&["one"]).len();
        for cut in first..whole.len() {
            let read = read(&whole[..cut]);
            let is_there = cut == whole.len() - 1;
            assert_eq!(read.texts.len(), if is_there { 2 } else { 1 }, "{cut}");
            assert_eq!(read.intact, if is_there { cut } else { first } as u64);
            assert!(!read.texts.contains(&Err(Damaged)));
        }
    }

    #[test]
    fn a_rest_that_cannot_begin_a_line_is_damage() {
        let mut bytes = file(&["one"]);
        for rest in ["\0\0\0", "x", "{\"crc32\":\"0123x", "{\"crc32\":\"01234567\";"] {
            let length = bytes.len();
            bytes.extend(rest.as_bytes());
            assert_eq!(read(&bytes).texts[1], Err(Damaged), "{rest}");
            bytes.truncate(length);
        }
        assert_eq!(read(b"no file of ours").texts, [Err(Damaged)]);
    }

    #[test]
    fn a_file_without_checksums_is_still_read() {
        let old = b"{\"schema\":1}\n{\"settled\":2}\n{\"sett";
        let read = read(old);
        assert_eq!(read.texts, [Ok(&old[..12]), Ok(&old[13..26])]);
        assert_eq!(read.intact, 27);
        // Lines that are appended to it have checksums.
        let mut longer = old[..27].to_vec();
        longer.extend(file(&["three"]));
        assert_eq!(texts(&longer)[2], Some("\"three\"".to_owned()));
        longer[40] ^= 1;
        assert_eq!(super::read(&longer).texts[2], Err(Damaged));
        assert_eq!(super::read(b"{\"sch").intact, 0, "it was cut off in its first line");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let read = read(&bytes);
            prop_assert!(read.intact <= bytes.len() as u64);
        }

        #[test]
        fn written_lines_are_read(all in prop::collection::vec(".{0,40}", 0..6)) {
            let all: Vec<&str> = all.iter().map(String::as_str).collect();
            let wanted: Vec<_> = all.iter().map(|text| Some(serde_json::to_string(text).unwrap())).collect();
            prop_assert_eq!(texts(&file(&all)), wanted);
        }
    }
}
