//! Records of stacks: mappings, forks and samples of any form.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unjank_host::Root;
use unjank_host::perf_event::StackRecords;
use unjank_host::sched::ThreadId;

fuzz_target!(|bytes: &[u8]| {
    let records = StackRecords::for_fuzzing(bytes);
    let threads = (0..=255).map(ThreadId).collect();
    let stacks = records.stacks_of(&Root::at("/nonexistent"), &threads);
    for stack in stacks.all() {
        assert!(stacks.frames_of(stack).all(|frame| !frame.text.contains(char::is_control)));
    }
});
