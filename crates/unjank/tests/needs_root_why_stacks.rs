//! `unjank why` names the functions in which threads wait, hold locks and compute.
//!
//! Fails without root when `UNJANK_TEST_ALL=1`, otherwise says that it was skipped.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod hostile;
mod known;

use std::path::Path;
use std::process::Command;

use assert_cmd::assert::OutputAssertExt as _;
use hostile::{BIDI, check, check_both};
use known::Known;
use serde_json::Value;
use unjank_needs::attempts::until_ok;

const FRAME_POINTERS: &[&str] = &["-fno-omit-frame-pointer", "-fno-asynchronous-unwind-tables"];
const TABLES: &[&str] = &["-fomit-frame-pointer", "-fasynchronous-unwind-tables"];
const NEITHER: &[&str] =
    &["-fomit-frame-pointer", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"];

/// The record of a launch, and its folded stacks.
fn explain(known: &Known, command: &[String]) -> (Value, String) {
    let folded = known.file("folded");
    let mut why = Command::new(unjank_needs::unjank!());
    why.args(["why", "--no-store", "--json", "--folded", &folded, "--"]).args(command);
    let output = why.assert().success();
    let record = serde_json::from_slice(&output.get_output().stdout).unwrap();
    (record, std::fs::read_to_string(folded).unwrap())
}

/// As [`explain`], of a program whose thread waits for a lock; the ring buffer sometimes lacks a
/// switch or a system call.
fn explain_lock(known: &Known, command: &[String]) -> (Value, String) {
    until_ok(|| {
        let (record, folded) = explain(known, command);
        // A wait whose switch is lacking has no stack.
        let has_stack =
            |name| column(&record, "why/locks", name).first().is_some_and(|it| !it.is_empty());
        if has_stack("waits in") && has_stack("holder in") {
            Ok((record, folded))
        } else {
            Err(record["tables"].to_string())
        }
    })
}

/// A column of a table, as text.
fn column<'a>(record: &'a Value, table: &str, name: &str) -> Vec<&'a str> {
    let tables = record["tables"].as_array().unwrap();
    let table = tables.iter().find(|it| it["name"] == table).unwrap();
    let columns = table["columns"].as_array().unwrap();
    let at = columns.iter().position(|column| column["name"] == name).unwrap();
    let rows = table["rows"].as_array().unwrap().iter();
    rows.map(|row| row[at].as_str().unwrap_or_default()).collect()
}

fn sum(folded: &str) -> f64 {
    folded.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()).sum()
}

#[test]
fn a_lock_has_the_functions_of_its_sleeper_and_its_holder() {
    if !unjank_needs::root() {
        return;
    }
    let known = Known::new();
    for (name, flags) in [("pointers", FRAME_POINTERS), ("tables", TABLES)] {
        let (record, folded) = explain_lock(&known, &known.command_with("cache", name, flags));
        let sleeper = column(&record, "why/locks", "waits in")[0];
        assert!(sleeper.contains("mutex_lock <- cache_get <- main"), "{name}: {sleeper}");
        let holder = column(&record, "why/locks", "holder in")[0];
        assert!(holder.contains("cache_fill <- cache_put <- work"), "{name}: {holder}");
        let waits = column(&record, "why/waits", "function");
        assert!(waits.contains(&sleeper), "{name}: {waits:?}");
        assert!(folded.contains(";work;cache_put;cache_fill"), "{name}: {folded}");
        // A sample in the function itself, too, has its callers.
        assert!(!folded.contains(");cache_fill"), "{name}: {folded}");
        let facts = record["facts"].as_array().unwrap();
        let total = facts.iter().find(|fact| fact["name"] == "why/total").unwrap();
        assert_eq!(Some(sum(&folded)), total["value"].as_f64(), "{name}");
    }
}

#[test]
fn a_stack_that_cannot_be_followed_ends_with_a_question_mark() {
    if !unjank_needs::root() {
        return;
    }
    let known = Known::new();
    let (record, _) = explain_lock(&known, &known.command_with("cache", "neither", NEITHER));
    let sleeper = column(&record, "why/locks", "waits in")[0];
    assert!(sleeper.contains("mutex_lock") && sleeper.ends_with(" <- ?"), "{sleeper}");
    assert!(!sleeper.contains("main"), "{sleeper}");
}

#[test]
fn generated_code_has_the_names_that_its_program_gives_it_and_no_others() {
    if !unjank_needs::root() || cfg!(not(target_arch = "x86_64")) {
        return;
    }
    let known = Known::new();
    let hostile = format!("evil;\u{1b}[31m{BIDI}\nffffffff 1 other");
    let maps = Maps(&hostile);
    let (_, folded) = explain(&known, &known.command("generated", &["/tmp", &hostile]));
    drop(maps);
    assert!(folded.contains(";evil,\\u{1b}[31mb\\u{202e}\\u{2066}\\u{9b}2J "), "{folded}");
    check(&folded, "folded stacks");
    // Without a map, code has only addresses.
    let (_, folded) =
        explain(&known, &known.command("generated", &[&known.file("."), "elsewhere"]));
    assert!(folded.contains(";0x") && !folded.contains("elsewhere"), "{folded}");
}

#[test]
fn the_name_of_a_function_steers_no_terminal() {
    if !unjank_needs::root() {
        return;
    }
    let known = Known::new();
    let program = known.command("named", &[]);
    let perfetto = known.file("trace.perfetto");
    // A recording that lacks a switch may lack the stack with the name.
    until_ok(|| {
        let mut why = Command::new(unjank_needs::unjank!());
        why.args(["why", "--no-store", "--perfetto", &perfetto, "--folded", "-", "--"]);
        let output = why.args(&program).output().unwrap();
        let both = check_both(&output, "why");
        let trace = std::fs::read(&perfetto).unwrap();
        let has = |text: &str| trace.windows(text.len()).any(|bytes| bytes == text.as_bytes());
        assert!(!has("\u{202e}"), "the trace has the name escaped");
        let is_named = both.contains("evil\\u{202e}\\u{2066}\\u{200b}") && has("evil\\u{202e}");
        is_named.then_some(()).ok_or(both)
    });
}

/// The maps of generated code in /tmp that contain this text, which are removed at the end.
struct Maps<'a>(&'a str);

impl Drop for Maps<'_> {
    fn drop(&mut self) {
        for file in std::fs::read_dir("/tmp").into_iter().flatten().flatten() {
            let path = file.path();
            let is_map = path.file_name().and_then(|name| name.to_str()).is_some_and(is_map);
            if is_map && std::fs::read_to_string(&path).is_ok_and(|text| text.contains(self.0)) {
                let _gone_already = std::fs::remove_file(path);
            }
        }
    }
}

fn is_map(name: &str) -> bool {
    name.starts_with("perf-") && Path::new(name).extension().is_some_and(|it| it == "map")
}

#[test]
fn without_the_permission_to_record_stacks_the_rest_is_explained() {
    // Without CAP_SYS_ADMIN, unjank cannot mount it for itself.
    if !unjank_needs::tracefs() {
        return;
    }
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap();
    if paranoid.trim().parse::<i32>().unwrap() < 2 {
        // Any user may record stacks on this machine.
        return;
    }
    let mut why = Command::new("setpriv");
    why.args(["--bounding-set=-sys_admin,-perfmon", "--inh-caps=-sys_admin,-perfmon"])
        .arg(unjank_needs::unjank!())
        .args(["why", "--no-store", "--json", "--", "sleep", "0.05"]);
    let output = why.assert().success();
    let record: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    let unsupported = record["unsupported"].as_array().unwrap();
    let reason = unsupported.iter().find(|it| it["what"] == "why/stacks").unwrap();
    assert!(reason["reason"].as_str().unwrap().contains("CAP_PERFMON"), "{reason}");
    assert!(column(&record, "why/waits", "function").iter().all(|text| text.is_empty()));
}

#[test]
fn stacks_can_be_left_out() {
    if !unjank_needs::root() {
        return;
    }
    let mut why = Command::new(unjank_needs::unjank!());
    why.args(["why", "--no-store", "--json", "--no-stacks", "--", "sleep", "0.05"]);
    let output = why.assert().success();
    let record: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    assert!(column(&record, "why/waits", "function").iter().all(|text| text.is_empty()));
    assert!(record["unsupported"].as_array().unwrap().iter().all(|it| it["what"] != "why/stacks"));
}
