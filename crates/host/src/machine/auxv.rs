//! The size of a page, from the auxiliary vector: `getauxval(3)`.

use crate::error::Result;
use crate::root::Root;
use unjank_units::Bytes;

/// The key of the page size, `include/uapi/linux/auxvec.h`.
const AT_PAGESZ: u64 = 6;

/// The size of a page on this machine.
pub(super) fn page_size(root: &Root) -> Result<Option<Bytes>> {
    match root.read_bytes("/proc/self/auxv") {
        Ok(bytes) => Ok(parse(&bytes)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Pairs of key and value, each a word of the machine that wrote them. A
/// recorded tree may come from a machine with another word size: with a wrong
/// guess, no size is a power of two.
pub(crate) fn parse(bytes: &[u8]) -> Option<Bytes> {
    let little = |word: &[u8]| word.iter().rev().fold(0, |n, &byte| n << 8 | u64::from(byte));
    let big = |word: &[u8]| word.iter().fold(0, |n, &byte| n << 8 | u64::from(byte));
    find(bytes, 8, little)
        .or_else(|| find(bytes, 4, little))
        .or_else(|| find(bytes, 8, big))
        .or_else(|| find(bytes, 4, big))
}

fn find(bytes: &[u8], word: usize, number: impl Fn(&[u8]) -> u64) -> Option<Bytes> {
    let mut pairs = bytes.chunks_exact(2 * word).map(|pair| pair.split_at(word));
    let (_, size) = pairs.find(|(key, _)| number(key) == AT_PAGESZ)?;
    Some(number(size)).filter(|size| size.is_power_of_two() && *size >= 1024).map(Bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_word_is_understood() {
        let pairs = [(33_u64, 0xb000_u64), (6, 16_384), (0, 0)];
        let write = |word: fn(u64) -> Vec<u8>| {
            let words = pairs.iter().flat_map(|&(key, value)| [word(key), word(value)]);
            words.flatten().collect::<Vec<u8>>()
        };
        let texts = [
            write(|n| n.to_le_bytes().into()),
            write(|n| n.to_be_bytes().into()),
            write(|n| (n as u32).to_le_bytes().into()),
            write(|n| (n as u32).to_be_bytes().into()),
        ];
        for text in texts {
            assert_eq!(parse(&text), Some(Bytes(16_384)), "{text:?}");
        }
    }

    #[test]
    fn nonsense_has_no_page_size() {
        assert_eq!(parse(b""), None);
        assert_eq!(parse(&[6; 64]), None);
        assert_eq!(parse(&[6, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0]), None);
    }
}
