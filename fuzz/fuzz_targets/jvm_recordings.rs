//! Recordings of the measuring application in a JVM.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use unjank_jitter::jvm::label::label;
use unjank_jitter::jvm::recording::Recording;

fuzz_target!(|bytes: &[u8]| {
    let Ok(recording) = Recording::parse(bytes, Path::new("run.ujj")) else { return };
    assert!(recording.by_period().count() <= recording.lateness.len());
    for (period, late) in recording.lateness.iter().enumerate().take(100) {
        if let Some(late) = late {
            assert!(label(&recording, period, *late, None).covers <= *late);
        }
    }
});
