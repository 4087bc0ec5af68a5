//! A `trace.dat` that is written is read again.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::super::capture::Capture;
use super::super::decode::Decoder;
use super::super::format::Format;
use super::super::page::{Layout, Page};
use super::super::trace::{CpuTrace, Trace};
use super::*;
use crate::clock::Timestamp;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

/// A recorded trace, and the capture that an instance would have made of it.
fn capture(name: &str) -> (Trace, Capture) {
    let top = fixture(name);
    let text = |name: &str| {
        let bytes = fs::read(top.join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let layout = Layout::parse(&text("events/header_page")).unwrap();
    let mut decoder = Decoder::default();
    let mut formats = Vec::new();
    for system in fs::read_dir(top.join("events")).unwrap().map(Result::unwrap) {
        let Ok(events) = fs::read_dir(system.path()) else { continue };
        let system = system.file_name().into_string().unwrap();
        for event in events.map(Result::unwrap) {
            let format = fs::read_to_string(event.path().join("format")).unwrap();
            decoder.learn(&system, &Format::parse(&format).unwrap()).unwrap();
            formats.push((system.clone(), format));
        }
    }
    let cpus = (0..2).map(|cpu| {
        let pages = fs::read(top.join(format!("per_cpu/cpu{cpu}/trace_pipe_raw"))).unwrap();
        let cut = |page: &[u8]| page[..Page::length(&layout, page).unwrap()].into();
        (cpu, pages.chunks(layout.page_size()).map(cut).collect())
    });
    let statistics = (0..2).map(|cpu| (cpu, format!("overrun: {cpu}\ndropped events: 2\n")));
    let capture = Capture {
        layout,
        headers: [text("events/header_page"), String::new()],
        formats,
        clock: "local [mono] boot\n".to_owned(),
        cpus: cpus.collect(),
        statistics: statistics.collect(),
        recorded: (Timestamp::from_nanos(1), Timestamp::from_nanos(1 << 62)),
    };
    (decoded(&capture, &decoder), capture)
}

fn decoded(capture: &Capture, decoder: &Decoder) -> Trace {
    let mut trace = Trace::default();
    for (cpu, pages) in &capture.cpus {
        let mut events = CpuTrace::new(*cpu);
        for page in pages {
            assert!(
                page.len() < capture.layout.page_size(),
                "it is cut, and filled up in the file"
            );
            events.push_page(&capture.layout, decoder, page).unwrap();
        }
        events.finish(capture.recorded.0, capture.recorded.1);
        trace.cpus.push(events);
    }
    for (_, text) in &capture.statistics {
        trace.lost.add_stats(text).unwrap();
    }
    trace
}

fn annex(buffers: &[Buffer<'_>]) -> Annex {
    let recorded = buffers.iter().map(|buffer| {
        let (from, to) = buffer.capture.recorded();
        [from.as_nanos(), to.as_nanos()]
    });
    Annex {
        thread: 77,
        window: [3, 9],
        recorded: recorded.collect(),
        highest_khz: BTreeMap::from([(1, 2_800_000)]),
        start_khz: BTreeMap::from([(1, 1_400_000)]),
        ..Annex::default()
    }
}

/// A file with two buffers, its trace and its annex: one kernel recorded the
/// scheduler and storage, at different times.
fn written() -> (Vec<u8>, Trace, Annex) {
    let [(trace, machine), (more, storage)] =
        ["tracefs-6.18-x86_64", "tracefs-6.18-x86_64-storage"].map(capture);
    let trace = Trace::joined([trace, more]);
    let buffers =
        [Buffer { name: "", capture: &machine }, Buffer { name: "storage", capture: &storage }];
    let annex = annex(&buffers);
    let mut bytes = Vec::new();
    write(&mut bytes, &buffers, &trace, &annex).unwrap();
    (bytes, trace, annex)
}

#[test]
fn what_was_written_is_read_again() {
    let (bytes, trace, annex) = written();
    let recorded = read(&bytes).unwrap();
    assert_eq!(recorded.annex, Some(annex));
    assert_eq!(recorded.clock.as_deref(), Some("mono"));
    assert_eq!(recorded.trace.lost, trace.lost);
    assert!(trace.len() > 160);
    assert_eq!(recorded.trace.cpus.len(), trace.cpus.len());
    for (read, written) in recorded.trace.cpus.iter().zip(&trace.cpus) {
        assert_eq!((read.cpu, &read.events), (written.cpu, &written.events));
        assert_eq!(read.gaps, written.gaps);
    }
    assert_eq!(bytes.len() % 4096, 0, "the file consists of whole pages");
}

/// A file as trace-cmd writes it, without the times of the recordings.
fn foreign(machine: &Capture, instance: &Capture) -> Trace {
    let buffers =
        [Buffer { name: "", capture: machine }, Buffer { name: "storage", capture: instance }];
    let mut bytes = Vec::new();
    write(&mut bytes, &buffers, &Trace::default(), &Annex::default()).unwrap();
    read(&bytes).unwrap().trace
}

#[test]
fn a_buffer_without_events_hides_none_of_another() {
    let (trace, machine) = capture("tracefs-6.18-x86_64");
    let (first, last) = trace.span().unwrap();
    let empty = Capture { cpus: vec![(0, Vec::new()), (1, Vec::new())], ..machine.clone() };
    // Has events for a part of the time only.
    let few = Capture { cpus: vec![(0, machine.cpus[0].1[..1].to_vec())], ..machine.clone() };
    for (top, instance) in [(&machine, &empty), (&empty, &machine), (&machine, &few)] {
        let read = foreign(top, instance);
        assert_eq!(read.span(), Some((first, last)));
        assert!(!read.has_gap(first, last));
        assert!(read.has_gap(Timestamp::default(), first));
    }
}

#[test]
fn a_written_file_that_is_cut_off_is_refused() {
    let (bytes, ..) = written();
    for length in (0..bytes.len() - 4096).step_by(53) {
        assert!(read(&bytes[..length]).is_err(), "{length}");
    }
}

/// Otherwise half a million CPUs of all buffers could refer to one page, and each
/// reference would be decoded.
#[test]
fn pages_that_two_cpus_name_are_refused() {
    let (mut bytes, ..) = written();
    let table = bytes.windows(10).position(|it| it == b"flyrecord\0").unwrap() + 10;
    bytes.copy_within(table..table + 16, table + 16);
    let fault = read(&bytes).unwrap_err().to_string();
    assert!(fault.ends_with("these pages were named before"), "{fault}");
    // An overlap of one page is enough.
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let last = number(table) + number(table + 8) - 4096;
    bytes[table + 16..table + 24].copy_from_slice(&last.to_le_bytes());
    bytes[table + 24..table + 32].copy_from_slice(&4096_u64.to_le_bytes());
    let fault = read(&bytes).unwrap_err().to_string();
    assert_eq!(fault, format!("byte {last}: these pages were named before"));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

    #[test]
    fn a_damaged_file_is_read_or_refused(
        damage in proptest::collection::vec((0_usize..30_000, 0_u8..), 1..20),
    ) {
        let (mut bytes, ..) = written();
        for (at, byte) in damage {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        if let Ok(recorded) = read(&bytes) {
            proptest::prop_assert!(recorded.trace.len() <= bytes.len());
        }
    }

    #[test]
    fn any_bytes_behind_the_begin_are_read_or_refused(
        version in "[67]",
        rest in proptest::collection::vec(0_u8.., 0..200),
    ) {
        let head = [b"\x17\x08\x44tracing", version.as_bytes(), &[0, 0, 8, 0, 16, 0, 0]].concat();
        let _read_or_refused = read(&[head, rest].concat());
    }
}
