//! Knobs of all clocks by short names: `governor=performance`,
//! `sampling_rate=50ms`, `min_freq=max`.

use std::path::{Path, PathBuf};

use jiff::SignedDuration;
use unjank_host::machine::FrequencyPolicy;
use unjank_host::{Error, Hertz, Result};

/// The files and values for every policy that has such a knob.
///
/// # Errors
/// `Invalid` for a name that no machine has, or a value that is not a frequency;
/// `Unsupported` where no policy has it.
pub(crate) fn knobs(
    name: &str,
    value: &str,
    policies: &[FrequencyPolicy],
) -> Result<Vec<(PathBuf, String)>> {
    if !is_known(name, policies) {
        return Err(Error::Invalid(format!(
            "unknown key {name:?} of a condition; expected governor, min_freq, max_freq, epp, a \
             tunable of a governor, such as sampling_rate, or a knob as for unjank with, which has \
             a dot or a slash"
        )));
    }
    if policies.is_empty() {
        return Err(Error::Unsupported(format!(
            "{name}={value}: the kernel has no cpufreq files here (as in most virtual machines)"
        )));
    }
    let mut found: Vec<(PathBuf, String)> = Vec::new();
    for policy in policies {
        let own = |file: &str| policy.path.join(file);
        let knob = match name {
            "governor" => (own("scaling_governor"), value.to_owned()),
            "min_freq" => (own("scaling_min_freq"), frequency(value, policy)?),
            "max_freq" => (own("scaling_max_freq"), frequency(value, policy)?),
            "epp" => (own("energy_performance_preference"), value.to_owned()),
            _ => match tunable(name, policy) {
                Some(directory) => (directory.join(name), in_microseconds(value)),
                None => continue,
            },
        };
        // Policies may share their tunables.
        if !found.contains(&knob) {
            found.push(knob);
        }
    }
    if found.is_empty() {
        let governors: Vec<&str> = policies.iter().map(|policy| policy.governor.as_str()).collect();
        return Err(Error::Unsupported(format!(
            "{name}: the governor {} has no such tunable (knobs as for unjank with have a dot or a \
             slash)",
            governors.join(", ")
        )));
    }
    Ok(found)
}

/// Keys that exist on some machine: those of all clocks, and the tunables of the
/// kernel's governors and of Android's (`interactive`, `walt`).
const KEYS: [&str; 4] = ["governor", "min_freq", "max_freq", "epp"];
const TUNABLES: [&str; 29] = [
    // ondemand, conservative
    "down_threshold",
    "freq_step",
    "ignore_nice_load",
    "io_is_busy",
    "powersave_bias",
    "sampling_down_factor",
    "sampling_rate",
    "sampling_rate_min",
    "up_threshold",
    // schedutil, walt
    "adaptive_high_freq",
    "adaptive_low_freq",
    "down_rate_limit_us",
    "hispeed_freq",
    "hispeed_load",
    "iowait_boost_enable",
    "pl",
    "rate_limit_us",
    "up_rate_limit_us",
    // interactive
    "above_hispeed_delay",
    "align_windows",
    "boost",
    "boostpulse",
    "boostpulse_duration",
    "go_hispeed_load",
    "max_freq_hysteresis",
    "min_sample_time",
    "target_loads",
    "timer_rate",
    "timer_slack",
];

/// Whether `name` is a key on this or another machine.
fn is_known(name: &str, policies: &[FrequencyPolicy]) -> bool {
    KEYS.contains(&name)
        || TUNABLES.contains(&name)
        || policies.iter().any(|policy| tunable(name, policy).is_some())
}

/// The directory of the governor's tunables, if `name` is one of them.
fn tunable<'a>(name: &str, policy: &'a FrequencyPolicy) -> Option<&'a Path> {
    policy.tunables_path.as_deref().filter(|_| policy.tunables.contains_key(name))
}

/// A time in microseconds, the unit of governors. A number alone is in that unit already.
fn in_microseconds(value: &str) -> String {
    let is_number = value.parse::<f64>().is_ok();
    match value.parse::<SignedDuration>() {
        Ok(time) if time.is_positive() && !is_number => time.as_micros().to_string(),
        _ => value.to_owned(),
    }
}

/// In kHz, as cpufreq has it.
fn frequency(value: &str, policy: &FrequencyPolicy) -> Result<String> {
    let khz = |hertz: Hertz| (hertz.0 / 1_000).to_string();
    let number = |text: &str, khz: u64| {
        let number: u64 = text.trim().parse().ok()?;
        number.checked_mul(khz).map(|khz| khz.to_string())
    };
    let units = [("GHz", 1_000_000), ("MHz", 1_000), ("kHz", 1)];
    let typed = || {
        let (unit, factor) = units.into_iter().find(|(unit, _)| value.ends_with(unit))?;
        number(value.strip_suffix(unit)?, factor)
    };
    match value {
        "max" => Ok(khz(policy.hardware_max)),
        "min" => Ok(khz(policy.hardware_min)),
        _ => typed().ok_or_else(|| {
            Error::Invalid(format!(
                "{value:?} is not a frequency; expected min, max or a number such as 800MHz"
            ))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policies() -> Vec<FrequencyPolicy> {
        let policy = |number: u32| FrequencyPolicy {
            path: format!("/sys/policy{number}").into(),
            governor: "ondemand".to_owned(),
            hardware_min: Hertz::from_khz(200_000),
            hardware_max: Hertz::from_khz(1_200_000),
            tunables_path: Some("/sys/ondemand".into()),
            tunables: [("sampling_rate".to_owned(), "100000".to_owned())].into(),
            ..FrequencyPolicy::default()
        };
        vec![policy(0), policy(4)]
    }

    fn found(name: &str, value: &str) -> Vec<(String, String)> {
        let found = knobs(name, value, &policies()).unwrap();
        found.into_iter().map(|(path, value)| (path.display().to_string(), value)).collect()
    }

    fn both(file: &str, value: &str) -> Vec<(String, String)> {
        [0, 4].map(|policy| (format!("/sys/policy{policy}/{file}"), value.to_owned())).into()
    }

    #[test]
    fn short_names_are_files_of_every_policy() {
        assert_eq!(found("governor", "performance"), both("scaling_governor", "performance"));
        assert_eq!(found("min_freq", "max"), both("scaling_min_freq", "1200000"));
        assert_eq!(found("max_freq", "800MHz"), both("scaling_max_freq", "800000"));
        assert_eq!(found("min_freq", "1GHz"), both("scaling_min_freq", "1000000"));
        assert_eq!(found("epp", "power"), both("energy_performance_preference", "power"));
    }

    #[test]
    fn tunables_that_policies_share_are_one_knob() {
        let expected = [("/sys/ondemand/sampling_rate".to_owned(), "50000".to_owned())];
        assert_eq!(found("sampling_rate", "50ms"), expected);
        assert_eq!(found("sampling_rate", "50000"), expected);
    }

    #[test]
    fn unknown_keys_and_values_are_refused() {
        let says =
            |name: &str, value: &str| knobs(name, value, &policies()).unwrap_err().to_string();
        assert!(
            says("rate_limit_us", "1ms")
                .starts_with("rate_limit_us: the governor ondemand, ondemand has")
        );
        for wrong in ["fast", "MHz", "-1MHz", "99999999999999999999GHz", "99999999999999999GHz"] {
            assert!(says("min_freq", wrong).contains("is not a frequency"), "{wrong}");
        }
        assert!(matches!(knobs("governor", "x", &[]), Err(Error::Unsupported(_))));
        for policies in [policies(), Vec::new()] {
            let typo = knobs("samplingrate", "50ms", &policies);
            let Err(Error::Invalid(said)) = typo else { panic!("{typo:?}") };
            assert!(said.starts_with("unknown key \"samplingrate\" of a condition; "), "{said}");
        }
    }
}
