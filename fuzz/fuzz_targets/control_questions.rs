//! What is asked on a service's socket, in pieces as it comes: the pieces make no difference.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unjank_host::control_socket::read_line_for_fuzzing;

fuzz_target!(|bytes: &[u8]| {
    let (length, bytes) = bytes.split_first().unwrap_or((&1, &[]));
    read_line_for_fuzzing(bytes, usize::from(*length));
});
