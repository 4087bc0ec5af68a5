//! `unjank why` finds the slow clock of a virtual phone, and the replies of its binder driver.
//!
//! Needs the same as `needs_lab.rs`.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod phone;

use std::path::Path;
use std::process::Command;

use phone::{compiled, in_one_phone, in_one_phone_with, lab};
use serde_json::Value;

/// The lowest and the highest clock of Exynos 4210, in MHz.
const CLOCKS: [f64; 2] = [200.0, 1200.0];
const GOVERNOR: &str = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor";

/// The time of an activity over all ways, in nanoseconds.
fn time(record: &Value, activity: &str) -> f64 {
    let facts = record["facts"].as_array().unwrap().iter();
    let of =
        facts.filter(|fact| fact["name"] == "why/time" && fact["labels"]["activity"] == activity);
    of.map(|fact| fact["value"].as_f64().unwrap()).sum()
}

/// The share of computing time that is lost to a slow clock, from 0 to 1.
fn slow(record: &Value) -> f64 {
    let slow = time(record, "slow-clock");
    slow / (slow + time(record, "computing"))
}

#[test]
fn the_share_of_the_slow_clock_is_that_of_the_frequency() {
    if !lab() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("compute");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/known/compute.c");
    let compiled = Command::new("cc").arg(source).arg("-o").arg(&program).status().unwrap();
    assert!(compiled.success());
    let commands = ["powersave", "performance", "ondemand"].map(|governor| {
        format!(
            "unjank with {GOVERNOR}={governor} -- unjank why --json --no-store -- compute /parts"
        )
    });
    let commands = commands.each_ref().map(String::as_str);
    let ran = in_one_phone_with(&["--pstates", "exynos4210"], 1, &[program], &commands);
    let [lowest, highest, changing] = [0, 1, 2].map(|number: usize| slow(&ran[number].json()));
    let expected = 1.0 - CLOCKS[0] / CLOCKS[1];
    assert!((lowest - expected).abs() < 0.01, "{lowest}, not {expected}");
    assert!(highest < 0.01, "{highest}");
    // The governor raises the clock while the program computes.
    assert!(changing < lowest - 0.05, "{changing}");
}

#[test]
fn the_reply_of_a_binder_server_that_was_not_launched_is_proved() {
    if !lab() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let manager = compiled(directory.path(), "manager", include_str!("phone/manager.c"));
    let why = "manager /dev/binder unjank why --json --no-store -- manager --ping /dev/binder";
    let record = in_one_phone(1, &[manager], &[why])[0].json();
    let tables = record["tables"].as_array().unwrap();
    let waits = tables.iter().find(|table| table["name"] == "why/waits").unwrap();
    let mut rows = waits["rows"].as_array().unwrap().iter();
    let is_proved = |row: &Value| {
        let by = row[3].as_str().unwrap();
        row[2] == "ioctl" && by.starts_with("manager (") && row[5] == "proved"
    };
    assert!(rows.any(is_proved), "{waits:#}");
}
