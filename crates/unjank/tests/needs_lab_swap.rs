//! `unjank swap record` in a virtual phone, where cgroup version 2 limits memory.
//!
//! Needs QEMU and the phone's kernel (`unjank lab fetch`). Fails without them
//! when `UNJANK_TEST_ALL=1`, otherwise says that it was skipped.

mod phone;

use phone::{compiled, lab, lab_run_counted, texts};
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
        .args(["--memory-limit", "16MiB", "--swap-size", "128MiB", "--directory", "/run"])
        .args(["--", "pages", "--and", "unjank", "swap", "convert", "--to", "csv"])
        .args(["/run/trace.parquet", "-"])
        .output()
        .unwrap();
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
