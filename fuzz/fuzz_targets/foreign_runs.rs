//! Results of other tools: whatever is read can be written as a record and read back.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unjank_measure::import::read;

/// How a file of each tool begins.
const HEADS: [&str; 5] = [
    "",
    "{\"fio version\": \"fio-3.33\", \"jobs\": [",
    "#[Histogram log format version 1.3]\n",
    "[{\"jmhVersion\": \"1.37\", ",
    "# RTLA timerlat histogram\n# Time unit is microseconds (us)\n",
];

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    for head in HEADS {
        let Some(Ok(foreign)) = read(&format!("{head}{text}"), "fuzz") else { continue };
        for series in &foreign.findings.series {
            assert_eq!(series.histogram().map(|histogram| histogram.len()).ok(), Some(series.n));
        }
    }
});
