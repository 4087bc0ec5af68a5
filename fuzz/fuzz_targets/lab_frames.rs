//! Frames from a virtual phone to its host, in arbitrary pieces.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unjank_lab::channel::Decoder;

fuzz_target!(|bytes: &[u8]| {
    let mut decoder = Decoder::default();
    for piece in bytes.chunks(7) {
        decoder.push(piece);
        loop {
            match decoder.next_frame() {
                Ok(Some(frame)) => {
                    let mut again = Decoder::default();
                    again.push(&frame.encode());
                    assert_eq!(again.next_frame(), Ok(Some(frame)));
                }
                Ok(None) => break,
                Err(_violation) => return,
            }
        }
    }
});
