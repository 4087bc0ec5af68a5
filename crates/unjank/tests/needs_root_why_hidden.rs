//! `unjank why` as root where tracefs is hidden, and where it cannot be mounted either.
//!
//! Needs root and the programs `unshare` and `setpriv` of util-linux. Fails without root when
//! `UNJANK_TEST_ALL=1`, otherwise says that it was skipped.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod known;

use std::process::{Command, Output, Stdio};

use known::explained::{cells, nanos};
use serde_json::Value;
use unjank_needs::attempts::until_ok;
use unjank_needs::wait::Process;

/// In a mount namespace of its own: nothing below `/sys/kernel` is to be seen, tracefs and debugfs
/// among it.
const COVERED: &str = "mount -t tmpfs none /sys/kernel";
/// Root without the capability to mount tracefs, as in most containers.
const WITHOUT_MOUNTS: &str = "setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin";
/// Why nothing is recorded there.
const REASON: &str = "tracing needs root (CAP_SYS_ADMIN)";

/// `unjank why` in a mount namespace with tracefs covered, started by way of `through`.
fn why(through: &str, arguments: &[&str]) -> Output {
    let script = format!("{COVERED} && exec {through} \"$@\"");
    Command::new("unshare")
        .args(["--mount", "sh", "-c", &script, "sh", unjank_needs::unjank!()])
        .args(["why", "--no-store"])
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn texts(output: &Output) -> [String; 2] {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

fn record(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", texts(output)[1]);
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Checks a record of counters only. Returns its facts.
fn counted(record: &Value) -> Vec<(String, f64)> {
    let missing = record["unsupported"].as_array().unwrap();
    let missing = missing.iter().find(|it| it["what"] == "why/time").unwrap();
    assert_eq!(missing["reason"], REASON);
    let verdict = &record["verdicts"][0];
    assert_eq!(verdict["answer"], "not_available", "{verdict}");
    assert!(verdict["reason"].as_str().unwrap().ends_with(REASON), "{verdict}");
    let facts = record["facts"].as_array().unwrap();
    assert!(!facts.iter().any(|fact| fact["name"] == "why/time"));
    let named = |fact: &Value| fact["name"].as_str().unwrap().to_owned();
    facts.iter().map(|fact| (named(fact), fact["value"].as_f64().unwrap())).collect()
}

fn amount(counted: &[(String, f64)], name: &str) -> f64 {
    counted.iter().find(|(of, _)| of == name).unwrap_or_else(|| panic!("{name}: {counted:?}")).1
}

#[test]
fn a_covered_tracefs_is_mounted_privately() {
    if !unjank_needs::root() {
        return;
    }
    until_ok(|| {
        let (cells, total) = cells(&record(&why("", &["--json", "--", "sleep", "0.2"])))?;
        assert!(total >= 200_000_000, "{cells:?}");
        Ok(())
    });
}

#[test]
fn root_that_may_not_mount_tracefs_gets_what_the_kernel_counts() {
    if !unjank_needs::root() {
        return;
    }
    let counted = counted(&record(&why(WITHOUT_MOUNTS, &["--json", "--", "sleep", "0.2"])));
    assert!(amount(&counted, "why/total") >= 200_000_000.0, "{counted:?}");
    assert!(amount(&counted, "why/voluntary") >= 1.0, "{counted:?}");
    assert!(amount(&counted, "why/minor_faults") >= 1.0, "{counted:?}");
    let output = why(WITHOUT_MOUNTS, &["--", "sleep", "0.2"]);
    let [out, err] = texts(&output);
    assert_eq!(output.status.code(), Some(0), "{err}");
    let out = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(out.contains("What is known without a recording"), "{out}");
    assert!(out.contains(&format!("n/a ({REASON})")), "{out}");
}

#[test]
fn a_window_without_tracefs_is_counted_as_well() {
    if !unjank_needs::root() {
        return;
    }
    let mut sleeper = Command::new("sleep").arg("600").spawn().unwrap();
    let id = sleeper.id();
    Process(id).until_it_has_slept(1);
    let options = ["--json", "--for", "300ms", "--pid", &id.to_string()];
    let output = why(WITHOUT_MOUNTS, &options);
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    let record = record(&output);
    let counted = counted(&record);
    assert!(amount(&counted, "why/total") >= 300_000_000.0, "{counted:?}");
    let total = record["facts"].as_array().unwrap().iter().find(|it| it["name"] == "why/total");
    assert!(nanos(total.unwrap()) >= 300_000_000);
}

#[test]
fn what_needs_a_recording_is_refused() {
    if !unjank_needs::root() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("launch.dat").display().to_string();
    for options in [&["--cost"][..], &["--prove"], &["--prove=cpu"], &["--trace-file", &file]] {
        let output = why(WITHOUT_MOUNTS, &[options, &["--", "true"]].concat());
        let [out, err] = texts(&output);
        assert_eq!(output.status.code(), Some(3), "{options:?}: {out}{err}");
        assert!(err.contains(REASON), "{options:?}: {err}");
    }
}
