//! Reads records of a known length from a stream.

use std::io::{self, BufRead};

/// Appends `length` bytes to `record`, or fewer at the end of the stream; returns how many.
pub(super) fn take(
    source: &mut dyn BufRead,
    record: &mut Vec<u8>,
    length: usize,
) -> io::Result<usize> {
    let mut missing = length;
    while missing > 0 {
        let buffer = match source.fill_buf() {
            Ok(buffer) => buffer,
            Err(why) if why.kind() == io::ErrorKind::Interrupted => continue,
            Err(why) => return Err(why),
        };
        if buffer.is_empty() {
            break;
        }
        let taken = missing.min(buffer.len());
        record.extend_from_slice(&buffer[..taken]);
        source.consume(taken);
        missing -= taken;
    }
    Ok(length - missing)
}
