//! `unjank swap record` in a virtual phone, where cgroup version 2 limits memory, `unjank swap
//! tune`, and `unjank swap bench` with every arm.
//!
//! Needs QEMU and the phone's kernel (`unjank lab fetch`). Fails without them
//! when `UNJANK_TEST_ALL=1`, otherwise says that it was skipped.

mod phone;

use phone::{RunPhone as _, compiled, lab, lab_run_counted, texts};
use serde_json::Value;

/// The recorded program needs twice its limit.
#[test]
fn a_program_is_pushed_into_swap_under_a_limit_of_version_2() {
    if !lab() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let program = compiled(directory.path(), "pages", include_str!("phone/pages.c"));
    let output = lab_run_counted()
        .args(["--cpu-count", "1", "--no-store", "--add"])
        .arg(program)
        .args(["--", "unjank", "swap", "record", "--json", "--out", "/run/trace.parquet"])
        .args(["--memory-limit", "12MiB", "--swap-size", "128MiB", "--directory", "/run"])
        .args(["--", "pages", "--and", "unjank", "swap", "convert", "--to", "csv"])
        .args(["/run/trace.parquet", "-"])
        .run_phone();
    let (stdout, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let mut documents = serde_json::Deserializer::from_str(&stdout).into_iter::<Value>();
    let record = documents.next().unwrap().unwrap();
    let fact = |name: &str| {
        let facts = record["facts"].as_array().unwrap();
        let fact = facts.iter().find(|fact| fact["name"] == name);
        fact.unwrap_or_else(|| panic!("there is no {name}"))["value"].as_f64().unwrap()
    };
    for name in ["pswpin", "pswpout"] {
        let share = fact(&format!("swap/record/traced_of_{name}"));
        assert!((0.98..=1.02).contains(&share), "{share} of {name}");
    }
    assert_eq!(fact("swap/record/lost_events") as u64, 0);
    assert!(fact("swap/memory_stat/pgmajfault") > 0.0, "the group's own counters");
    let table = &stdout[documents.byte_offset()..];
    let paged = table.lines().filter(|line| line.contains(",page-out,anonymous,/unjank-"));
    assert!(paged.count() > 1000, "{} lines", table.lines().count());
}

/// The phone's kernel has more algorithms than most, and no other program that holds memory.
#[test]
fn the_phones_swap_is_tuned_and_taken_back() {
    if !lab() {
        return;
    }
    let tune = |arguments: &[&'static str]| [&["unjank", "swap", "tune"][..], arguments].concat();
    let host = ["unjank", "host", "--json"];
    let commands = [
        tune(&["--no-store", "--json", "--sample-size", "1MiB", "--directory", "/run", "--apply"]),
        host.to_vec(),
        tune(&["--undo", "--json"]),
        host.to_vec(),
    ];
    let output = lab_run_counted()
        .args(["--cpu-count", "1", "--no-store", "--"])
        .args(commands.join(&"--and"))
        .run_phone();
    let (stdout, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let mut documents = serde_json::Deserializer::from_str(&stdout).into_iter::<Value>();
    let record = documents.next().unwrap().unwrap();
    let reason = record["verdicts"][0]["reason"].as_str().unwrap();
    assert!(reason.starts_with("it is now: zram of "), "{reason}");
    let mut next = || documents.next().unwrap().unwrap();
    let (applied, undone, after) = (next(), next(), next());
    let swaps = |host: &Value| host["memory"]["swap"].as_array().unwrap().len();
    assert_eq!(swaps(&applied), 1, "{applied}");
    assert_eq!(undone["changes"][0]["outcome"], "put_back", "{undone}");
    assert_eq!(swaps(&after), 0, "{after}");
}

/// The only kernel here with ublk and with zram that writes back.
#[test]
fn apps_run_out_of_memory_in_every_arm_and_no_page_is_wrong() {
    if !lab() {
        return;
    }
    let arms = ["swap", "no-swap", "zram:4MiB", "tier:4MiB", "tierd:4MiB"];
    let output = lab_run_counted()
        .args(["--cpu-count", "1", "--no-store", "--disk", "512MiB", "--"])
        .args(["unjank", "swap", "bench", "--json", "--no-store", "--directory", "/data"])
        .args(["--scale", "0.05", "--pinned", "0", "--memory", "12MiB", "--runs", "1"])
        .args(["--arm", &arms.join(",")])
        .run_phone();
    let (stdout, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let record: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(record["unsupported"].as_array().unwrap().len(), 0, "{}", record["unsupported"]);
    let tables = record["tables"].as_array().unwrap();
    let storage = tables.iter().find(|table| table["name"] == "swap/bench/storage").unwrap();
    let rows = storage["rows"].as_array().unwrap();
    assert_eq!(rows.len(), arms.len());
    for (row, arm) in rows.iter().zip(arms) {
        assert_eq!(row[0], *arm);
        let number = |at: usize| row[at]["value"].as_f64().unwrap_or_default();
        assert!(number(1) > 0.0, "{row}");
        assert_eq!(number(5) > 0.0, arm != "no-swap", "swapped out: {row}");
        // The paper's policy keeps no page in its tier before it is evicted again.
        let is_fast = arm.starts_with("zram") || arm.starts_with("tierd");
        assert!(number(6) > 0.0 || !is_fast, "from the fast part: {row}");
        assert_eq!(number(8) > 0.0, arm == "no-swap", "killed: {row}");
    }
}
