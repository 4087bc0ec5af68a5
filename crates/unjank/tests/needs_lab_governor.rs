//! The governor models compared with the real ondemand governor of a virtual phone.
//!
//! Needs the same as `needs_lab.rs`.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod phone;

use phone::{in_one_phone_with, lab};

const RATE: &str = "/sys/devices/system/cpu/cpufreq/ondemand/sampling_rate";
const PROFILES: usize = 6;
/// The number of profiles that the model must follow. A load may be closer to the
/// boundary between two frequencies than a trace can resolve.
const FOLLOWED: usize = 5;

/// Compares the model with the governor, in a phone of `cpus` CPUs.
fn follows(cpus: usize, periods: [u32; 3]) {
    if !lab() {
        return;
    }
    let commands = periods.map(|period| {
        format!("unjank with {RATE}={period} -- unjank launch verify --json --no-store")
    });
    let commands = commands.each_ref().map(String::as_str);
    let options = ["--pstates", "exynos4210"];
    for (period, ran) in periods.iter().zip(in_one_phone_with(&options, cpus, &[], &commands)) {
        let record = ran.json();
        let verdicts = record["verdicts"].as_array().unwrap();
        assert_eq!(verdicts.len(), PROFILES);
        let followed = verdicts.iter().filter(|verdict| verdict["answer"] == "yes").count();
        assert!(followed >= FOLLOWED, "{cpus} CPUs, {period} µs: {verdicts:#?}");
    }
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
