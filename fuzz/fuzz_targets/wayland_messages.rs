//! What a Wayland client and its compositor send each other, in any pieces.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unjank_launch::bench::shows_window_for_fuzzing;

fuzz_target!(|pieces: Vec<(bool, Vec<u8>)>| {
    let _any_answer = shows_window_for_fuzzing(&pieces);
});
