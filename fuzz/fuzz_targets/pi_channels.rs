//! Messages from a peer of a pi-channel, and memory that it offers as a lane.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unjank_pi_channel::fuzzing;

fuzz_target!(|bytes: &[u8]| {
    fuzzing::message(bytes);
    fuzzing::lane(bytes);
});
