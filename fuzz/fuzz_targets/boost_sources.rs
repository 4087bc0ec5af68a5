//! Android's log, in arbitrary pieces.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unjank_launch::remedy::sources::LogLines;

fuzz_target!(|bytes: &[u8]| {
    let (length, bytes) = bytes.split_first().unwrap_or((&1, &[]));
    let mut whole = Vec::new();
    LogLines::default().take(bytes, |event| whole.push(event));
    let mut lines = LogLines::default();
    let mut pieces = Vec::new();
    for piece in bytes.chunks(usize::from(*length).max(1)) {
        lines.take(piece, |event| pieces.push(event));
    }
    assert_eq!(pieces, whole);
});
