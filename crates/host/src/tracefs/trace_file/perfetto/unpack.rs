//! Packets that are compressed in a packet: `TracePacket.compressed_packets` (zlib) and
//! `zstd_compressed_packets`.

use std::io::{self, Read};

use flate2::read::ZlibDecoder;

use super::super::fault::Fault;
use super::super::limits::Budget;

/// The largest decompressed size of one packet.
const LARGEST: u64 = 32 << 20;

/// Decompresses the content of the field with this number.
pub(super) fn unpack(field: u32, packed: &[u8], budget: &mut Budget) -> Result<Vec<u8>, Fault> {
    let unpacked = if field == 50 { of_zlib(packed) } else { of_zstd(packed) };
    let wrong = |why| Fault::of_file(format!("a packet cannot be decompressed: {why}"));
    let unpacked = unpacked.map_err(wrong)?;
    if unpacked.len() as u64 > LARGEST {
        return Err(Fault::of_file("a compressed packet is too large"));
    }
    budget.spend_unpacked(unpacked.len())?;
    Ok(unpacked)
}

fn of_zlib(packed: &[u8]) -> io::Result<Vec<u8>> {
    let mut unpacked = Vec::new();
    ZlibDecoder::new(packed).take(LARGEST + 1).read_to_end(&mut unpacked)?;
    Ok(unpacked)
}

fn of_zstd(packed: &[u8]) -> io::Result<Vec<u8>> {
    let mut unpacked = Vec::new();
    zstd::stream::read::Decoder::new(packed)?.take(LARGEST + 1).read_to_end(&mut unpacked)?;
    Ok(unpacked)
}
