//! Files that are compressed with gzip (RFC 1952).

use std::io::{self, Read as _};

use flate2::read::MultiGzDecoder;

use super::fault::Fault;
use super::limits::MOST_BYTES;
use crate::input::Stop;

/// The first bytes of a gzip file.
pub(super) const MAGIC: [u8; 2] = [0x1f, 0x8b];
/// The number of bytes that are decompressed between two checks for a stop request.
const PIECE: u64 = 16 << 20;

/// A decompressed file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unpacked {
    pub(super) bytes: Vec<u8>,
    /// Whether the compressed file ends within its data.
    pub(super) is_cut: bool,
}

/// The first `length` decompressed bytes of a file that begins with `bytes`, as far as these have
/// them.
pub(super) fn unpacked_start(bytes: &[u8], length: u64) -> Vec<u8> {
    let mut start = Vec::new();
    let _cut_off = MultiGzDecoder::new(bytes).take(length).read_to_end(&mut start);
    start
}

/// Decompresses a file.
pub(super) fn unpack(packed: &[u8], stop: &Stop) -> Result<Unpacked, Fault> {
    let mut decoder = MultiGzDecoder::new(packed);
    let mut bytes = Vec::new();
    loop {
        if stop.is_requested() {
            return Err(Fault::stopped());
        }
        match decoder.by_ref().take(PIECE).read_to_end(&mut bytes) {
            Ok(0) => return Ok(Unpacked { bytes, is_cut: false }),
            Ok(_) => {}
            Err(why) if why.kind() == io::ErrorKind::UnexpectedEof => {
                return Ok(Unpacked { bytes, is_cut: true });
            }
            Err(why) => return Err(Fault::of_file(format!("it cannot be decompressed: {why}"))),
        }
        if bytes.len() as u64 > MOST_BYTES.get() {
            return Err(Fault::of_file(format!("it has more than {MOST_BYTES} decompressed")));
        }
    }
}
