//! cyclictest's files: complete ones, and ones of any command line and threads. The total
//! number of samples must be the sum over all threads.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unjank_jitter::import::read;

fuzz_target!(|bytes: &[u8]| {
    let file = String::from_utf8_lossy(bytes);
    let (command_line, threads) = file.split_once('\n').unwrap_or((&file, ""));
    let built = format!(
        "{{\n\"cmdline:\": \"{command_line}\",\n\"resolution_in_ns\": 1,\n\"thread\": {{{threads}}}\n}}"
    );
    for text in [&*file, &built] {
        let Ok(imported) = read(text, "fuzz.json") else { continue };
        let findings = imported.findings();
        let singles: u64 = findings.series.iter().skip(1).map(|series| series.n).sum();
        assert!(findings.series.len() < 2 || findings.series[0].n == singles);
        assert!(findings.series.is_empty() != findings.unsupported.is_empty());
    }
});
