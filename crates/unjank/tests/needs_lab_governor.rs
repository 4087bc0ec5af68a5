//! The governor models compared with the real ondemand governor of a virtual phone.
//!
//! Needs the same as `needs_lab.rs`.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod phone;

use phone::{in_one_phone_with, lab};
use serde_json::Value;

const RATE: &str = "/sys/devices/system/cpu/cpufreq/ondemand/sampling_rate";
const PROFILES: usize = 6;
/// The number of profiles that the model must follow.
const FOLLOWED: usize = 5;
/// How often a period is tried. A load may come closer to the boundary between two frequencies
/// than a trace can resolve, and the answer is then "cannot tell". A model that is wrong answers
/// "no", which no further attempt excuses.
const ATTEMPTS: usize = 3;

/// Compares the model with the governor, in a phone of `cpus` CPUs.
fn follows(cpus: usize, periods: [u32; 3]) {
    if !lab() {
        return;
    }
    let (mut left, mut verdicts) = (periods.to_vec(), Vec::new());
    for _ in 0..ATTEMPTS {
        (left, verdicts) = not_followed(cpus, &left).into_iter().unzip();
        if left.is_empty() {
            return;
        }
    }
    panic!("{cpus} CPUs, {left:?} µs: fewer than {FOLLOWED} profiles: {verdicts:#?}");
}

/// The periods at which too few of the model's profiles are known to follow the governor, with the
/// verdicts.
fn not_followed(cpus: usize, periods: &[u32]) -> Vec<(u32, Value)> {
    let commands: Vec<String> = periods
        .iter()
        .map(|period| {
            format!("unjank with {RATE}={period} -- unjank launch verify --json --no-store")
        })
        .collect();
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let options = ["--pstates", "exynos4210"];
    let mut left = Vec::new();
    for (&period, ran) in periods.iter().zip(in_one_phone_with(&options, cpus, &[], &commands)) {
        let record = ran.json();
        let verdicts = record["verdicts"].as_array().unwrap();
        assert_eq!(verdicts.len(), PROFILES);
        let answered = |answer: &str| verdicts.iter().filter(|one| one["answer"] == answer).count();
        assert!(answered("no") <= PROFILES - FOLLOWED, "{cpus} CPUs, {period} µs: {verdicts:#?}");
        if answered("yes") < FOLLOWED {
            left.push((period, record["verdicts"].clone()));
        }
    }
    left
}

// Periods of whole ticks, and others.

#[test]
fn the_model_of_ondemand_follows_the_real_one_of_one_cpu() {
    follows(1, [50_000, 97_000, 200_000]);
}

#[test]
fn the_model_of_ondemand_follows_the_real_one_of_two_cpus() {
    follows(2, [98_000, 99_000, 100_000]);
}
