//! Orders to a keeper.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unjank_host::keeper::read_order_for_fuzzing;

fuzz_target!(|line: &str| read_order_for_fuzzing(line));
