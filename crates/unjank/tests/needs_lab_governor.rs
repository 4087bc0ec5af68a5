//! The governor models beside the real ondemand governor of a virtual phone.
//!
//! Needs what `needs_lab.rs` needs.

#![expect(clippy::unwrap_used, reason = "what a test does to set itself up may panic")]

mod phone;

use phone::{lab, lab_run_counted, texts};
use serde_json::Value;

const RATE: &str = "/sys/devices/system/cpu/cpufreq/ondemand/sampling_rate";
const PROFILES: usize = 6;
/// A load may lie so close to the boundary between two frequencies that the
/// microseconds decide which no trace tells.
const FOLLOWED: usize = 5;

/// Answers of `launch verify` by profile, in a phone of so many CPUs.
fn answers(cpus: &str, period: u32) -> Vec<(String, String)> {
    let rate = format!("{RATE}={period}");
    let output = lab_run_counted()
        .args(["--pstates", "exynos4210", "--no-store", "--cpus", cpus, "--"])
        .args(["unjank", "with", &rate, "--", "unjank", "launch", "verify", "--json"])
        .output()
        .unwrap();
    let (stdout, stderr) = texts(&output);
    let record: Value = serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{stderr}"));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    record["verdicts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|verdict| (text(&verdict["answer"]), text(&verdict["reason"])))
        .collect()
}

#[test]
fn the_model_of_ondemand_follows_the_real_one() {
    if !lab() {
        return;
    }
    // Periods of whole ticks, and others.
    for (cpus, periods) in [("1", [50_000, 97_000, 200_000]), ("2", [98_000, 99_000, 100_000])] {
        for period in periods {
            let all = answers(cpus, period);
            assert_eq!(all.len(), PROFILES);
            let followed = all.iter().filter(|(answer, _)| answer == "yes").count();
            assert!(followed >= FOLLOWED, "{cpus} CPUs, {period} µs: {all:#?}");
        }
    }
}
