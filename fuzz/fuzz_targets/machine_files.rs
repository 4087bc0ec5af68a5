//! The files of /proc, /sys and cgroups that describe a machine.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unjank_host::machine::fuzzing;

fuzz_target!(|file: &[u8]| fuzzing::parse(file));
