//! Reads exported traces back with the generated classes of Perfetto.
//!
//! Needs perfetto of `PyPI` in a virtual environment under `target`, which
//! `make test` makes. Fails without it when `UNJANK_TEST_ALL=1`, otherwise says
//! that it was skipped.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use unjank_host::Hertz;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::script::{Script, at, rename};
use unjank_host::tracefs::{Context, DeviceRequest, EventKind, StorageEvent, SystemCall};
use unjank_why::export::perfetto;
use unjank_why::report::{Clocks, Explained};

#[test]
fn a_trace_has_the_recording_and_the_path() {
    let Some(python) = python() else { return };
    let script = launch();
    let explained = explain(&script);
    let summary = summary(&python, &explained);
    let events = &summary["events"];
    let recorded = |is: fn(&EventKind) -> bool| {
        let trace = script.trace();
        let events = trace.cpus.iter().flat_map(|cpu| &cpu.events);
        events.filter(|event| is(&event.kind)).count() as u64
    };
    let switches = recorded(|kind| matches!(kind, EventKind::Switch { .. }));
    assert_eq!(events["sched_switch"].as_u64().unwrap(), switches);
    let waking = recorded(|kind| matches!(kind, EventKind::Waking { .. }));
    assert_eq!(events["sched_waking"].as_u64().unwrap(), waking);
    assert_eq!(summary["flags"]["8"], 1, "one wake-up in an interrupt: {summary}");
    for (event, count) in [
        ("task_newtask", 1),
        ("sched_process_exec", 1),
        ("sched_process_exit", 1),
        ("sys_enter", 1),
        ("block_rq_issue", 1),
        ("block_rq_complete", 1),
        ("irq_handler_entry", 1),
        ("irq_handler_exit", 1),
        ("cpu_frequency", 2),
        ("cpu_idle", 1),
    ] {
        assert_eq!(events[event], count, "{event}: {summary}");
    }
    assert_eq!(summary["lost"], 0);
    assert_eq!(summary["instants"], serde_json::json!(["unjank recording"]));
}

#[test]
fn the_path_fills_the_window_and_arrows_connect_its_threads() {
    let Some(python) = python() else { return };
    let explained = explain(&launch());
    let summary = summary(&python, &explained);
    let path = slices(&summary, "path");
    let mut now = explained.from.as_nanos();
    for slice in &path {
        assert_eq!(slice["from"], now, "no gap: {path:?}");
        now = slice["to"].as_u64().unwrap();
    }
    assert_eq!(now, explained.to.as_nanos());
    assert_eq!(path.len(), explained.path().segments.len());
    let device = path.iter().find(|slice| slice["arguments"]["device"] == "259,1").unwrap();
    assert_eq!(device["name"], "storage: victim (7)");
    assert_eq!(device["arguments"]["sector"], 4_096);
    assert_eq!(device["arguments"]["operation"], "read");
    let mut by_name: BTreeMap<&str, u64> = BTreeMap::new();
    for slice in &path {
        let time = slice["to"].as_u64().unwrap() - slice["from"].as_u64().unwrap();
        *by_name.entry(slice["arguments"]["way"].as_str().unwrap()).or_default() += time;
    }
    assert_eq!(by_name.values().sum::<u64>(), explained.total().get());

    let waits = slices(&summary, "waits of victim (7)");
    assert_eq!(waits.len(), explained.path().waits.len());
    assert!(waits.iter().any(|wait| wait["arguments"]["ended by"] == "t8 (8)"), "{waits:?}");

    let lanes: Vec<&Value> = summary["tracks"].as_array().unwrap().iter().skip(3).collect();
    let group = &summary["tracks"][0]["name"];
    assert!(lanes.iter().all(|lane| lane["parent"] == *group));
    let arrows = |end: &str| -> BTreeSet<u64> {
        let slices = lanes.iter().flat_map(|lane| lane["slices"].as_array().unwrap());
        slices
            .flat_map(|slice| slice[end].as_array().unwrap().iter().filter_map(Value::as_u64))
            .collect()
    };
    let changes =
        explained.path().segments.windows(2).filter(|two| two[0].thread != two[1].thread).count();
    assert!(changes >= 2, "{path:?}");
    assert_eq!(arrows("arrows from").len(), changes);
    assert_eq!(arrows("arrows from"), arrows("arrows to"));
}

#[test]
fn lost_events_and_foreign_names_are_in_the_trace_as_such() {
    let Some(python) = python() else { return };
    let script = launch().loses(1, 150, 160);
    let mut trace = script.trace();
    rename(&mut trace, unjank_host::tracefs::Comm::new(b"a\xff\x1b[2J\n"));
    let window = (at(0), at(1_000));
    let explained = Explained::new(trace, ThreadId(7), window, Clocks::default());
    let summary = summary(&python, &explained);
    assert_eq!(summary["lost"], 1, "{summary}");
    assert!(!summary.to_string().contains("\\u001b"), "{summary}");
}

/// The victim (7) computes, waits in a pipe for its child (8), and then for a disk.
fn launch() -> Script {
    let started = StorageEvent::Started { thread: ThreadId(8), same_process: false };
    let executed =
        StorageEvent::Executed { process: ThreadId(8), before: ThreadId(8), program: "t8".into() };
    let ended = StorageEvent::Ended { thread: ThreadId(8), last: None };
    let read = SystemCall::Begins { number: libc::SYS_read, arguments: [0; 6] };
    let asked = DeviceRequest {
        device: unjank_host::block_device::DeviceNumber::new(259, 1),
        sector: 4_096,
        sectors: 8,
        letters: "RA".into(),
    };
    let storage = |event| EventKind::Storage(event);
    Script::new()
        .runs(0, 0, 9, 7)
        .happens(0, 50, Context::Thread, storage(started))
        .happens(0, 90, Context::Thread, EventKind::SystemCall(read))
        .sleeps(0, 100, 7, 0)
        .wakes(0, 101, 8, 1)
        .runs(1, 120, 0, 8)
        .happens(1, 130, Context::Thread, storage(executed))
        .happens(
            1,
            140,
            Context::Thread,
            EventKind::Frequency { cpu: 1, frequency: Hertz::from_khz(800_000) },
        )
        .wakes(1, 300, 7, 0)
        .happens(1, 310, Context::Thread, storage(ended))
        .sleeps(1, 320, 8, 0)
        .idles(1, 330, Some(1))
        .runs(0, 320, 0, 7)
        .happens(0, 400, Context::Thread, storage(StorageEvent::Issued(asked)))
        .sleeps(0, 410, 7, 0)
        .interrupts(0, 800, 805)
        .happens(0, 806, Context::Irq, storage(StorageEvent::Completed(asked)))
        .happens(
            0,
            807,
            Context::Irq,
            EventKind::Waking { task: unjank_host::tracefs::script::task(7), cpu: 0 },
        )
        .runs(0, 820, 0, 7)
        .sleeps(0, 1_000, 7, 0)
}

fn explain(script: &Script) -> Explained {
    let mut clocks = Clocks::default();
    clocks.at_start.insert(1, 2_000_000);
    Explained::new(script.trace(), ThreadId(7), (at(10), at(1_000)), clocks)
}

fn slices<'a>(summary: &'a Value, track: &str) -> Vec<&'a Value> {
    let tracks = summary["tracks"].as_array().unwrap();
    let track = tracks.iter().find(|it| it["name"] == track).unwrap();
    track["slices"].as_array().unwrap().iter().collect()
}

/// What `perfetto/summary.py` finds in the exported trace.
fn summary(python: &Path, launch: &Explained) -> Value {
    let mut bytes = Vec::new();
    perfetto(launch, &mut bytes).unwrap();
    let file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/perfetto/summary.py");
    let output = Command::new(python).arg(script).arg(file.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn python() -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?;
    let python = target.join("perfetto-0.59.1/bin/python");
    if python.exists() {
        return Some(python);
    }
    unjank_needs::skip(format!("{}; `make test` installs it", python.display()));
    None
}
