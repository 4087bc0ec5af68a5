//! Readiness datagrams (`sd_notify`) of programs.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unjank_host::notify::says_ready_for_fuzzing;

fuzz_target!(|datagram: &[u8]| {
    let text = String::from_utf8_lossy(datagram);
    assert_eq!(says_ready_for_fuzzing(datagram), text.split('\n').any(|line| line == "READY=1"));
});
