//! `unjank why FILE` with traces that Perfetto's own classes have written.
//!
//! Needs perfetto of `PyPI` in a virtual environment under `target`, which `make test` makes. Fails
//! without it when `UNJANK_TEST_ALL=1`, otherwise says that it was skipped.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod perfetto;
mod shown;

use std::path::Path;

use perfetto::{table, warnings};
use serde_json::Value;
use shown::check;

const MILLISECOND: f64 = 1e6;

/// A trace of `perfetto/android.py`; `None` without Python.
fn trace(form: &str) -> Option<tempfile::NamedTempFile> {
    perfetto::trace("android.py", form)
}

fn record(file: &Path, options: &[&str]) -> Value {
    perfetto::record(&["why"], file, options)
}

fn refused(file: &Path, options: &[&str]) -> String {
    perfetto::refused(&["why"], file, options)
}

/// The split, in milliseconds: way, activity, time.
fn split(record: &Value) -> Vec<(String, String, f64)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let facts = record["facts"].as_array().unwrap().iter();
    let parts = facts.filter(|fact| fact["name"] == "why/time").map(|fact| {
        let (way, activity) = (text(&fact["labels"]["way"]), text(&fact["labels"]["activity"]));
        (way, activity, fact["value"].as_f64().unwrap() / MILLISECOND)
    });
    parts.collect()
}

fn time_of(record: &Value, activity: &str) -> f64 {
    split(record).iter().filter(|(_, of, _)| of == activity).map(|(.., time)| time).sum()
}

fn about(value: f64, expected: f64) -> bool {
    (value - expected).abs() < 0.01
}

#[test]
fn a_launch_has_the_known_answer_in_every_form() {
    let Some(first) = trace("full") else { return };
    let first = record(first.path(), &[]);
    assert!(about(split(&first).iter().map(|(.., time)| time).sum(), 150.0));
    // 20 ms of the disk; 10 ms at half of the highest clock.
    assert!(about(time_of(&first, "storage"), 20.0), "{:?}", split(&first));
    assert!(about(time_of(&first, "slow-clock"), 5.0), "{:?}", split(&first));
    assert!(time_of(&first, "unknown") < 1e-6);
    let own = |(way, ..): &&(String, String, f64)| way == "own";
    let own: f64 = split(&first).iter().filter(own).map(|(.., time)| time).sum();
    assert!(about(own, 140.0), "all but the system's own 10 ms: {:?}", split(&first));
    let row = table(&first, "why/app_launches")["rows"][0].as_array().unwrap();
    assert_eq!(row[1..3], ["com.example.calendar", "cold"]);
    let times = row[3..6].iter().map(|cell| cell["value"].as_f64().unwrap() / MILLISECOND);
    assert_eq!(times.collect::<Vec<_>>(), [155.0, 150.0, 170.0]);
    assert!(row[7].as_str().unwrap().starts_with("everything it reads in memory: "), "{row:?}");
    let verdict = &first["verdicts"][0];
    assert_eq!((&verdict["answer"], &verdict["next"]), (&"yes".into(), &Value::Null));
    for form in ["compact", "packed", "gzip"] {
        let file = trace(form).unwrap();
        let record = record(file.path(), &[]);
        assert_eq!(split(&record), split(&first), "{form}");
        assert_eq!(record["tables"], first["tables"], "{form}");
        assert_eq!(warnings(&record), warnings(&first), "{form}");
    }
}

#[test]
fn a_late_frame_is_explained_by_the_lock_of_a_thread() {
    let Some(file) = trace("compact") else { return };
    let frame = record(file.path(), &["--app-frame", "205"]);
    let lock = split(&frame).into_iter().find(|(way, ..)| way == "lock");
    // The call was recorded on ARM, and is known here by its name.
    assert!(lock.is_some_and(|(.., time)| about(time, 30.0)), "{:?}", split(&frame));
    let late = &table(&frame, "why/app_frames")["rows"];
    assert_eq!((&late[0][0], &late[1][0]), (&"77".into(), &"205".into()), "the latest first");
    let said = refused(file.path(), &["--app-frame", "201"]);
    assert!(
        said.contains("frame 201 is not late; those that are late by most are 77, 205"),
        "{said}"
    );
}

#[test]
fn slices_and_processes_are_chosen_by_name() {
    let Some(file) = trace("compact") else { return };
    let slice = record(file.path(), &["--app-slice", "bindApp"]);
    let rows = table(&slice, "why/slices")["rows"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[0][0]), (1, &"bindApplication".into()));
    assert!(about(time_of(&slice, "storage"), 20.0), "{:?}", split(&slice));
    // By the name of the process, which is longer than that of its thread.
    let process = ["--process", "com.example.calendar", "--since", "+5ms", "--until", "+100ms"];
    let process = record(file.path(), &process);
    assert_eq!(table(&process, "why/window")["rows"][0][1], "xample.calendar (300)");
    for (options, expected) in [
        (["--app-slice", "nothing"], "it has no slice whose name begins with \"nothing\""),
        (["--app-launch", "2"], "it has launches 1 to 1, but no launch 2"),
        (["--app-launch", "0"], "it has launches 1 to 1, but no launch 0"),
        (["--process", "nobody"], "the recording has no process called nobody"),
    ] {
        let said = refused(file.path(), &options);
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn launches_frames_and_slices_are_shown_again() {
    let Some(file) = trace("compact") else { return };
    let path = file.path().to_str().unwrap();
    for (options, title) in [
        (&[][..], "Launches in the recording"),
        (&["--app-frame", "0"][..], "Late frames"),
        (&["--app-slice", "bindApp"][..], "The longest slices of this name"),
    ] {
        let printed = check(&[&["why", path][..], options].concat());
        assert!(printed.contains(title), "{printed}");
    }
}

#[test]
fn an_exported_trace_is_read_back() {
    let Some(file) = trace("compact") else { return };
    let exported = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = exported.path().to_str().unwrap();
    let first = record(file.path(), &["--perfetto", path]);
    let again = record(exported.path(), &[]);
    assert_eq!(split(&again), split(&first));
}
