//! The paper's experiments as options: its device, its service, its conditions.

use std::ffi::OsString;
use std::path::Path;

use unjank_host::machine::FrequencyPolicy;
use unjank_host::{Nanos, Result};

use super::{DURING, NORMAL, PERIODS};
use crate::bench::{self, Condition, ReadyMeans, Service, Workload, shorthand};
use crate::power::{Window, rates};

/// The paper's device.
pub const DEVICE: &str = "exynos4210";

/// The service's configuration: every leader of a process group counts. A boost
/// ends with its launch, not at a learned length.
pub const RULES: &str = "\
[launch]
not_executables = []
not_control_groups = []

[boost]
longest = \"60s\"
budget = \"60s\"
learn = false
";

/// The usual sampling period on the clocks of `policies`.
///
/// # Errors
/// `Unsupported` without the governor's knob.
pub fn baseline(policies: &[FrequencyPolicy]) -> Result<Condition> {
    let knobs = shorthand::knobs("sampling_rate", &micros(NORMAL), policies)?;
    Ok(Condition { name: format!("ondemand at {NORMAL}"), knobs, ..Condition::default() })
}

/// `unjank launch boost` as the paper's service. `rules` is a file with [`RULES`];
/// the journal is in `state_dir`, or where the command keeps it.
pub fn service(rules: &Path, socket: &Path, state_dir: Option<&Path>) -> Condition {
    let mut command: Vec<OsString> =
        ["/proc/self/exe", "launch", "boost", "--quiet", "--no-store"].map(OsString::from).into();
    let mut option = |name: &str, value: OsString| command.extend([name.into(), value]);
    option("--method", "sampling-rate".into());
    option("--normal-sampling-rate", micros(NORMAL).into());
    option("--sampling-rate", micros(DURING).into());
    option("--config", rules.into());
    option("--socket", socket.into());
    if let Some(state_dir) = state_dir {
        option("--state-dir", state_dir.into());
    }
    Condition {
        name: format!("the service ({DURING} for launches)"),
        service: Some(Service { command, notifies: true, own: true }),
        ..Condition::default()
    }
}

/// Pairs of launches with [`baseline`] and [`service`].
pub fn launches(
    workloads: Vec<Workload>,
    [baseline, service]: [Condition; 2],
    pairs: usize,
    means: ReadyMeans,
) -> bench::Options {
    bench::Options {
        workloads,
        baseline,
        is_alone: false,
        others: vec![service],
        pairs,
        warm_up: 1,
        pause: Nanos::from_millis(500),
        wake_every: Nanos::from_millis(20),
        timeout: Nanos::from_millis(30_000),
        energy_window: Nanos::from_millis(3_000),
        drop_caches: false,
        means,
    }
}

/// Idle energy at each period of Table 3.
pub fn energy(window: Window, rounds: usize) -> rates::Options {
    rates::Options {
        rates: PERIODS.to_vec(),
        reference: NORMAL,
        window,
        rounds,
        // Less than the smallest difference in the paper.
        min_effect: 0.005,
    }
}

fn micros(period: Nanos) -> String {
    format!("{}us", period.get() / 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remedy::Config;

    #[test]
    fn the_rules_of_the_service_are_good() {
        let config = Config::parse(RULES, Path::new("boost.toml")).unwrap();
        assert!(!config.boost.learn);
        assert!(config.launch.not_control_groups.is_empty());
    }
}
