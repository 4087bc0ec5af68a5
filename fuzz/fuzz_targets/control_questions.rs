//! Requests on a service's socket, in arbitrary pieces, which make no difference.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unjank_host::control_socket::read_line_for_fuzzing;

fuzz_target!(|bytes: &[u8]| {
    let (length, bytes) = bytes.split_first().unwrap_or((&1, &[]));
    read_line_for_fuzzing(bytes, usize::from(*length));
});
