//! One launch that trace-cmd recorded, read from each form of file.
// A test may fail by panicking, also in its setup.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::Ordering;

use flate2::Compression;
use flate2::write::GzEncoder;
use unjank_host::input::Stop;
use unjank_host::tracefs::trace_file::{Fault, Recorded, read, read_until};
use unjank_host::tracefs::{Context, Event, EventKind, StorageEvent};

const FORMS: [&str; 4] = ["launch.v6.dat", "launch.v7.dat", "launch.v7.zlib.dat", "launch.txt"];

fn bytes(name: &str) -> Vec<u8> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/trace-file");
    fs::read(fixtures.join(name)).unwrap()
}

fn events(recorded: &Recorded) -> Vec<(usize, Event)> {
    let cpus = recorded.trace.cpus.iter();
    cpus.flat_map(|cpu| cpu.events.iter().map(|event| (cpu.cpu, event))).collect()
}

fn fault(bytes: &[u8]) -> String {
    read(bytes).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn a_stop_request_ends_the_reading_of_every_form() {
    let stop = Stop::default();
    for name in FORMS {
        assert!(read_until(&bytes(name), &stop).is_ok(), "{name}");
    }
    stop.flag().store(true, Ordering::Relaxed);
    for name in FORMS {
        assert!(read_until(&bytes(name), &stop).unwrap_err().is_stop(), "{name}");
    }
}

#[test]
fn every_form_has_the_same_events() {
    let first = read(&bytes(FORMS[0])).unwrap();
    assert_eq!(first.clock.as_deref(), Some("mono"));
    assert_eq!(first.architecture.as_deref(), Some("x86_64"));
    let expected = events(&first);
    assert_eq!(expected.len(), 133);
    for name in FORMS {
        let recorded = read(&bytes(name)).unwrap();
        assert_eq!(events(&recorded), expected, "{name}");
        assert!(recorded.annex.is_none() && recorded.notes.is_empty(), "{name}");
        let gaps: Vec<_> = recorded.trace.cpus.iter().map(|cpu| cpu.gaps.clone()).collect();
        let same: Vec<_> = first.trace.cpus.iter().map(|cpu| cpu.gaps.clone()).collect();
        assert_eq!(gaps, same, "{name}");
    }
}

#[test]
fn a_recording_may_be_compressed_and_cut_off() {
    for name in FORMS {
        let whole = read(&bytes(name)).unwrap();
        let packed = packed(&bytes(name));
        let recorded = read(&packed).unwrap();
        assert_eq!(events(&recorded), events(&whole), "{name}");
        assert!(recorded.notes.is_empty(), "{name}");
    }
    let packed = packed(&bytes("launch.txt"));
    let recorded = read(&packed[..packed.len() / 2]).unwrap();
    assert!(!events(&recorded).is_empty());
    let note = "the compressed file is cut off: its end is missing";
    assert_eq!(recorded.notes.last().map(String::as_str), Some(note));
    assert!(fault(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xff]).contains("cannot be decompressed"));
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn forks_stand_for_new_threads_and_interrupts_are_told() {
    let events = events(&read(&bytes(FORMS[0])).unwrap());
    let count = |is: fn(&Event) -> bool| events.iter().filter(|(_, event)| is(event)).count();
    let births =
        |event: &Event| matches!(event.kind, EventKind::Storage(StorageEvent::Started { .. }));
    assert_eq!(count(births), 5, "of all processes");
    let woken_by_timer = |event: &Event| {
        matches!(event.kind, EventKind::Waking { .. }) && event.context != Context::Thread
    };
    assert!(count(woken_by_timer) > 0);
}

#[test]
fn text_without_flags_is_refused() {
    let text = "cpus=2\n   <...>-25395 [001] 40328.891301: sched_process_exec: filename=/bin/sh \
                pid=25395 old_pid=25395\n";
    let fault = fault(text.as_bytes());
    assert!(fault.starts_with("line 2: there is no column of flags"), "{fault}");
    assert!(fault.contains("trace-cmd report -l"), "{fault}");
}

#[test]
fn other_files_are_refused_by_what_is_wrong_with_them() {
    let chrome = format!("{{\"traceEvents\":[{}", "{},".repeat(1 << 16));
    for other in [&b"hello\n"[..], b"PK\x03\x04\x14\0\0\0", chrome.as_bytes()] {
        let fault = fault(other);
        assert!(fault.starts_with("it is no recording that unjank reads: a trace of Perfetto, "));
        assert!(fault.ends_with("; sudo unjank record makes one"), "{fault}");
    }
    assert_eq!(fault(b""), "it is empty");
    let header = b"# tracer: nop\n#\n# entries-in-buffer/entries-written: 0/0   #P:2\n#\n";
    assert!(fault(header).starts_with("it is text of ftrace without events; "));
    assert!(fault(b"PERFILE2\x68\0\xff\xfe").starts_with("perf record wrote it"));
    let script = b"bash  4711 [001]  40328.891301: sched:sched_switch: prev_comm=bash\n";
    assert!(fault(script).starts_with("perf script printed it, and its text is not read"));
    let changed = |name: &str, at: usize, byte: u8| {
        let mut bytes = bytes(name);
        bytes[at] = byte;
        fault(&bytes)
    };
    assert_eq!(
        changed("launch.v6.dat", 12, 1),
        "byte 12: it comes from a big-endian machine, which is not decoded"
    );
    assert_eq!(
        changed("launch.v6.dat", 10, b'5'),
        "byte 10: its version is \"5\"; versions 6 and 7 are read"
    );
    assert_eq!(changed("launch.v6.dat", 13, 5), "byte 13: expected a long of 4 or 8 bytes");
    assert_eq!(
        changed("launch.v7.dat", 18, b'x'),
        "it is compressed with \"xstd\"; zlib and zstd are read"
    );
    // The number of the second CPU in the option with the places of the pages.
    assert_eq!(changed("launch.v7.dat", 13_637, 0), "byte 13637: CPU 0 occurs twice in a buffer");
    let without = String::from_utf8(bytes("launch.txt")).unwrap();
    let without = without.replace("sched_switch", "sched_switched");
    assert!(fault(without.as_bytes()).starts_with("it has no events of sched_switch"));
}

#[test]
fn text_counts_lost_events_and_lines_that_are_none() {
    let text = String::from_utf8(bytes("launch.txt")).unwrap();
    let place = text.match_indices('\n').nth(60).unwrap().0 + 1;
    let (before, after) = text.split_at(place);
    let text = format!("{before}CPU:1 [LOST 5 EVENTS]\nsomething else\n{after}");
    let recorded = read(text.as_bytes()).unwrap();
    assert_eq!(recorded.trace.lost.overwritten, 5);
    assert_eq!(recorded.trace.cpu(1).unwrap().gaps.len(), 3);
    assert_eq!(recorded.notes, ["skipped lines that are not events: 1"]);
}

/// The buffer of each CPU was full at another time.
#[test]
fn text_whose_begin_was_overwritten_begins_at_another_time_on_each_cpu() {
    let text = "# entries-in-buffer/entries-written: 4/7000   #P:2
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
          a-7       [000] d..2.    10.000000: sched_waking: comm=b pid=9 prio=120 target_cpu=001
          a-7       [000] d..2.    11.000000: sched_waking: comm=b pid=9 prio=120 target_cpu=001
##### CPU 1 buffer started ####
     <idle>-0       [001] d..2.    14.000000: sched_switch: prev_comm=swapper/1 prev_pid=0 \
        prev_prio=120 prev_state=R ==> next_comm=b next_pid=9 next_prio=120
          b-9       [001] d..2.    15.000000: sched_waking: comm=a pid=7 prio=120 target_cpu=000
";
    let recorded = read(text.as_bytes()).unwrap();
    let ends = |cpu: usize| {
        let gaps = recorded.trace.cpu(cpu).unwrap().gaps.iter();
        gaps.map(|gap| (gap.from.as_nanos(), gap.to.as_nanos())).collect::<Vec<_>>()
    };
    let second = 1_000_000_000;
    assert_eq!(ends(0), [(0, 10 * second), (15 * second, u64::MAX)]);
    assert_eq!(ends(1), [(0, 14 * second), (15 * second, u64::MAX)]);
    assert_eq!(recorded.trace.lost.overwritten, 6_996);
    assert_eq!(recorded.notes, [""; 0]);
}

/// Reads a damaged file: the result is an error, or at most one event for each byte.
fn try_read(bytes: &[u8]) -> Result<(), Fault> {
    let recorded = read(bytes)?;
    assert!(recorded.trace.len() <= bytes.len());
    Ok(())
}

#[test]
fn a_file_that_is_cut_off_is_refused() {
    for name in &FORMS[..3] {
        let whole = bytes(name);
        // The last page is padding.
        for length in (0..whole.len() - 4096).step_by(61) {
            assert!(try_read(&whole[..length]).is_err(), "{name}: {length}");
        }
    }
    let text = bytes("launch.txt");
    for length in (0..text.len()).step_by(61) {
        let _read_or_refused = try_read(&text[..length]);
    }
}

#[test]
fn a_file_that_is_damaged_anywhere_is_read_or_refused() {
    for name in FORMS {
        let whole = bytes(name);
        for at in (0..whole.len()).step_by(29) {
            for damage in [0x01, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] ^= damage;
                let _read_or_refused = try_read(&bytes);
            }
        }
    }
}
