//! HotSpot's performance counters: the memory that a JVM maps for `jstat`,
//! `/tmp/hsperfdata_USER/PID`.
//!
//! It is read from the process's memory, as the file could be replaced by
//! anybody. Source: `perfMemory.hpp` of OpenJDK.

use crate::address_space::AddressSpace;
use crate::root::Root;

/// Larger than the counters of any JVM.
const LARGEST: u64 = 1 << 20;
/// The first four bytes, whatever the byte order.
const MAGIC: [u8; 4] = [0xca, 0xfe, 0xc0, 0xc0];
/// `entry_offset` and `num_entries` of `PerfDataPrologue`.
const FIRST: usize = 24;
const COUNT: usize = 28;
/// `name_offset`, `data_type` and `data_offset` of `PerfDataEntry`.
const NAME: usize = 4;
const TYPE: usize = 12;
const DATA: usize = 16;
/// Attempts to enter a monitor that was taken.
const CONTENDED: &str = "sun.rt._sync_ContendedLockAttempts";
/// Exits of a monitor that woke a waiting thread. If that thread finds the
/// monitor taken again, this is not counted as another attempt.
const WAKING_EXITS: &str = "sun.rt._sync_Parks";

/// The number of contended monitor attempts and of exits that woke a waiter in
/// `process`, since the JVM began. `None` if it is not a JVM or does not count
/// (`-XX:-UsePerfData`), and without the permission to read its memory.
pub fn contended_monitors(root: &Root, process: u32) -> Option<u64> {
    let space = AddressSpace::of(root, process).ok()?;
    let counters = space.regions().iter().find(|region| {
        region.shared && region.name.as_ref().is_some_and(|name| name.contains("/hsperfdata_"))
    })?;
    let length = usize::try_from((counters.end - counters.start).min(LARGEST)).ok()?;
    let memory = space.bytes(root, counters.start, length)?;
    Some(counter(&memory, CONTENDED)?.saturating_add(counter(&memory, WAKING_EXITS).unwrap_or(0)))
}

/// The counter with this name.
fn counter(memory: &[u8], wanted: &str) -> Option<u64> {
    memory.starts_with(&MAGIC).then_some(())?;
    let number = |at: usize| {
        let bytes = memory.get(at..at.checked_add(4)?)?;
        usize::try_from(u32::from_ne_bytes(bytes.try_into().ok()?)).ok()
    };
    let mut entry = number(FIRST)?;
    for _ in 0..number(COUNT)? {
        let length = number(entry)?;
        let name = memory.get(entry.checked_add(number(entry.checked_add(NAME)?)?)?..)?;
        let rest = name.strip_prefix(wanted.as_bytes());
        if rest.is_some_and(|rest| rest.starts_with(&[0])) {
            let at = entry.checked_add(number(entry + DATA)?)?;
            let value = memory.get(at..at.checked_add(8)?)?.try_into().ok()?;
            return (memory.get(entry + TYPE) == Some(&b'J')).then(|| u64::from_ne_bytes(value));
        }
        // An entry without a length would be read endlessly.
        entry = entry.checked_add(length).filter(|_| length > 0)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A counter's entry: its name begins at 20, its value follows.
    fn entry(name: &str, kind: u8, value: u64) -> Vec<u8> {
        let data = (20 + name.len() + 1).next_multiple_of(8);
        let mut entry = Vec::new();
        for number in [data + 8, 20, 0, usize::from(kind), data] {
            entry.extend((number as u32).to_ne_bytes());
        }
        entry.extend(name.as_bytes());
        entry.resize(data, 0);
        entry.extend(value.to_ne_bytes());
        entry
    }

    fn memory(entries: &[Vec<u8>]) -> Vec<u8> {
        let mut memory = MAGIC.to_vec();
        memory.resize(FIRST, 0);
        memory.extend(32_u32.to_ne_bytes());
        memory.extend((entries.len() as u32).to_ne_bytes());
        memory.extend(entries.concat());
        memory
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn a_counter_is_found_by_its_whole_name() {
        let memory = memory(&[entry("a.bc", b'J', 5), entry("a.b", b'J', 7), entry("s", b'B', 9)]);
        assert_eq!(counter(&memory, "a.b"), Some(7));
        assert_eq!(counter(&memory, "a"), None);
        assert_eq!(counter(&memory, "s"), None, "it is not a number");
        for cut in 0..memory.len() {
            let _either = counter(&memory[..cut], "a.b");
        }
        let mut endless = memory.clone();
        endless[32..36].fill(0);
        assert_eq!(counter(&endless, "a.b"), None);
    }

    #[test]
    fn other_processes_have_no_counters() {
        assert_eq!(contended_monitors(&Root::system(), std::process::id()), None);
        assert_eq!(counter(&[0; 64], CONTENDED), None);
    }

    proptest::proptest! {
        #[test]
        fn any_memory_is_parsed(bytes in proptest::collection::vec(0_u8.., 0..200)) {
            let _either = counter(&[&MAGIC[..], &bytes].concat(), "a");
        }
    }
}
