//! Traces in every format: every valid one is written and read again.
//!
//! The last byte but one names the format, unless FUZZ_FORMAT does, and the last byte the options;
//! so any trace is a seed. A Parquet file needs its last bytes, so it is read completely and
//! written again.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use unjank_host::Bytes;
use unjank_measure::Monitor;
use unjank_swap::trace::convert::{self, To};
use unjank_swap::trace::{Event, Format, Names, Options, Stage, Trace};

struct Quiet;

impl Monitor for Quiet {
    fn progress(&self, _: f64, _: &str) {}

    fn stop_requested(&self) -> bool {
        false
    }
}

/// The only format that is read, if the environment names one.
static FORMAT: LazyLock<Option<Format>> =
    LazyLock::new(|| std::env::var("FUZZ_FORMAT").ok().map(|name| name.parse().expect("a format")));

/// The choice after all formats: detection from the content.
const AUTO: u8 = Format::ALL.len() as u8;

/// Columns that a user may name; the first means none.
const COLUMNS: [&str; 2] = ["", "time,id,offset,size,op,process"];

/// A request of 1 GiB has 262 144 events, and costs as much as a whole input.
const MAX_EVENTS: u64 = 1 << 19;

fuzz_target!(init: forgive_decoders(), |input: &[u8]| {
    let Some((bytes, [choice, how])) = parts(input) else { return };
    let options = Options {
        format: (*FORMAT)
            .or_else(|| Format::ALL.get(usize::from(*choice) % (usize::from(AUTO) + 1)).copied()),
        // For a table without a line of names, if the format is a table or detected.
        columns: COLUMNS.get(usize::from(how >> 5 & 1)).and_then(|columns| columns.parse().ok()),
        skip_bad: how & 1 != 0,
        device_size: (how & 2 != 0).then_some(Bytes(1 << 30)),
        swap_devices: if how & 4 != 0 { vec!["8,0".to_owned()] } else { Vec::new() },
        stage: [Stage::Auto, Stage::Queued, Stage::Issued, Stage::Completed][usize::from(how >> 6)],
        ..Options::default()
    };
    let Ok(mut trace) = Trace::from_memory("fuzz", bytes, &options) else { return };
    let mut events = Vec::new();
    loop {
        let Ok(more) = trace.read(&mut events, 1000) else { return };
        if trace.summary().events > MAX_EVENTS {
            return;
        }
        if !more {
            break;
        }
    }
    let summary = trace.summary();
    assert_eq!(summary.events, events.len() as u64);
    assert_eq!(summary.operations.iter().sum::<u64>(), summary.events);
    for event in &events {
        check(event, trace.names());
    }
    if how & 8 != 0 {
        come_back(bytes, &options, if how & 16 != 0 { To::Csv } else { To::Parquet }, &events);
    }
});

/// A panic of the crate that decodes Parquet is caught by our reader, and is not a finding. A panic
/// that is not caught still ends the process.
fn forgive_decoders() {
    let ends = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let file = panic.location().map_or("", |location| location.file());
        if !file.contains("/parquet-") {
            ends(panic);
        }
    }));
}

/// The trace, the number of its format, and bits of options.
fn parts(input: &[u8]) -> Option<(&[u8], &[u8; 2])> {
    if input.ends_with(b"PAR1") {
        return Some((input, &[AUTO, 8]));
    }
    input.split_last_chunk::<2>()
}

/// Names exist, and have no effect on a terminal.
fn check(event: &Event, names: &Names) {
    assert!((event.who.0 as usize) < names.processes().len());
    assert!(usize::from(event.space.0) < names.spaces().len());
    let (process, space) = (&names.process(event.who).name, names.space(event.space));
    assert!(!process.contains(char::is_control) && !space.contains(char::is_control));
}

/// The events come back from another format.
fn come_back(bytes: &[u8], options: &Options, to: To, expected: &[Event]) {
    let mut trace = Trace::from_memory("fuzz", bytes, options).expect("it was opened before");
    let mut written = Vec::new();
    let how = convert::Options { to, sort: false, force: false };
    convert::to_stream(&mut trace, &mut written, how, &Quiet).expect("it was read before");
    let format = if to == To::Csv { Format::Csv } else { Format::Parquet };
    let named = Options { format: Some(format), ..Options::default() };
    let mut again = Trace::from_memory("again", written, &named).expect("we wrote it");
    let mut events = Vec::new();
    while again.read(&mut events, 1000).expect("we wrote it") {}
    assert_eq!(events.len(), expected.len());
    for (read, expected) in events.iter().zip(expected) {
        // The first event of a trace is at zero; earlier events are moved there.
        assert_eq!((read.at, read.page), (expected.at, expected.page));
        assert_eq!((read.operation, read.backing), (expected.operation, expected.backing));
        let (read, expected) =
            (again.names().process(read.who), trace.names().process(expected.who));
        assert_eq!(read, expected);
    }
}
