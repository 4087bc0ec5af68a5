//! Recordings in files: trace.dat of trace-cmd, the text of ftrace, and Perfetto's traces.
//!
//! The first byte chooses the form: as it is, or after a valid beginning.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unjank_host::tracefs::trace_file::read;

/// The beginning of a trace.dat of version 6.
const SIX: &[u8] = b"\x17\x08\x44tracing6\0\0\x08\x00\x10\0\0header_page\0";
/// The beginning of one of version 7, with zstd, whose options follow at once.
const SEVEN: &[u8] = b"\x17\x08\x44tracing7\0\0\x08\x00\x10\0\0zstd\x001\0\x21\0\0\0\0\0\0\0";
/// The beginning of a line of text.
const TEXT: &[u8] = b"a-5 [000] d.h2. 1.000000: sched_switch: ";

/// A Perfetto trace: a bundle of CPU 1 with the columns of a switch, then the beginning of another
/// packet.
const PERFETTO: &[u8] = b"\x0a\x1a\x0a\x18\x08\x01\x22\x14\x2a\x01a\x0a\x01\x64\x12\x01\x00\x1a\x01\x07\
    \x22\x01\x78\x32\x01\x00\x3a\x00\x0a";

fuzz_target!(|input: &[u8]| {
    let begin = match input.first() {
        Some(0) => SIX,
        Some(1) => SEVEN,
        Some(2) => TEXT,
        Some(3) => PERFETTO,
        _ => &[],
    };
    let rest = if begin.is_empty() { input } else { &input[1..] };
    let whole = [begin, rest].concat();
    if let Ok(recorded) = read(&whole) {
        for cpu in &recorded.trace.cpus {
            assert!(cpu.events.iter().is_sorted_by_key(|event| event.at));
            assert!(cpu.gaps.is_sorted_by_key(|gap| gap.from));
        }
        assert!(recorded.slices.is_sorted_by_key(|slice| slice.from));
        assert!(recorded.frames.iter().all(|frame| frame.from <= frame.to));
    }
});
