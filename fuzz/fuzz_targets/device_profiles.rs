//! Device profiles: every valid one has a table of states for the phone's firmware.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unjank_lab::pstates::{MOST_CPUS, Profile};

fuzz_target!(|text: &str| {
    let Ok(profile) = Profile::parse(text, "fuzz.toml") else { return };
    for cpus in [1, MOST_CPUS] {
        let table = profile.table(cpus).expect("so many CPUs may be");
        let length = u32::from_le_bytes(table[4..8].try_into().expect("four bytes"));
        assert_eq!(length as usize, table.len());
        assert_eq!(table.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)), 0);
    }
});
