//! Decompresses sections.

use std::io::{self, Read};

use super::super::fault::Fault;
use super::super::limits::Budget;
use super::bytes::Cursor;

/// The largest part that is decompressed at once: trace-cmd compresses pages in
/// parts of some hundred kilobytes.
const MOST: usize = 256 << 20;

/// How the sections are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Algorithm {
    None,
    Zlib,
    Zstd,
}

impl Algorithm {
    pub(super) fn named(name: &str) -> Result<Self, Fault> {
        match name {
            "none" => Ok(Self::None),
            "zlib" => Ok(Self::Zlib),
            "zstd" => Ok(Self::Zstd),
            _ => Err(Fault::of_file(format!(
                "it is compressed with {name:?}; zlib and zstd are read"
            ))),
        }
    }

    /// Reads one compressed part: its two sizes, then its bytes.
    pub(super) fn part(
        self,
        cursor: &mut Cursor<'_>,
        budget: &mut Budget,
    ) -> Result<Vec<u8>, Fault> {
        let at = cursor.place();
        let packed = cursor.u32("size of a compressed part")?;
        let size = cursor.u32("size of a decompressed part")? as usize;
        if size > MOST {
            return Err(Fault::at_byte(at, format!("a part of {size} bytes is too large")));
        }
        budget.spend_unpacked(size)?;
        let packed = cursor.bytes(u64::from(packed), "a compressed part")?;
        let unpacked = self.decompress(packed, size);
        let unpacked =
            unpacked.map_err(|why| Fault::at_byte(at, format!("cannot be decompressed: {why}")))?;
        if unpacked.len() != size {
            return Err(Fault::at_byte(at, format!("expected {size} decompressed bytes")));
        }
        Ok(unpacked)
    }

    /// Decompresses at most `size` + 1 bytes, which is enough to detect a part that
    /// is too long.
    fn decompress(self, packed: &[u8], size: usize) -> io::Result<Vec<u8>> {
        let most = size as u64 + 1;
        let mut unpacked = Vec::new();
        match self {
            Self::None => return Ok(packed.to_vec()),
            Self::Zlib => {
                flate2::read::ZlibDecoder::new(packed).take(most).read_to_end(&mut unpacked)?
            }
            Self::Zstd => {
                zstd::Decoder::with_buffer(packed)?.take(most).read_to_end(&mut unpacked)?
            }
        };
        Ok(unpacked)
    }
}
