//! Packets of a trace, read one after the other: a trace is one message, whose only field is the
//! repeated `packet`.

use std::io::{self, BufReader, Read};

use flate2::read::MultiGzDecoder;

use super::super::fault::Fault;
use super::super::gzip;
use super::super::limits::Budget;
use crate::input::{Stop, Stopped};

/// `Trace.packet`, a message: field 1, wire type 2.
const PACKET: u8 = 1 << 3 | 2;
/// The number of bytes by which text is told from packets.
const START: usize = 64;
/// The largest packet. The service's largest is a compressed one, below a megabyte.
const LARGEST: usize = 64 << 20;

/// Whether bytes begin as a Perfetto trace, or as a gzip file that contains one.
pub fn begins(bytes: &[u8]) -> bool {
    let is_plain = |bytes: &[u8]| bytes.first() == Some(&PACKET) && !looks_like_text(bytes);
    if bytes.starts_with(&gzip::MAGIC) {
        is_plain(&gzip::unpacked_start(bytes, START as u64))
    } else {
        is_plain(&bytes[..bytes.len().min(START)])
    }
}

/// A text may begin with an empty line, which is the byte of [`PACKET`]. A packet's length, and
/// then a field's tag, follow that byte; a trace has letters there, and no control characters.
fn looks_like_text(start: &[u8]) -> bool {
    start.iter().all(|byte| matches!(byte, b'\n' | b'\r' | b'\t' | b' '..=b'~'))
}

/// How a trace ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// After a whole packet.
    Whole,
    /// Within a packet, as in a file that was copied while it was written.
    WithinPacket,
}

/// Calls `each` with every packet and its position in the (decompressed) trace.
///
/// # Errors
/// Of the file, or of `each`.
pub(super) fn packets(
    input: impl Read,
    budget: &mut Budget,
    stop: &Stop,
    mut each: impl FnMut(&[u8], usize, &mut Budget) -> Result<(), Fault>,
) -> Result<End, Fault> {
    let mut input = BufReader::with_capacity(1 << 20, input);
    let is_packed = io::BufRead::fill_buf(&mut input).map_err(failed)?.starts_with(&gzip::MAGIC);
    if !is_packed {
        return plain(input, stop, |packet, at| each(packet, at, budget));
    }
    let input = BufReader::with_capacity(1 << 20, MultiGzDecoder::new(input));
    plain(input, stop, |packet, at| {
        budget.spend_unpacked(packet.len())?;
        each(packet, at, budget)
    })
}

fn plain(
    mut input: impl Read,
    stop: &Stop,
    mut each: impl FnMut(&[u8], usize) -> Result<(), Fault>,
) -> Result<End, Fault> {
    let (mut packet, mut at) = (Vec::new(), 0);
    loop {
        if stop.is_requested() {
            return Err(Fault::stopped());
        }
        let mut tag = [0];
        match input.read(&mut tag) {
            Ok(0) => return Ok(End::Whole),
            Err(why) if is_cut(&why) => return Ok(End::WithinPacket),
            read => drop(read.map_err(failed)?),
        }
        if tag != [PACKET] {
            return Err(Fault::at_byte(at, "expected a packet of a Perfetto trace"));
        }
        let Some((length, digits)) = length(&mut input)? else { return Ok(End::WithinPacket) };
        if length > LARGEST as u64 {
            return Err(Fault::at_byte(at, format!("a packet of {length} bytes is too large")));
        }
        packet.clear();
        let read = match input.by_ref().take(length).read_to_end(&mut packet) {
            Err(why) if is_cut(&why) => return Ok(End::WithinPacket),
            read => read.map_err(failed)?,
        };
        if (read as u64) < length {
            return Ok(End::WithinPacket);
        }
        each(&packet, at)?;
        at += 1 + digits + read;
    }
}

/// The length of a packet, and the number of its bytes; `None` at the end of the input.
fn length(input: &mut impl Read) -> Result<Option<(u64, usize)>, Fault> {
    let mut length = 0;
    for digit in 0..10 {
        let mut byte = [0];
        match input.read(&mut byte) {
            Ok(0) => return Ok(None),
            Err(why) if is_cut(&why) => return Ok(None),
            read => drop(read.map_err(failed)?),
        }
        length |= u64::from(byte[0] & 0x7f) << (7 * digit);
        if byte[0] < 0x80 {
            return Ok(Some((length, digit + 1)));
        }
    }
    // More digits than 64 bits have: larger than any packet.
    Ok(Some((u64::MAX, 10)))
}

/// Whether a gzip file ends within its data.
fn is_cut(why: &io::Error) -> bool {
    why.kind() == io::ErrorKind::UnexpectedEof
}

#[expect(clippy::needless_pass_by_value, reason = "the form of map_err")]
fn failed(why: io::Error) -> Fault {
    if Stopped::is(&why) { Fault::stopped() } else { Fault::of_file(why.to_string()) }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    type Packets = Vec<(usize, Vec<u8>)>;

    fn read(bytes: &[u8]) -> Result<(Packets, End), Fault> {
        let mut found = Vec::new();
        let end = packets(bytes, &mut Budget::default(), &Stop::default(), |packet, at, _| {
            found.push((at, packet.to_vec()));
            Ok(())
        })?;
        Ok((found, end))
    }

    #[test]
    fn packets_come_with_their_positions_from_a_plain_or_a_gzip_file() {
        let mut trace = vec![0x0a, 2, 7, 8, 0x0a, 0];
        trace.extend([0x0a, 0x80, 1]);
        trace.extend([9; 128]);
        let expected = vec![(0, vec![7, 8]), (4, vec![]), (6, vec![9; 128])];
        assert_eq!(read(&trace).unwrap(), (expected.clone(), End::Whole));
        let mut packed = Vec::new();
        // Two members, as in files that were joined.
        for part in [&trace[..3], &trace[3..]] {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(part).unwrap();
            packed.extend(encoder.finish().unwrap());
        }
        assert!(begins(&packed) && begins(&trace));
        assert_eq!(read(&packed).unwrap(), (expected, End::Whole));
        let (found, end) = read(&packed[..packed.len() - 20]).unwrap();
        assert!(found.len() <= 2);
        assert_eq!(end, End::WithinPacket, "a gzip file that was cut off");
        for length in [7, 8, 9, 100] {
            let (found, end) = read(&trace[..length]).unwrap();
            assert_eq!((found.len(), end), (2, End::WithinPacket), "{length}");
        }
    }

    #[test]
    fn what_is_no_trace_is_refused_with_its_position() {
        let fault = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
        assert_eq!(fault(&[0x0a, 1, 5, 0x12, 0]), "byte 3: expected a packet of a Perfetto trace");
        let huge = [0x0a, 0x80, 0x80, 0x80, 0x80, 0x10];
        assert_eq!(fault(&huge), "byte 0: a packet of 4294967296 bytes is too large");
        assert!(fault(&[&[0x0a][..], &[0xff; 12]].concat()).contains("too large"));
        let damaged = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xff, 0xff];
        assert!(fault(&damaged).contains("corrupt"), "{}", fault(&damaged));
        assert!(!begins(b"\n# tracer: nop\n#\n"), "text after an empty line");
    }

    #[test]
    fn a_gzip_file_that_expands_without_end_is_refused() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        let part = [&[0x0a, 0x80, 0x80, 0x40][..], &vec![0; 1 << 20]].concat();
        for _ in 0..3 {
            encoder.write_all(&part).unwrap();
        }
        let (bomb, mut budget) = (encoder.finish().unwrap(), Budget::with_unpacked(2_500_000));
        let stop = Stop::default();
        let fault = packets(bomb.as_slice(), &mut budget, &stop, |_, _, _| Ok(())).unwrap_err();
        assert!(fault.to_string().starts_with("its decompressed parts have more than"), "{fault}");
    }
}
