//! The header of a `trace.dat`.

use super::super::fault::Fault;
use super::bytes::Cursor;
use super::unpack::Algorithm;

/// The first bytes of the file.
pub(super) const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// The content of the header.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) version: Version,
    /// The size of a page of the recorded machine, in bytes.
    pub(super) page_size: usize,
}

/// The version of the file.
#[derive(Debug)]
pub(super) enum Version {
    /// All parts follow one another.
    Six,
    /// The parts are sections, which may be compressed. The options contain their
    /// places; `options` is the place of the first section of options.
    Seven { algorithm: Algorithm, options: u64 },
}

impl Header {
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Self, Fault> {
        cursor.expect(MAGIC, "the first bytes of a trace.dat")?;
        let at = cursor.place();
        let version = cursor.text("version")?;
        if !matches!(version.as_str(), "6" | "7") {
            let what = format!("its version is {version:?}; versions 6 and 7 are read");
            return Err(Fault::at_byte(at, what));
        }
        let at = cursor.place();
        match cursor.bytes(1, "byte order")? {
            [0] => {}
            [1] => {
                let what = "it comes from a big-endian machine, which is not decoded";
                return Err(Fault::at_byte(at, what));
            }
            _ => return Err(Fault::at_byte(at, "expected a byte order of 0 or 1")),
        }
        let at = cursor.place();
        if !matches!(cursor.bytes(1, "size of a long")?, [4 | 8]) {
            return Err(Fault::at_byte(at, "expected a long of 4 or 8 bytes"));
        }
        let page_size = page_size(cursor)?;
        let version = if version == "6" {
            Version::Six
        } else {
            let name = cursor.text("name of the compression")?;
            let _version = cursor.text("version of the compression")?;
            let options = cursor.u64("place of the options")?;
            Version::Seven { algorithm: Algorithm::named(&name)?, options }
        };
        Ok(Self { version, page_size })
    }
}

/// Reads the size of a page: a power of two from 4 KiB to 1 MiB. Sub-buffers may be
/// larger than the machine's pages (`buffer_subbuf_size_kb`).
pub(super) fn page_size(cursor: &mut Cursor<'_>) -> Result<usize, Fault> {
    let at = cursor.place();
    let size = cursor.u32("size of a page")? as usize;
    if size.is_power_of_two() && (1 << 12..=1 << 20).contains(&size) {
        return Ok(size);
    }
    Err(Fault::at_byte(at, format!("expected a page size of 4 KiB to 1 MiB, found {size} bytes")))
}
