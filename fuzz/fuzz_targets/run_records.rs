//! Run records from elsewhere: read, checked, and rendered in every format.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unjank_measure::RunRecord;
use unjank_report::{TerminalStyle, html, markdown, terminal};

fuzz_target!(|file: &[u8]| {
    let text = String::from_utf8_lossy(file);
    let Ok(record) = RunRecord::from_json(&text, "a fuzzed record") else { return };
    for series in &record.findings.series {
        let _histogram_or_why_not = series.histogram();
    }
    for all in [false, true] {
        let shown = terminal(&record, &TerminalStyle { width: 80, colour: false, all });
        assert!(!shown.chars().any(|c| c.is_control() && c != '\n'));
    }
    let page = html(std::slice::from_ref(&record));
    assert!(!page.contains("<script"));
    assert!(!markdown(&record).is_empty());
});
