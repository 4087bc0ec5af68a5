//! Stores of runs with bytes changed anywhere in their pages: read, written and pruned, or refused.

#![no_main]

use std::fs;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use unjank_host::{Machine, Nanos, Timestamp};
use unjank_measure::record::{Run, Tool};
use unjank_measure::store::{Filter, Keep, Selector, Store};
use unjank_measure::{Findings, RunRecord, Series, Start};

/// The bytes of a store with three runs, and another run.
static STORE: LazyLock<(Vec<u8>, RunRecord)> = LazyLock::new(|| {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("runs.sqlite");
    let mut store = Store::open(&path).expect("it is new");
    for seconds in 1..=3 {
        store.put(&record(seconds)).expect("there is room");
    }
    store.remember("launch/boost/learned", "{}").expect("there is room");
    drop(store);
    (fs::read(path).expect("it was written"), record(4))
});

fn record(seconds: i64) -> RunRecord {
    let mut series = Series::new("test/series");
    (1..=100).for_each(|value| series.record(Nanos(value)));
    let mut findings = Findings::default();
    findings.series.push(series.finish());
    let run = Run {
        tool: Tool { version: "0.1.0".to_owned(), commit: None },
        command: "jitter native".to_owned(),
        host: Machine::default(),
        settings: Default::default(),
        findings,
        labels: Vec::new(),
    };
    let date = jiff::Timestamp::from_second(seconds).expect("a date");
    Start::at(date, Timestamp::from_nanos(0), seconds as u32).finish(Timestamp::from_nanos(7), run)
}

/// The number of bytes to cut off, and bytes to write with their places.
type Changes = (u8, Vec<(u16, u8)>);

fuzz_target!(|changes: Changes| {
    let (mut bytes, more) = (STORE.0.clone(), &STORE.1);
    for (at, byte) in changes.1 {
        // Pages begin with their headers.
        let at = usize::from(at) % bytes.len();
        bytes[at] = byte;
    }
    bytes.truncate(bytes.len() - usize::from(changes.0) * 7 % bytes.len());
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("runs.sqlite");
    fs::write(&path, bytes).expect("there is room");
    let Ok(mut store) = Store::open(&path) else { return };
    let Ok(last) = "last".parse::<Selector>();
    let listed = store.list(&Filter::default());
    let _record_or_why_not = (store.get(&last), store.text(&last));
    let _text_or_why_not = store.recall("launch/boost/learned");
    let put = store.put(more);
    if let (Ok(before), Ok(_), Ok(after)) = (listed, put, store.list(&Filter::default())) {
        assert!(after.len() <= before.len() + 1);
    }
    let _entries_or_why_not = store.prune(Keep::Newest(1), false);
});
