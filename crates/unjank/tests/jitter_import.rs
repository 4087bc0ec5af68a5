//! `unjank jitter import` on the command line.
#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../jitter/fixtures").join(name)
}

fn unjank(arguments: &[&str]) -> Output {
    Command::new(unjank_needs::unjank!()).args(arguments).output().unwrap()
}

fn import(file: &Path, more: &[&str]) -> Output {
    let mut arguments = vec!["jitter", "import", file.to_str().unwrap()];
    arguments.extend(more);
    unjank(&arguments)
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_record_names_tool_and_machine() {
    let output = import(&fixture("cyclictest.json"), &["--no-store", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(record["command"], "jitter import");
    assert_eq!(record["labels"], serde_json::json!(["imported"]));
    assert_eq!(record["settings"]["tool"], "cyclictest");
    assert_eq!(record["started_at"], "2026-11-22T08:54:21Z");
    assert_eq!(record["elapsed"], 2_000_000_000_u64);
    assert_eq!(record["host"]["kernel"]["release"], "6.18.44");
    assert_eq!(record["host"]["cpu"]["online"], 0, "the CPUs of this machine are not recorded");
    assert_eq!(record["verdicts"][0]["subject"], "jitter");
}

#[test]
fn the_same_file_is_one_run_and_is_compared_with_a_run_here() {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("runs.sqlite");
    let store = store.to_str().unwrap();
    let measured = unjank(&["jitter", "native", "--sched=other", "--count=300", "--store", store]);
    assert_eq!(measured.status.code(), Some(0), "{}", said(&measured));
    for _ in 0..2 {
        let output = import(&fixture("cyclictest.json"), &["--store", store]);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    }
    let listed = unjank(&["runs", "list", "--store", store]);
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert_eq!(listed.matches("jitter import [imported]").count(), 1, "{listed}");
    let imported = listed.lines().find(|line| line.contains("import")).unwrap();
    let id = imported.split_whitespace().next().unwrap();
    let newest = listed.lines().find(|line| line.contains("jitter native")).unwrap();
    let newest = newest.split_whitespace().next().unwrap();
    let compared = unjank(&["runs", "compare", id, newest, "--json", "--store", store]);
    assert_eq!(compared.status.code(), Some(0), "{}", said(&compared));
    let compared: Value = serde_json::from_slice(&compared.stdout).unwrap();
    let subjects: Vec<_> = compared["effects"].as_array().unwrap().iter().collect();
    assert!(!subjects.is_empty(), "{compared}");
    assert!(compared["warnings"].to_string().contains("only the kernel of its machine is known"));
    let differences = compared["differences"].to_string();
    assert!(!differences.contains("governor"), "unknown is no difference: {differences}");
}

#[test]
fn a_file_without_a_distribution_is_a_result_with_code_3() {
    let output = import(&fixture("cyclictest-no-histogram.json"), &["--no-store"]);
    assert_eq!(output.status.code(), Some(3));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("jitter/import/latest"), "{text}");
    assert!(text.contains("--histogram=N, for wake-ups less than N late"), "{text}");
}

#[test]
fn errors_name_file_and_line() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("broken.json");
    for (bytes, expected) in [
        (&b"{\n\"thread\": {\n"[..], "broken.json, line 3: EOF while parsing"),
        (b"{\n}", "broken.json, line 1: neither \"thread\", which cyclictest writes"),
        (b"# Histogram\n000001 000002\n", "broken.json, line 1: expected value"),
        (b"{\n\n\"\xff\"}", "broken.json, line 3: not valid UTF-8"),
    ] {
        fs::write(&file, bytes).unwrap();
        let output = import(&file, &["--no-store"]);
        assert_eq!(output.status.code(), Some(1));
        assert!(output.stdout.is_empty());
        assert!(said(&output).contains(expected), "{}", said(&output));
    }
    let nowhere = import(Path::new("/nowhere/out.json"), &["--no-store"]);
    assert!(said(&nowhere).contains("cannot read /nowhere/out.json"), "{}", said(&nowhere));
    let known = import(&fixture("cyclictest.json"), &["--no-store", "--priority=80"]);
    assert_eq!(known.status.code(), Some(2));
    assert!(said(&known).contains("the file of cyclictest already says"), "{}", said(&known));
    let wrong = import(&fixture("cyclictest.json"), &["--no-store", "--priority=100"]);
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn a_file_may_come_through_a_pipe() {
    let mut child = Command::new(unjank_needs::unjank!())
        .args(["jitter", "import", "-", "--no-store", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let bytes = fs::read(fixture("cyclictest-quotes.json")).unwrap();
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(record["series"][0]["n"], 20);
}
