//! Compares the events of decoded ring-buffer pages with the text that the same
//! kernel printed for them.
// A test may fail by panicking, also in its setup.
#![allow(clippy::unwrap_used)]

mod tracefs_text;

use std::fs;
use std::path::{Path, PathBuf};

use unjank_host::Timestamp;
use unjank_host::tracefs::format::Format;
use unjank_host::tracefs::page::Layout;
use unjank_host::tracefs::{CpuTrace, Decoder, EventKind, Occupant};

const SCHEDULER: &str = "tracefs-6.18-x86_64";
const STORAGE: &str = "tracefs-6.18-x86_64-storage";

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

fn text(fixture_name: &str, name: &str) -> String {
    let bytes = fs::read(fixture(fixture_name).join(name)).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn decoder(fixture_name: &str) -> Decoder {
    let mut decoder = Decoder::default();
    for system in fs::read_dir(fixture(fixture_name).join("events")).unwrap().map(Result::unwrap) {
        let Ok(events) = fs::read_dir(system.path()) else { continue };
        let system = system.file_name().into_string().unwrap();
        for event in events.map(Result::unwrap) {
            let format = fs::read_to_string(event.path().join("format")).unwrap();
            decoder.learn(&system, &Format::parse(&format).unwrap()).unwrap();
        }
    }
    decoder
}

fn decoded(fixture_name: &str, cpu: usize) -> CpuTrace {
    let layout = Layout::parse(&text(fixture_name, "events/header_page")).unwrap();
    let pages = fs::read(fixture(fixture_name).join(format!("per_cpu/cpu{cpu}/trace_pipe_raw")));
    let pages = pages.unwrap();
    let mut trace = CpuTrace::new(cpu);
    for page in pages.chunks(layout.page_size()) {
        trace.push_page(&layout, &decoder(fixture_name), page).unwrap();
    }
    trace.finish(Timestamp::from_nanos(0), Timestamp::from_nanos(u64::MAX));
    trace
}

#[test]
fn every_event_is_what_the_kernel_says_it_is() {
    let text = text(SCHEDULER, "trace");
    for cpu in 0..2 {
        let trace = decoded(SCHEDULER, cpu);
        let printed = tracefs_text::of_cpu(&text, cpu);
        let decoded: Vec<String> =
            trace.events.iter().map(|event| tracefs_text::of_event(&event, cpu)).collect();
        assert!(printed.len() >= 40, "CPU {cpu}: {}", printed.len());
        assert_eq!(decoded, printed, "CPU {cpu}");
        assert_eq!((trace.undecoded, trace.gaps.len()), (0, 0));
    }
}

#[test]
fn every_event_of_storage_is_what_the_kernel_says_it_is() {
    let text = text(STORAGE, "trace");
    for cpu in 0..2 {
        let trace = decoded(STORAGE, cpu);
        let printed = tracefs_text::of_cpu(&text, cpu);
        let decoded: Vec<String> =
            trace.events.iter().map(|event| tracefs_text::of_event(&event, cpu)).collect();
        assert!(decoded.len() >= 40, "CPU {cpu}: {}", decoded.len());
        assert_eq!(decoded, printed[..decoded.len()], "CPU {cpu}");
        assert_eq!(trace.undecoded, 0);
    }
}

#[test]
fn the_recorded_hog_had_the_cpu_that_the_other_thread_waited_for() {
    let trace = decoded(SCHEDULER, 1);
    let woken = trace.events.iter().find_map(|event| match event.kind {
        EventKind::Waking { task, .. } if task.comm.as_bytes().starts_with(b"a ==> b") => {
            (event.current.0 != 0).then_some((task.tid, event.at))
        }
        _ => None,
    });
    let (victim, woken) = woken.unwrap();
    let ran = trace.events.iter().find_map(|event| match event.kind {
        EventKind::Switch { next, .. } if next.tid == victim && event.at > woken => Some(event.at),
        _ => None,
    });
    let stretches = trace.between(woken, ran.unwrap());
    let by_hog =
        |who: &Occupant| matches!(who, Occupant::Thread(task) if task.to_string() == "hog");
    assert!(by_hog(&stretches.last().unwrap().who));
    assert!(stretches.iter().all(|stretch| by_hog(&stretch.who)
        || matches!(stretch.who, Occupant::Vector(_) | Occupant::Softirq(_))));
}

#[test]
fn a_page_damaged_anywhere_is_decoded_or_refused() {
    let layout = Layout::parse(&text(SCHEDULER, "events/header_page")).unwrap();
    let decoder = decoder(SCHEDULER);
    let page = fs::read(fixture(SCHEDULER).join("per_cpu/cpu1/trace_pipe_raw")).unwrap();
    for byte in 0..page.len() {
        for damage in [0x1d, 0xff] {
            let mut page = page.clone();
            page[byte] ^= damage;
            let mut trace = CpuTrace::new(1);
            let _decoded_or_refused =
                trace.push_page(&layout, &decoder, &page[..layout.page_size()]);
            trace.finish(Timestamp::from_nanos(0), Timestamp::from_nanos(u64::MAX));
            assert!(trace.events.len() <= page.len() / 4);
            let end = Timestamp::from_nanos(u64::MAX);
            assert!(trace.between(Timestamp::from_nanos(0), end).len() <= 2 * page.len());
        }
    }
}
