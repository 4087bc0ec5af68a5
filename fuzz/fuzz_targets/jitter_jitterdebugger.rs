//! jitterdebugger's files: complete ones, and histograms of any numbers. Every wake-up must
//! be counted.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unjank_host::sched::Priority;
use unjank_jitter::import::read;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(mut imported) = read(&String::from_utf8_lossy(bytes), "fuzz.json") {
        let _may_be_known = Priority::new(80).map(|priority| imported.set_priority(priority));
        assert!(imported.findings().series.len() <= 1 + imported.threads());
    }
    let mut numbers = bytes.chunks_exact(8).map(|chunk| {
        let number = u64::from_le_bytes(chunk.try_into().unwrap_or_default());
        // Small numbers as well.
        number >> (number & 63)
    });
    let (beyond, more) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let mut latency = 0_u64;
    let mut inside = 0_u64;
    let mut lines = Vec::new();
    while let (Some(distance), Some(times)) = (numbers.next(), numbers.next()) {
        latency = latency.saturating_add(distance);
        inside = inside.saturating_add(times);
        lines.push(format!("\"{latency}\": {times}"));
    }
    let built = format!(
        "{{\"version\": 3, \"sysinfo\": {{\"resolution_in_ns\": {}}}, \"cpu\": {{\n\"7\": {{\n\
         \"histogram\": {{{}}},\n\"count\": {},\n\"min\": 0,\n\"max\": {},\n\"avg\": -nan\n}}}}}}",
        beyond % 2,
        lines.join(",\n"),
        inside.saturating_add(beyond),
        latency.saturating_add(more),
    );
    let Ok(imported) = read(&built, "fuzz.json") else { return };
    if let Some(series) = imported.findings().series.first() {
        assert_eq!(series.n, inside + beyond);
    }
});
