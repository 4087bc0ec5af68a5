//! `unjank why FILE` explains a recording without any privilege.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

const FORMS: [&str; 4] = ["launch.v6.dat", "launch.v7.dat", "launch.v7.zlib.dat", "launch.txt"];

fn fixture(name: &str) -> String {
    let fixtures = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../host/fixtures/trace-file");
    fixtures.join(name).to_str().unwrap().to_owned()
}

fn why(arguments: &[&str]) -> Output {
    let mut command = Command::new(unjank_needs::unjank!());
    command.args(["why", "--no-store"]).args(arguments).output().unwrap()
}

fn record(arguments: &[&str]) -> Value {
    let output = why(&[&["--json"], arguments].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn refused(arguments: &[&str], code: i32) -> String {
    let output = why(arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{said}");
    said
}

/// The facts about the launch, without those about the clock that every run has.
fn facts(record: &Value) -> Vec<Value> {
    let facts = record["facts"].as_array().unwrap().iter();
    facts.filter(|fact| fact["name"].as_str().unwrap().starts_with("why/")).cloned().collect()
}

fn window(record: &Value) -> Vec<String> {
    let table = &record["tables"][0];
    assert_eq!(table["name"], "why/window");
    let cells = table["rows"].as_array().unwrap().iter().flat_map(|row| row.as_array().unwrap());
    cells.filter_map(Value::as_str).map(str::to_owned).collect()
}

#[test]
fn every_form_of_a_recording_is_explained_alike() {
    let first = record(&[&fixture(FORMS[0]), "--process", "true"]);
    let expected = facts(&first);
    let value = |fact: &Value| fact["value"].as_f64().unwrap() as u64;
    let (total, parts) = expected.split_first().unwrap();
    assert_eq!(total["name"], "why/total");
    assert_eq!(parts.iter().map(value).sum::<u64>(), value(total));
    assert!(parts.iter().any(|fact| fact["labels"]["activity"] == "timer"), "{parts:?}");
    for form in FORMS {
        let record = record(&[&fixture(form), "--process", "sh"]);
        assert_eq!(facts(&record), expected, "{form}");
        assert_eq!(record["tables"], first["tables"], "{form}");
    }
}

/// The launch of `true` with another clock of CPU 1 from its exec on.
#[test]
fn clocks_of_a_recording_are_those_of_its_events() {
    let lines = fs::read_to_string(fixture("launch.txt")).unwrap();
    let clock = |line: &str, khz: u32| {
        let at = line.split_whitespace().find(|word| word.starts_with("40328.")).unwrap();
        format!("      sh-25395   1d..1. {at} cpu_frequency: state={khz} cpu_id=1")
    };
    let first = lines.lines().position(|line| line.contains(" 40328.")).unwrap();
    let changed = lines.lines().enumerate().flat_map(|(number, line)| {
        let khz = match line {
            _ if line.contains("filename=/usr/bin/true") => Some(2_000_000),
            _ => (number == first).then_some(500_000),
        };
        khz.map(|khz| clock(line, khz)).into_iter().chain([line.to_owned()])
    });
    let text = changed.collect::<Vec<_>>().join("\n") + "\n";
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("launch.txt");
    fs::write(&file, text).unwrap();
    let known = record(&[file.to_str().unwrap(), "--process", "sh"]);
    let slow = |record: &Value| {
        let slow = |fact: &Value| fact["labels"]["activity"] == "slow-clock";
        facts(record).into_iter().find(slow).map(|fact| fact["value"].as_f64().unwrap())
    };
    assert!(slow(&known) > Some(0.0), "{known:#}");
    assert!(known["warnings"].to_string().contains("the highest one that the recording has"));
    let unknown = record(&[&fixture("launch.txt"), "--process", "sh"]);
    assert_eq!(slow(&unknown), None);
    assert!(unknown.to_string().contains("the recording has no cpu_frequency events"));
}

#[test]
fn the_output_says_what_was_chosen() {
    let file = fixture(FORMS[0]);
    let whole = window(&record(&[&file, "--process", "sh"]));
    assert_eq!(whole[..2], ["thread", "true (25395)"]);
    assert_eq!(whole[4], "the first exec of the process");
    assert_eq!(whole[7], "the end of the thread");
    let child = window(&record(&[&file, "--process", "sleep"]));
    assert_eq!(child[4], "the first exec of the process");
    let part = record(&[&file, "--process", "25395", "--since", "40328.893", "--until", "+4ms"]);
    let chosen = window(&part);
    assert_eq!(chosen[3..5], ["40328.893000000 s", "--since"]);
    assert_eq!(chosen[7], "--until");
    let shown = String::from_utf8(why(&[&file, "--process", "sh"]).stdout).unwrap();
    assert!(shown.contains("What is explained"), "{shown}");
}

#[test]
fn a_process_must_be_named_so_that_it_is_one() {
    let file = fixture(FORMS[0]);
    let said = refused(&[&file], 2);
    assert!(said.contains("name a process with --process: "), "{said}");
    assert!(said.contains("true (25395), sleep ("), "those that were executed come first: {said}");
    let said = refused(&[&file, "--process", "nobody"], 2);
    assert!(said.contains("has no process called nobody; it has "), "{said}");
    let said = refused(&[&file, "--process", "rustc"], 2);
    assert!(said.contains("2 processes are called rustc: rustc (25082), rustc ("), "{said}");
    let said = refused(&[&file, "--process", "sh", "--until", "+0"], 2);
    assert!(said.contains("there is nothing from "), "{said}");
}

#[test]
fn a_recording_and_a_launch_exclude_each_other() {
    let file = fixture(FORMS[0]);
    refused(&[], 2);
    refused(&[&file, "--", "true"], 2);
    refused(&[&file, "--process", "sh", "--ready", "notify"], 2);
    refused(&[&file, "--process", "sh", "--trace-file", "x"], 2);
    refused(&["--process", "sh", "--", "true"], 2);
    let said = refused(&[&file, "--prove"], 2);
    let error = "error: the argument '[FILE]' cannot be used with '--prove[=<CHANGE>]'";
    assert_eq!(said.lines().next(), Some(error), "only what was typed");
    let said = refused(&["--trace-file", "/tmp/x", "-n", "2", "--", "true"], 2);
    assert!(said.contains("--trace-file keeps one launch"), "{said}");
}

#[test]
fn a_file_that_is_no_recording_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("trace.dat");
    let name = file.to_str().unwrap();
    let said = refused(&[name], 2);
    assert!(said.contains("No such file"), "{said}");
    fs::write(&file, "hello\n").unwrap();
    let said = refused(&[name], 1);
    assert!(said.contains("it is no recording that unjank reads"), "{said}");
    fs::write(&file, "a-5 [000] 1.000000: sched_switch: x\n").unwrap();
    assert!(refused(&[name], 1).contains("line 1: there is no column of flags"));
    let whole = fs::read(fixture(FORMS[1])).unwrap();
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    assert!(refused(&[name], 1).contains("byte "), "cut off");
    // A hole of 5 GiB.
    fs::File::create(&file).unwrap().set_len(5 << 30).unwrap();
    assert!(refused(&[name], 1).contains("too large"));
}
