//! Datagrams of the kernel's process connector.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unjank_host::process::connector::decode_for_fuzzing;

fuzz_target!(|bytes: &[u8]| decode_for_fuzzing(bytes));
