//! `unjank launch boost` in a virtual phone, under its real ondemand governor.
//!
//! Needs QEMU and the phone's kernel (`unjank lab fetch`). Fails without them
//! when `UNJANK_TEST_ALL=1`, otherwise says that it was skipped.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]
// The tests print how many processes they killed, and when.
#![allow(clippy::print_stdout)]

mod phone;

use std::collections::BTreeMap;
use std::process::Command;

use phone::{RunPhone as _, example, lab, lab_run_counted, texts};
use serde_json::Value;

/// Kills in each of two phones.
const KILLS: u64 = 30;
const CPUFREQ: &str = "/sys/devices/system/cpu/cpufreq";

/// The phone with the clock, and the program that watches and kills.
fn with_clock() -> Command {
    let mut phone = lab_run_counted();
    phone.args(["--no-store", "--pstates", "exynos4210", "--cpu-count", "2", "--add"]);
    phone.arg(example("boost_kills")).arg("--");
    phone
}

/// Each method changes its knob during a launch, and restores it.
#[test]
fn a_launch_raises_the_clock_and_restores_it() {
    if !lab() {
        return;
    }
    let mut phone = with_clock();
    let methods = ["sampling-rate", "double-tap", "min-freq"];
    for (number, method) in methods.iter().enumerate() {
        let and = (number > 0).then_some("--and");
        phone.args(and).args(["boost_kills", "unjank", method]);
    }
    let output = phone.run_phone();
    let (stdout, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let mut seen: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for line in stdout.lines() {
        let (knob, values) = line.split_once(": ").unwrap();
        let knob = knob.replace(CPUFREQ, "");
        seen.entry(knob).or_default().push(values);
    }
    // The period for two of the methods, and both CPUs' clocks for the third.
    let rates = &seen["/ondemand/sampling_rate"];
    assert_eq!(rates, &["100000 50000 100000"; 2], "{stdout}");
    let clocks = seen.iter().filter(|(knob, _)| knob.ends_with("scaling_min_freq"));
    let clocks: Vec<_> = clocks.collect();
    assert!(!clocks.is_empty(), "{stdout}");
    assert!(clocks.iter().all(|(_, values)| **values == ["200000 1200000 200000"]), "{stdout}");
}

/// The whole loop with measured launches: the paper's app under each method.
#[test]
fn launches_are_measured_under_each_method_and_nothing_stays_changed() {
    if !lab() {
        return;
    }
    let mut phone = with_clock();
    phone.args(["unjank", "host", "--json"]);
    phone.args(["--and", "unjank", "launch", "bench", "--load", "0", "--basic", "200ms"]);
    phone.args(["--emulated-clock", "--pairs", "3", "--json", "--a", "as-is"]);
    let methods = ["--method sampling-rate", "--double-tap", "--method min-freq"];
    let conditions = methods.map(|method| format!("boost:{method} --no-store"));
    for condition in &conditions {
        phone.args(["--b", condition]);
    }
    let output = phone.args(["--and", "unjank", "host", "--json"]).run_phone();
    let (stdout, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let documents = serde_json::Deserializer::from_str(&stdout).into_iter::<Value>();
    let documents: Vec<Value> = documents.map(Result::unwrap).collect();
    let [before, record, after] = documents.as_slice() else { panic!("{stdout}") };
    let limits = |host: &Value| -> Vec<Value> {
        let policies = host["frequency"].as_array().unwrap().iter();
        policies.map(|one| serde_json::json!([one["min"], one["max"], one["tunables"]])).collect()
    };
    assert_eq!(limits(before), limits(after), "put back");
    assert_eq!(record["host"]["frequency"][0]["governor"], "ondemand");
    let all = record["series"].as_array().unwrap();
    let totals = all.iter().filter(|one| one["name"].as_str().unwrap().ends_with("/total"));
    let counts: Vec<_> = totals.map(|one| (one["n"].clone(), one["missed"].clone())).collect();
    // Three pairs of arms: each method, and the unchanged phone.
    assert_eq!(counts, vec![(Value::from(3), Value::from(0)); 6], "{stderr}");
}

/// The trial before an installation finds what helps the phone.
#[test]
fn a_trial_finds_a_method_that_helps() {
    if !lab() {
        return;
    }
    let mut phone = with_clock();
    phone.args(["unjank", "launch", "boost", "install", "--dry-run", "--emulated-clock"]);
    let output = phone.args(["--pairs", "6", "--no-store"]).run_phone();
    let (stdout, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(0), "{stdout}{stderr}");
    assert!(stderr.contains(" would be installed"), "{stdout}{stderr}");
    for method in ["min-freq", "double-tap", "sampling-rate"] {
        assert!(stdout.contains(method), "{stdout}");
    }
}

fn killed(seed: u64) {
    if !lab() {
        return;
    }
    let (kills, seed) = (KILLS.to_string(), seed.to_string());
    let output = with_clock().args(["boost_kills", "unjank", &kills, &seed]).run_phone();
    let (stdout, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(0), "{stdout}{stderr}");
    println!("{stdout}{stderr}");
    let number = |before: &str| -> u64 {
        let number = stdout.split_once(before).unwrap().0.rsplit(' ').next();
        number.unwrap().parse().unwrap()
    };
    assert_eq!(number(" kills ("), KILLS, "{stdout}");
    // Two of five are killed in a launch, and one as a launch ends.
    assert!(number(" hit a boost") >= KILLS / 5, "{stdout}");
    assert!(number(" with the keeper") >= KILLS / 10, "{stdout}");
}

// 60 kills in total, at different moments of the same service.

#[test]
fn killed_at_random_moments_every_knob_has_its_first_value() {
    killed(1);
}

#[test]
fn killed_at_other_random_moments_every_knob_has_its_first_value() {
    killed(2);
}
