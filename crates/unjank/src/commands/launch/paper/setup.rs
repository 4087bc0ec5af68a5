//! Sets up the paper's experiments on this machine.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context as _, Result};
use unjank_host::sched::CpuSet;
use unjank_host::{Machine, Nanos, Root};
use unjank_launch::bench::{self, Condition, ReadyMeans, Service, shorthand};
use unjank_launch::paper::{DURING, NORMAL, PERIODS, rules};
use unjank_launch::power::rates;
use unjank_launch::simulate::paper::{Assumptions, Prediction};
use unjank_measure::Findings;

use super::args::Args;
use crate::commands::launch::load::Threads;
use crate::commands::launch::load_app::{LoadAppArgs, workloads};
use crate::commands::launch::machine;
use crate::paths;

/// The paper's device.
pub(super) const DEVICE: &str = "exynos4210";

/// The service's configuration: every leader of a process group counts. A boost
/// ends with its launch, not at a learned length.
const RULES: &str = "\
[launch]
not_executables = []
not_control_groups = []

[boost]
longest = \"60s\"
budget = \"60s\"
learn = false
";

/// The model's prediction for the paper's device or `--device`, with this
/// machine's CPUs and its kernel's rules.
pub(super) fn prediction(args: &Args, root: &Root) -> Result<Prediction> {
    let cpus = CpuSet::allowed().map_or(2, |cpus| cpus.len()).clamp(1, 64);
    let device = args.meter.device().unwrap_or(DEVICE);
    let mut assumed = Assumptions::usual(machine::find(device, cpus, 250)?);
    assumed.work = args.basic;
    assumed.loads.clone_from(&args.load);
    let release = Machine::read(root).kernel.release;
    Ok(Prediction::of(&assumed, rules(&release))?)
}

/// Launches at 100 ms, and with the service that sets 50 ms during a launch.
pub(super) fn launches(
    args: &Args,
    root: &Root,
    directory: &Path,
    findings: &mut Findings,
) -> Result<bench::Options> {
    let policies = Machine::clocks(root);
    let micros = |period: Nanos| format!("{}us", period.get() / 1_000);
    let knobs = shorthand::knobs("sampling_rate", &micros(NORMAL), &policies)?;
    let rules = directory.join("boost.toml");
    std::fs::write(&rules, RULES).context("while writing the rules of the service")?;
    let mut command: Vec<OsString> =
        ["/proc/self/exe", "launch", "boost", "--quiet", "--no-store"].map(OsString::from).into();
    let mut option = |name: &str, value: OsString| command.extend([name.into(), value]);
    option("--method", "sampling-rate".into());
    option("--normal-sampling-rate", micros(NORMAL).into());
    option("--sampling-rate", micros(DURING).into());
    option("--config", rules.into());
    option("--socket", directory.join("boost.sock").into());
    if let Some(state_dir) = &args.state_dir {
        option("--state-dir", state_dir.into());
    }
    let load_app = LoadAppArgs {
        load: None,
        threads: Threads(None),
        basic: args.basic,
        emulated_clock: args.emulates_clock(root),
    };
    let baseline =
        Condition { name: format!("ondemand at {NORMAL}"), knobs, ..Condition::default() };
    let service = Condition {
        name: format!("the service ({DURING} for launches)"),
        service: Some(Service { command, notifies: true, own: true }),
        ..Condition::default()
    };
    Ok(bench::Options {
        workloads: workloads(&args.load, &load_app, root, findings)?,
        baseline,
        others: vec![service],
        pairs: args.pairs(),
        warm_up: 1,
        pause: Nanos::from_millis(500),
        wake_every: Nanos::from_millis(20),
        timeout: Nanos::from_millis(30_000),
        energy_window: Nanos::from_millis(3_000),
        drop_caches: false,
        means: ReadyMeans { sockets: paths::temporary(), display: None },
    })
}

/// Idle energy at each period of Table 3.
pub(super) fn energy(args: &Args) -> rates::Options {
    rates::Options {
        rates: PERIODS.to_vec(),
        reference: NORMAL,
        window: args.window(),
        rounds: args.rounds(),
        // Less than the smallest difference in the paper.
        min_effect: 0.005,
    }
}

#[cfg(test)]
mod tests {
    use unjank_launch::remedy::Config;

    use super::*;

    #[test]
    fn the_rules_of_the_service_are_good() {
        let config = Config::parse(RULES, Path::new("boost.toml")).unwrap();
        assert!(!config.boost.learn);
        assert!(config.launch.not_control_groups.is_empty());
    }
}
