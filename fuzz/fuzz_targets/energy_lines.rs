//! Output of energy meters, and recordings of it.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use unjank_host::energy::format::{Format, Lines};
use unjank_host::energy::replay::Recorded;

fuzz_target!(|bytes: &[u8]| {
    let mut lines = Lines::default();
    lines.take(bytes, |line| {
        for format in [Format::SmartPower2, Format::SmartPower3] {
            if let Some(Ok(sample)) = line.map(|line| format.parse(line)) {
                assert!(sample.power.0.is_finite());
            }
        }
    });
    let text = String::from_utf8_lossy(bytes);
    if let Ok(recorded) = Recorded::parse(&text, Path::new("/log.csv")) {
        let end = recorded.length();
        assert!(recorded.reading(end).samples.good >= 2);
        assert!(recorded.reading(unjank_host::Nanos(end.get() / 2)).energy.0.is_finite());
    }
});
