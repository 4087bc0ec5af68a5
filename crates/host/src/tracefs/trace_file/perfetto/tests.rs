//! Traces that are encoded by hand here. Those of Perfetto's own classes are read in the tests of
//! `unjank-why`.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::super::super::event::{Context, EventKind, PrevState};
use super::super::super::trace::Gap;
use super::super::{NamedTimes, read, read_from};
use super::*;
use crate::input::Input;
use crate::tracefs::{Comm, StorageEvent};

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn number(field: u32, value: u64) -> Vec<u8> {
    [varint(u64::from(field) << 3), varint(value)].concat()
}

fn bytes(field: u32, content: &[u8]) -> Vec<u8> {
    [varint(u64::from(field) << 3 | 2), varint(content.len() as u64), content.to_vec()].concat()
}

fn packed(field: u32, values: &[u64]) -> Vec<u8> {
    bytes(field, &values.iter().flat_map(|value| varint(*value)).collect::<Vec<u8>>())
}

fn message(field: u32, parts: &[Vec<u8>]) -> Vec<u8> {
    bytes(field, &parts.concat())
}

/// A packet with a bundle of a CPU.
fn bundle(cpu: u64, parts: &[Vec<u8>]) -> Vec<u8> {
    let bundle = [&[number(1, cpu)], parts].concat();
    message(1, &[message(1, &bundle)])
}

fn event(at: u64, current: u64, flags: u64, field: u32, parts: &[Vec<u8>]) -> Vec<u8> {
    message(2, &[number(1, at), number(2, current), number(5, flags), message(field, parts)])
}

fn switch(at: u64, prev: u64, prev_state: u64, next: u64) -> Vec<u8> {
    let parts = [
        bytes(1, b"prev"),
        number(2, prev),
        number(3, 120),
        number(4, prev_state),
        bytes(5, b"next"),
        number(6, next),
        number(7, 120),
    ];
    event(at, prev, 0, 4, &parts)
}

/// Switches at 100 and 150, the second with a sleeper, and a wake-up in an interrupt between them.
fn compact() -> Vec<u8> {
    message(
        4,
        &[
            bytes(5, b"app"),
            bytes(5, b"swapper"),
            packed(1, &[100, 50]),
            packed(2, &[0, 1]),
            packed(3, &[7, 0]),
            packed(4, &[120, 120]),
            packed(6, &[0, 1]),
            packed(7, &[60, 70]),
            packed(8, &[9, 9]),
            packed(9, &[0, 1]),
            packed(10, &[120, 97]),
            packed(11, &[0, 0]),
            packed(12, &[0, 8]),
        ],
    )
}

fn events(recorded: &Recorded, cpu: usize) -> Vec<Event> {
    recorded.trace.cpu(cpu).unwrap().events.iter().collect()
}

#[test]
fn compact_events_have_the_thread_of_the_switch_before() {
    let recorded = read(&bundle(1, &[compact()])).unwrap();
    let events = events(&recorded, 1);
    let [first, waking, second] = events.as_slice() else { panic!("{events:?}") };
    let EventKind::Switch { prev, next, .. } = first.kind else { panic!() };
    assert_eq!((first.at.as_nanos(), prev.tid, next.tid), (100, ThreadId(0), ThreadId(7)));
    let EventKind::Waking { task, cpu } = waking.kind else { panic!() };
    assert_eq!((waking.current, waking.context), (ThreadId(7), Context::Irq));
    assert_eq!((task.tid, task.prio, cpu), (ThreadId(9), 97, 1));
    let EventKind::Switch { prev, prev_state, next } = second.kind else { panic!() };
    assert_eq!((prev.tid, prev.comm), (ThreadId(7), Comm::from("app")));
    assert_eq!((prev_state, next.tid), (PrevState::Asleep, ThreadId(0)));
    assert_eq!(recorded.notes, ["left out wake-ups before the first switch of their CPU: 1"]);
    let gaps = &recorded.trace.cpus[0].gaps;
    assert_eq!(gaps[0].to.as_nanos(), 100, "nothing is known before the first switch");
    assert_eq!(recorded.clock.as_deref(), Some("boot"));
}

#[test]
fn columns_of_different_lengths_are_malformed_and_the_rest_is_read() {
    let short = message(4, &[packed(1, &[100, 50]), packed(2, &[0])]);
    let no_name = message(
        4,
        &[packed(1, &[1]), packed(2, &[0]), packed(3, &[7]), packed(4, &[1]), packed(6, &[3])],
    );
    let trace = [bundle(0, &[short]), bundle(0, &[no_name]), bundle(0, &[switch(5, 0, 0, 7)])];
    let recorded = read(&trace.concat()).unwrap();
    assert_eq!(events(&recorded, 0).len(), 1);
    assert_eq!(recorded.notes, ["skipped parts that are malformed: 2"]);
}

#[test]
fn lost_events_and_the_start_of_a_buffer_leave_gaps() {
    let begin = [number(10, 40), switch(50, 0, 0, 7), switch(60, 7, 1, 0)];
    let after = [number(3, 1), switch(90, 0, 0, 7), switch(99, 7, 1, 0)];
    let statistics = |phase: u64, lost: u64| {
        let cpu = [number(3, lost), number(8, 1)];
        message(1, &[message(34, &[number(1, phase), message(2, &cpu)])])
    };
    let other = bundle(1, &[switch(10, 0, 0, 8)]);
    let trace =
        [statistics(1, 5), bundle(0, &begin), other, bundle(0, &after), statistics(2, 12)].concat();
    let recorded = read(&trace).unwrap();
    let gap = |from, to| Gap { from: Timestamp::from_nanos(from), to: Timestamp::from_nanos(to) };
    assert_eq!(recorded.trace.cpus[0].gaps[..2], [gap(0, 40), gap(60, 90)]);
    assert_eq!(recorded.trace.cpus[1].gaps[0], gap(0, 10));
    assert_eq!(recorded.trace.lost.overwritten, 7);
}

#[test]
fn births_by_fork_count_only_without_the_exact_event() {
    let fork = event(20, 7, 0, 239, &[number(2, 7), number(4, 8)]);
    let new = event(19, 7, 0, 235, &[number(1, 8), number(3, 0x10000)]);
    let births = |parts: &[Vec<u8>]| {
        let recorded = read(&bundle(0, parts)).unwrap();
        let started = events(&recorded, 0).into_iter().filter_map(|event| match event.kind {
            EventKind::Storage(StorageEvent::Started { same_process, .. }) => Some(same_process),
            _ => None,
        });
        started.collect::<Vec<_>>()
    };
    let run = switch(10, 0, 0, 7);
    assert_eq!(births(&[run.clone(), fork.clone()]), [false]);
    assert_eq!(births(&[run, new, fork]), [true]);
}

#[test]
fn processes_kernel_threads_and_slices_are_read() {
    let process = |pid: u64, parent: u64, name: &[u8]| {
        message(1, &[number(1, pid), number(2, parent), bytes(3, name), bytes(3, b"--flag")])
    };
    let thread = message(2, &[number(1, 8), number(3, 7), bytes(2, b"RenderThread")]);
    let tree = [process(7, 1, b"com.example.app"), process(20, 2, b"kworker/0:1"), thread];
    let tree = message(1, &[message(2, &tree)]);
    let system = message(45, &[message(1, &[bytes(4, b"aarch64")])]);
    let other = message(1, &[system]);
    let line = |at, text: &[u8]| event(at, 8, 0, 3, &[number(1, 77), bytes(2, text)]);
    let lines = [switch(1, 0, 0, 8), line(10, b"B|7|DrawFrames 3\n"), line(30, b"E|7\n")];
    let trace = [tree, other, bundle(0, &lines)].concat();
    let recorded = read(&trace).unwrap();
    assert_eq!(recorded.processes.of_threads[&ThreadId(8)], 7);
    assert_eq!(recorded.processes.named("com.example.app").collect::<Vec<_>>(), [7]);
    assert_eq!(recorded.trace.kernel_threads, [ThreadId(20)]);
    assert_eq!(recorded.architecture.as_deref(), Some("aarch64"));
    let [slice] = recorded.slices.as_slice() else { panic!() };
    assert_eq!((&*slice.name, slice.process, slice.thread), ("DrawFrames 3", 7, Some(ThreadId(8))));
    assert_eq!((slice.from.as_nanos(), slice.to.unwrap().as_nanos()), (10, 30));
}

/// A packet with a time, of sequence 5.
fn timed(at: u64, clock: u64, parts: &[Vec<u8>]) -> Vec<u8> {
    let head = [number(8, at), number(58, clock), number(10, 5)];
    message(1, &[&head, parts].concat())
}

#[test]
fn frames_and_track_events_are_read_by_other_clocks() {
    const MONOTONIC: u64 = 3;
    const BOOT: u64 = 6;
    let clock = |id: u64, time: u64| message(1, &[number(1, id), number(2, time)]);
    let snapshot = message(1, &[message(6, &[clock(MONOTONIC, 100), clock(BOOT, 1_100)])]);
    let start = |field: u32, cookie: u64, jank: u64| {
        let parts =
            [number(1, cookie), number(2, 77), number(4, 7), bytes(5, b"main"), number(9, jank)];
        message(76, &[message(field, &parts)])
    };
    let end = |cookie: u64| message(76, &[message(5, &[number(1, cookie)])]);
    let frames = [
        timed(200, MONOTONIC, &[start(3, 1, 0)]),
        timed(210, MONOTONIC, &[start(4, 2, 64)]),
        timed(216, MONOTONIC, &[end(1)]),
        timed(1_240, BOOT, &[end(2)]),
        timed(50, 42, &[end(9)]),
    ];
    let thread = message(60, &[number(1, 900), message(4, &[number(1, 7), number(2, 8)])]);
    let child = message(60, &[number(1, 901), number(5, 900)]);
    let name = message(12, &[message(2, &[number(1, 1), bytes(2, b"interned")])]);
    let event = |kind: u64, more: Vec<u8>| message(11, &[number(9, kind), number(11, 901), more]);
    let events = [
        message(1, &[thread]),
        message(1, &[child]),
        timed(300, MONOTONIC, &[number(13, 1), name, event(1, number(10, 1))]),
        timed(320, MONOTONIC, &[event(3, bytes(23, b"moment"))]),
        timed(330, MONOTONIC, &[event(2, vec![])]),
        // Names are forgotten with a new beginning of the sequence.
        timed(340, MONOTONIC, &[number(13, 1), event(3, number(10, 1))]),
    ];
    let run = bundle(0, &[switch(1_000, 0, 0, 8)]);
    let trace = [snapshot, frames.concat(), events.concat(), run].concat();
    let recorded = read(&trace).unwrap();
    let [frame] = recorded.frames.as_slice() else { panic!("{:?}", recorded.frames) };
    let nanos = |at: Timestamp| at.as_nanos();
    assert_eq!((frame.token, frame.process), (77, 7));
    assert_eq!((nanos(frame.from), nanos(frame.to)), (1_210, 1_240));
    assert_eq!((frame.deadline.map(nanos), frame.jank.0), (Some(1_216), 64));
    let slices: Vec<_> = recorded.slices.iter().map(|it| (&*it.name, nanos(it.from))).collect();
    assert_eq!(slices, [("interned", 1_300), ("moment", 1_320), ("", 1_340)]);
    let first = &recorded.slices[0];
    assert_eq!((first.thread, first.process), (Some(ThreadId(8)), 7));
    assert_eq!(first.to.map(nanos), Some(1_330));
    assert!(recorded.notes[0].ends_with("the kernel's events: 1"), "{:?}", recorded.notes);
}

#[test]
fn times_of_perfetto_s_library_are_distances_in_its_own_unit() {
    const INCREMENTAL: u64 = 64;
    let boot = message(1, &[number(1, 6), number(2, 5_000)]);
    let own = message(1, &[number(1, 64), number(2, 7), number(3, 1), number(4, 100)]);
    let snapshot = message(1, &[number(10, 5), message(6, &[boot, own])]);
    // As the library writes it: names behind the event that uses them.
    let name = message(12, &[message(2, &[number(1, 1), bytes(2, b"interned")])]);
    let event = |kind: u64| message(11, &[number(9, kind), number(10, 1)]);
    let events = [
        timed(2, INCREMENTAL, &[event(1), name]),
        timed(3, INCREMENTAL, &[event(2)]),
        timed(1, INCREMENTAL, &[event(3)]),
    ];
    let run = bundle(0, &[switch(5_000, 0, 0, 8)]);
    let recorded = read(&[snapshot, events.concat(), run].concat()).unwrap();
    let [slice, moment] = recorded.slices.as_slice() else { panic!("{:?}", recorded.slices) };
    let nanos = |at: Timestamp| at.as_nanos();
    assert_eq!((&*slice.name, nanos(slice.from)), ("interned", 5_200));
    assert_eq!((slice.to.map(nanos), nanos(moment.from)), (Some(5_500), 5_600));
}

#[test]
fn behind_lost_events_the_running_thread_is_not_known() {
    let columns = |at: u64| {
        let columns = [packed(1, &[at]), packed(2, &[1]), packed(3, &[9]), packed(4, &[120])];
        let waking = [packed(7, &[at - 1]), packed(8, &[8]), packed(9, &[0]), packed(10, &[120])];
        let names = [bytes(5, b"other"), packed(6, &[0]), packed(11, &[0])];
        message(4, &[columns.concat(), waking.concat(), names.concat()])
    };
    // A bundle that only says so, and some with events.
    let parts = [bundle(1, &[compact()]), bundle(1, &[number(3, 1)])].concat();
    let trace = [parts, bundle(1, &[columns(500)]), bundle(1, &[columns(900)])].concat();
    let recorded = read(&trace).unwrap();
    let switches = events(&recorded, 1);
    let first = switches.iter().find(|event| event.at.as_nanos() == 500).unwrap();
    let EventKind::Switch { prev, .. } = first.kind else { panic!("{first:?}") };
    assert_eq!(prev.tid, ThreadId(0), "not the thread before");
    let gaps = &recorded.trace.cpus[0].gaps;
    let missing = gaps.iter().find(|gap| gap.from.as_nanos() == 150).unwrap();
    assert_eq!(missing.to.as_nanos(), 500);
}

#[test]
fn numbers_for_addresses_of_the_kernel_are_not_compared() {
    let timer = |at, field| event(at, 7, 8, field, &[number(1, 3)]);
    let trace = bundle(0, &[switch(1, 0, 0, 7), timer(5, 551), timer(9, 553), timer(10, 59)]);
    let events = events(&read(&trace).unwrap(), 0);
    assert_eq!(events.len(), 2, "{events:?}");
    assert_eq!(events[1].kind, EventKind::TimerExpires { timer: 0 });
}

#[test]
fn events_without_a_message_of_their_own_are_read_by_name() {
    let field = |name: &[u8], value| message(2, &[bytes(1, name), number(5, value)]);
    let generic = [bytes(1, b"page_fault_user"), field(b"address", 4096), field(b"ip", 1)];
    let described =
        |name: &[u8], number_: u64| message(2, &[bytes(1, name), number(3, number_), number(5, 4)]);
    let descriptor = [
        number(1, 700),
        bytes(
            2,
            &[bytes(1, b"contention_begin"), described(b"lock_addr", 1), described(b"flags", 2)]
                .concat(),
        ),
    ];
    let parts = [
        switch(1, 0, 0, 7),
        event(5, 7, 0, 327, &generic),
        message(11, &descriptor),
        event(6, 7, 0, 700, &[number(1, 99), number(2, 32)]),
        event(7, 7, 0, 701, &[number(1, 99)]),
    ];
    let recorded = read(&bundle(0, &parts)).unwrap();
    let events = events(&recorded, 0);
    assert_eq!(events[1].kind, EventKind::PageFault { address: 4096 });
    let EventKind::LockContended { lock, flags } = events[2].kind else { panic!() };
    assert_eq!((lock, flags.lock_type()), (99, "mutex"));
    assert_eq!(recorded.trace.cpus[0].undecoded, 1);
}

#[test]
fn compressed_packets_are_read_and_nested_ones_are_not() {
    let zlib = |content: &[u8]| {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(content).unwrap();
        message(1, &[bytes(50, &encoder.finish().unwrap())])
    };
    let inner = [bundle(0, &[switch(5, 0, 0, 7)]), bundle(0, &[switch(9, 7, 1, 0)])].concat();
    assert_eq!(read(&zlib(&inner)).unwrap().trace.len(), 2);
    let zstd = zstd::encode_all(inner.as_slice(), 1).unwrap();
    let zstd = message(1, &[bytes(133, &zstd)]);
    assert_eq!(read(&zstd).unwrap().trace.len(), 2);
    assert!(read(&zlib(&zlib(&inner))).unwrap_err().to_string().starts_with("it has no events"));
    let broken = message(1, &[bytes(50, b"not zlib")]);
    let fault = read(&[bundle(0, &[switch(5, 0, 0, 7)]), broken].concat()).unwrap_err();
    assert!(fault.to_string().starts_with("byte 38: a packet cannot be decompressed: "), "{fault}");
}

#[test]
fn what_cannot_be_explained_is_refused() {
    let fault = |trace: &[u8]| read(trace).unwrap_err().to_string();
    let idle = event(5, 0, 0, 13, &[number(1, 2)]);
    assert!(fault(&bundle(0, &[idle])).starts_with("it has no events of sched_switch"));
    let other_clock = bundle(0, &[number(5, 2), switch(9, 7, 1, 0)]);
    let mixed = [bundle(0, &[switch(5, 0, 0, 7)]), other_clock].concat();
    assert_eq!(fault(&mixed), "its bundles of events have different clocks");
    assert!(fault(&bundle(9_000, &[])).starts_with("it has a CPU 9000"));
    let packet = message(1, &[number(8, 5)]);
    assert!(fault(&packet).starts_with("it has no events of the kernel"));
}

#[test]
fn slices_are_left_out_if_nobody_needs_them() {
    let line = event(6, 7, 0, 3, &[bytes(2, b"I|7|moment")]);
    let trace = bundle(0, &[switch(5, 0, 0, 7), line]);
    for (named, slices) in [(NamedTimes::Read, 1), (NamedTimes::Skip, 0)] {
        let recorded = super::read(trace.as_slice(), named, &Stop::default()).unwrap();
        assert_eq!((recorded.trace.len(), recorded.slices.len()), (1, slices));
    }
}

#[test]
fn a_file_that_was_cut_off_is_read_up_to_there() {
    let trace = [bundle(0, &[switch(5, 0, 0, 7)]), bundle(0, &[switch(9, 7, 1, 0)])].concat();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace");
    std::fs::write(&path, &trace[..trace.len() - 3]).unwrap();
    let stop = Stop::default();
    let recorded = read_from(Input::open(&path, &stop).unwrap(), NamedTimes::Read, &stop).unwrap();
    assert_eq!(recorded.trace.len(), 1);
    assert_eq!(recorded.notes, ["the file ends within a packet: it was cut off"]);
}

proptest::proptest! {
    #[test]
    fn any_packet_is_read_or_refused(
        parts in proptest::collection::vec((0_usize..6, proptest::collection::vec(0_u8.., 0..40)), 0..12),
    ) {
        let trace: Vec<u8> = parts.iter().flat_map(|(form, content)| match form {
            0 => bundle(0, &[compact(), bytes(4, content)]),
            1 => bundle(1, &[bytes(2, content)]),
            2 => bundle(0, &[event(5, 7, 0, 4, std::slice::from_ref(content))]),
            3 => message(1, &[bytes(2, content), bytes(11, content), bytes(12, content)]),
            4 => message(1, &[bytes(50, content)]),
            _ => content.clone(),
        }).collect();
        if let Ok(recorded) = read(&trace) {
            for cpu in &recorded.trace.cpus {
                assert!(cpu.events.iter().is_sorted_by_key(|event| event.at));
            }
        }
    }
}
