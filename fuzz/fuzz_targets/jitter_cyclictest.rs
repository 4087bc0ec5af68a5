//! cyclictest's files, whole ones and ones with any command line and threads:
//! whatever is read, its samples fit its threads'.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unjank_jitter::import::read;

fuzz_target!(|input: (&str, &str, &str)| {
    let (file, command_line, threads) = input;
    let built = format!(
        "{{\n\"cmdline:\": \"{command_line}\",\n\"resolution_in_ns\": 1,\n\"thread\": {{{threads}}}\n}}"
    );
    for text in [file, &built] {
        let Ok(imported) = read(text, "fuzz.json") else { continue };
        let findings = imported.findings();
        let singles: u64 = findings.series.iter().skip(1).map(|series| series.n).sum();
        assert!(findings.series.len() < 2 || findings.series[0].n == singles);
        assert!(findings.series.is_empty() != findings.unsupported.is_empty());
    }
});
