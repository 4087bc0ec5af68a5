//! The governor models beside the real ondemand governor of a virtual phone.
//!
//! Needs what `needs_lab.rs` needs.

#![expect(clippy::unwrap_used, reason = "what a test does to set itself up may panic")]

mod phone;

use phone::{lab, lab_run_counted, texts};
use serde_json::Value;

/// No whole number of ticks: at one, the jitter of a tick decides whether a
/// sample comes with it or a tick later.
const RATE: &str = "/sys/devices/system/cpu/cpufreq/ondemand/sampling_rate";
/// Loads of an emulated CPU lie now and then on the boundary between two
/// frequencies, where a window that is a millisecond longer decides.
const PROFILES: usize = 6;

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
    // In counted time a load lies on the same boundary in every run, so the
    // periods are such that few do. With two CPUs the model misses more.
    for (cpus, period, least) in [("1", 97_000, 4), ("2", 99_000, 3)] {
        let all = answers(cpus, period);
        assert_eq!(all.len(), PROFILES);
        let followed = all.iter().filter(|(answer, _)| answer == "yes").count();
        assert!(followed >= least, "{cpus} CPUs: {all:#?}");
    }
}
