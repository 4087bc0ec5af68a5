//! Converts traces from one format into another and back.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use unjank_host::Nanos;
use unjank_measure::Monitor;
use unjank_swap::trace::convert::{self, To, Written};
use unjank_swap::trace::{Backing, Event, Format, Operation, Options, Process, Trace};

struct Quiet;

impl Monitor for Quiet {
    fn progress(&self, _: f64, _: &str) {}

    fn stop_requested(&self) -> bool {
        false
    }
}

/// An event with its names, whose indexes may differ between files.
type NamedEvent = (Nanos, u64, Process, String, Operation, Backing);

/// Ariadne's lines are never guessed.
fn options(path: &Path) -> Options {
    let is_ariadne = path.file_name().unwrap() == "ariadne-swapin.txt";
    Options { format: is_ariadne.then_some(Format::Ariadne), ..Options::default() }
}

fn read(path: &Path) -> Vec<NamedEvent> {
    let mut trace = Trace::open(&[path.to_owned()], &options(path)).unwrap();
    let mut events = Vec::new();
    while trace.read(&mut events, 1000).unwrap() {}
    let names = trace.names();
    let described = |event: &Event| {
        let (process, space) = (names.process(event.who), names.space(event.space));
        (event.at, event.page, process.clone(), space.to_owned(), event.operation, event.backing)
    };
    events.iter().map(described).collect()
}

fn convert(from: &Path, to: &Path, sort: bool) -> Written {
    let mut trace = Trace::open(&[from.to_owned()], &options(from)).unwrap();
    let to_format = To::from_path(to).unwrap();
    let options = convert::Options { to: to_format, sort, force: false };
    convert::to_file(&mut trace, to, options, &Quiet).unwrap()
}

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

#[test]
fn every_format_survives_parquet_and_csv_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    for name in [
        "ariadne-swapin.txt",
        "blkparse-names.txt",
        "ftrace-6.18.txt",
        "ftrace-phone.txt",
        "loop.blktrace.0",
        "mobile.csv",
        "msr.csv",
        "named.csv",
        "spc.csv",
        "systor.csv",
    ] {
        let expected = read(&fixture(name));
        for ending in ["parquet", "csv"] {
            let to = dir.path().join(name).with_extension(ending);
            let written = convert(&fixture(name), &to, false);
            assert_eq!(written.events, expected.len() as u64);
            assert_eq!(read(&to), expected, "{name} as {ending}");
            std::fs::remove_file(to).unwrap();
        }
    }
}

#[test]
fn tables_written_by_other_programs_are_read() {
    // DuckDB and pandas read ftrace-phone.txt as Parquet and wrote it again. pandas turns optional
    // integers into floating point.
    let expected = read(&fixture("ftrace-phone.txt"));
    for name in ["duckdb-2.0.parquet", "pandas-3.1.parquet"] {
        assert_eq!(read(&fixture(name)), expected, "{name}");
    }
}

#[test]
fn next_accesses_are_record_numbers_counted_from_one() {
    let dir = tempfile::tempdir().unwrap();
    let (csv, oracle) = (dir.path().join("in.csv"), dir.path().join("out.oracleGeneral"));
    let text = "time_s,device,page,op\n5,a,1,R\n5,b,1,W\n6,a,1,R\n7,a,2,exit\n8,b,1,page-in\n\
                9,a,1,R\n9,a,2,clean-drop\n";
    std::fs::write(&csv, text).unwrap();
    let written = convert(&csv, &oracle, false);
    assert_eq!((written.events, written.left_out), (5, 2));
    let bytes = std::fs::read(&oracle).unwrap();
    let records: Vec<_> = bytes
        .chunks(24)
        .map(|record| {
            let second = u32::from_le_bytes(record[..4].try_into().unwrap());
            let id = u64::from_le_bytes(record[4..12].try_into().unwrap());
            let size = u32::from_le_bytes(record[12..16].try_into().unwrap());
            (second, id, size, i64::from_le_bytes(record[16..].try_into().unwrap()))
        })
        .collect();
    let (a, b) = (1 << 48 | 1, 2 << 48 | 1);
    let expected =
        [(0, a, 4096, 3), (0, b, 4096, 4), (1, a, 4096, 5), (3, b, 4096, -1), (4, a, 4096, -1)];
    assert_eq!(records, expected);
    assert_eq!(read(&oracle).len(), 5, "the file is detected as oracleGeneral");
}

#[test]
fn with_one_space_ids_are_page_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let (first, table) = (dir.path().join("1.oracleGeneral"), dir.path().join("2.parquet"));
    let second = dir.path().join("3.oracleGeneral.bin");
    convert(&fixture("ariadne-swapin.txt"), &first, false);
    let ids: Vec<u64> = read(&first).iter().map(|event| event.1).collect();
    assert_eq!(ids, [2, 1, 512]);
    convert(&first, &table, false);
    convert(&table, &second, false);
    assert_eq!(std::fs::read(first).unwrap(), std::fs::read(second).unwrap());
}

#[test]
fn sorting_keeps_the_order_of_events_at_the_same_time() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("in.csv"), dir.path().join("out.csv"));
    std::fs::write(&from, "time_ns,page\n30,1\n20,2\n30,3\n10,4\n20,5\n").unwrap();
    convert(&from, &to, true);
    let events: Vec<_> = read(&to).iter().map(|event| (event.0.get(), event.1)).collect();
    assert_eq!(events, [(0, 4), (10, 2), (10, 5), (20, 1), (20, 3)]);
}

#[test]
fn an_existing_file_is_kept_and_a_failure_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let there = dir.path().join("there.parquet");
    std::fs::write(&there, "precious").unwrap();
    let mut trace = Trace::open(&[fixture("msr.csv")], &Options::default()).unwrap();
    let options = convert::Options { to: To::Parquet, sort: false, force: false };
    let error = convert::to_file(&mut trace, &there, options, &Quiet).unwrap_err();
    assert!(error.to_string().ends_with("already exists; --replace allows it"), "{error}");
    assert_eq!(std::fs::read(&there).unwrap(), b"precious");
    let bad = dir.path().join("bad.csv");
    std::fs::write(&bad, "page\n1\nx\n3\n").unwrap();
    let format = Options { format: Some(Format::Csv), ..Options::default() };
    let mut trace = Trace::open(&[bad], &format).unwrap();
    let force = convert::Options { force: true, ..options };
    convert::to_file(&mut trace, &there, force, &Quiet).unwrap_err();
    assert_eq!(std::fs::read(&there).unwrap(), b"precious");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2, "no temporary file is left");
}

#[test]
fn a_table_of_several_row_groups_survives_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    let (oracle, table) = (dir.path().join("in.oracleGeneral"), dir.path().join("out.parquet"));
    let mut bytes = Vec::new();
    for n in 0..300_000_u64 {
        bytes.extend(((n / 1000) as u32).to_le_bytes());
        bytes.extend((n * n % 99_991).to_le_bytes());
        bytes.extend(4096_u32.to_le_bytes());
        bytes.extend((-1_i64).to_le_bytes());
    }
    std::fs::write(&oracle, bytes).unwrap();
    convert(&oracle, &table, false);
    assert!(read(&oracle) == read(&table));
}

fn named_event() -> impl Strategy<Value = NamedEvent> {
    let cgroup = proptest::option::of("/[ -~é]{0,12}");
    let number = || proptest::option::of(any::<u32>());
    let process = ("[ -~é]{0,12}", number(), cgroup, number(), number()).prop_map(
        |(name, pid, cgroup, launch, command)| Process { name, pid, cgroup, launch, command },
    );
    let operation = (0..Operation::ALL.len()).prop_map(|index| Operation::ALL[index]);
    let backing = (0..Backing::ALL.len()).prop_map(|index| Backing::ALL[index]);
    let at = prop_oneof![Just(0), any::<u64>(), 0..1_000_000_u64].prop_map(Nanos);
    (at, any::<u64>(), process, "[ -~é]{0,8}", operation, backing)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_events_survive(mut events in proptest::collection::vec(named_event(), 1..300)) {
        // The trace begins at the first event's time.
        events[0].0 = Nanos::ZERO;
        let dir = tempfile::tempdir().unwrap();
        let header = "time_ns,process,pid,space,page,operation,backing,cgroup,launch_id,command_pid";
        let mut text = format!("{header}\n");
        for (at, page, process, space, operation, backing) in &events {
            let number = |number: Option<u32>| number.map_or(String::new(), |n| n.to_string());
            let [pid, launch, command] = [process.pid, process.launch, process.command].map(number);
            let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
            let cgroup = process.cgroup.as_deref().map_or(String::new(), quoted);
            let (process, space) = (quoted(&process.name), quoted(space));
            let (operation, backing) = (operation.name(), backing.name());
            let line = format!("{process},{pid},{space},{page},{operation},{backing},{cgroup}");
            let line = format!("{line},{launch},{command}");
            writeln!(text, "{},{line}", at.get()).unwrap();
        }
        let (first, table) = (dir.path().join("1.csv"), dir.path().join("2.parquet"));
        let last = dir.path().join("3.csv");
        std::fs::write(&first, text).unwrap();
        convert(&first, &table, false);
        convert(&table, &last, false);
        prop_assert_eq!(read(&first), events);
        prop_assert_eq!(read(&table), read(&first));
        prop_assert_eq!(read(&last), read(&first));
    }
}
