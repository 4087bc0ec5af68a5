//! jitterdebugger's files, and histograms of any numbers.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unjank_host::sched::Priority;
use unjank_jitter::import::read;

fuzz_target!(|input: (&str, Vec<(u64, u64)>, u64, u64)| {
    let (file, buckets, max, beyond) = input;
    let lines: Vec<String> =
        buckets.iter().map(|(latency, times)| format!("\"{latency}\": {times}")).collect();
    let inside = buckets.iter().fold(0_u64, |sum, (_, times)| sum.saturating_add(*times));
    let built = format!(
        "{{\"version\": 3, \"sysinfo\": {{\"resolution_in_ns\": {}}}, \"cpu\": {{\n\"7\": {{\n\
         \"histogram\": {{{}}},\n\"count\": {},\n\"min\": 0,\n\"max\": {max},\n\"avg\": -nan\n}}}}}}",
        beyond % 2,
        lines.join(",\n"),
        inside.saturating_add(beyond),
    );
    for text in [file, &built] {
        let Ok(mut imported) = read(text, "fuzz.json") else { continue };
        let _may_be_known = Priority::new(80).map(|priority| imported.set_priority(priority));
        let findings = imported.findings();
        if let (true, Some(series)) = (text == built, findings.series.first()) {
            assert_eq!(series.n, inside + beyond);
        }
    }
});
