//! Jo & Suh's three experiments on this machine, in one run: launch times for
//! several loads (Fig. 2), the basic launch time (Fig. 3), and the energy of an
//! idle machine at each sampling period (Table 3).
//!
//! Jeongho Jo, Hyo-Joong Suh: Performance Improvement of Application Programs
//! using an Adaptive Sampling Method.
//!
//! | module | subject |
//! |---|---|
//! | [`setup`] | the experiments as options |
//! | `results` | the results of the experiments |
//! | `published` | the paper's values as facts and curves |
//! | `tables` | the paper's values beside ours |
//! | `claims` | the paper's claims beside the results |

mod claims;
mod published;
mod results;
pub mod setup;
mod tables;

pub use results::{FigureRow, PaperResults};

use unjank_host::energy::Meter;
use unjank_host::journal::Session;
use unjank_host::{Error, Machine, Nanos, Result, Root, Support};
use unjank_measure::Monitor;
use unjank_measure::monitor::Part;

use crate::bench::{self, rows};
use crate::power::governor::Governors;
use crate::power::rates;
use crate::simulate::paper::Prediction;

/// The governor of the paper.
const GOVERNOR: &str = "ondemand";
/// The sampling period without a launch, and the reference of Table 3.
pub const NORMAL: Nanos = Nanos::from_millis(100);
/// The sampling period that the service sets during a launch.
pub const DURING: Nanos = Nanos::from_millis(50);
/// The sampling periods of Table 3.
pub const PERIODS: [Nanos; 4] = [Nanos::from_millis(10), DURING, NORMAL, Nanos::from_millis(200)];

/// The experiments of the paper to run, and the prediction to compare them with.
#[derive(Debug, Clone)]
pub struct Options {
    /// Launches without the service and with it, one workload for each load of
    /// the prediction; `None` to leave Fig. 2 and 3 out.
    pub launches: Option<bench::Options>,
    /// Idle energy; `None` to leave Table 3 out.
    pub energy: Option<rates::Options>,
    /// The model's prediction for the same launches.
    pub prediction: Prediction,
}

/// Whether the experiments are possible here; the reason is a sentence without a
/// full stop.
///
/// # Errors
/// The kernel's list of CPUs is invalid.
pub fn supported(root: &Root) -> Result<Support<()>> {
    let other = Machine::clocks(root).into_iter().find(|policy| policy.governor != GOVERNOR);
    Ok(match (Governors::find(root)?, other) {
        (Support::No(reason), _) => Support::No(reason),
        (Support::Yes(_), Some(policy)) => Support::No(format!(
            "the governor of {} is {}, but the paper's is {GOVERNOR}; set it: unjank with \
             {}/scaling_governor={GOVERNOR} -- …",
            policy.name,
            policy.governor,
            policy.path.display()
        )),
        (Support::Yes(_), None) => Support::Yes(()),
    })
}

/// The model's name for the rules of ondemand in a kernel of this release.
/// Unknown releases count as new.
pub fn rules(release: &str) -> &'static str {
    let mut numbers = release.split(['.', '-']).map(str::parse::<u32>);
    let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next()) else {
        return GOVERNOR;
    };
    match (major, minor) {
        (..=2, _) | (3, ..=3) => "ondemand:3.0",
        (3, 4..=12) => "ondemand:3.4",
        (3, _) | (4, ..=5) => "ondemand:3.13",
        _ => GOVERNOR,
    }
}

impl PaperResults {
    /// Predictions only, if nothing can be measured.
    pub fn predicted(prediction: &Prediction) -> Self {
        let mut results = Self::default();
        results.fill(prediction);
        results
    }

    /// Adds the lines of Fig. 2 and 3, and the paper's values.
    fn fill(&mut self, prediction: &Prediction) {
        let mut measured = rows(&self.findings);
        let mut row = |name: &str| {
            let at = measured.iter().position(|row| row.name == name)?;
            Some(measured.swap_remove(at))
        };
        let line = |load, measured, predicted| FigureRow { load, measured, predicted };
        for (load, predicted) in &prediction.total {
            let row = row(&format!("launch/bench/{}/total", workload(*load)));
            self.total.push(line(Some(*load), row, *predicted));
        }
        self.basic = Some(line(None, row("launch/bench/basic"), prediction.basic));
        published::note_launches(self, prediction);
        self.findings.tables = tables::tables(self);
    }
}

/// The name of the workload with this load.
pub fn workload(load: Nanos) -> String {
    let nanos = load.get();
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];
    let whole = |&(_, unit): &(&str, u64)| nanos > 0 && nanos.is_multiple_of(unit);
    match units.into_iter().find(whole) {
        Some((name, unit)) => format!("load-{}{name}", nanos / unit),
        None => "load-0".to_owned(),
    }
}

/// Runs the experiments, launches first. Ctrl-C ends them; the results so far
/// are kept.
///
/// # Errors
/// Those of [`bench::run`] and [`rates::run`].
pub fn run(
    options: &Options,
    session: &Session,
    root: &Root,
    meter: Option<&mut dyn Meter>,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<PaperResults> {
    let times = [options.launches.as_ref().map_or(0.0, launch_seconds), energy_seconds(options)];
    let launches = times[0] / times.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let mut results = PaperResults::default();
    if let Some(bench) = &options.launches {
        let share = Part::new(monitor, "Fig. 2 and 3", 0.0, launches);
        results.findings = bench::run(bench, Some(session), root, None, seed, &share)?;
        results.fill(&options.prediction);
    }
    let (Some(energy), Some(meter)) = (&options.energy, meter) else { return Ok(results) };
    if monitor.stop_requested() {
        return Ok(results);
    }
    let share = Part::new(monitor, "Table 3", launches, 1.0 - launches);
    match rates::run(energy, meter, root, session, seed, &share) {
        Ok(Support::Yes(measured)) => {
            results.periods = measured.table();
            results.findings.merge(measured.findings());
            published::note_energy(&mut results);
        }
        Ok(Support::No(reason)) | Err(Error::Unsupported(reason)) => {
            results.findings.not_supported("launch/power/energy", reason);
        }
        Err(error) => return Err(error),
    }
    Ok(results)
}

/// Estimated time of all launches under both conditions.
fn launch_seconds(options: &bench::Options) -> f64 {
    let each = options.pause.as_secs_f64() + 1.0;
    (options.workloads.len() * (options.pairs + options.warm_up) * 2) as f64 * each
}

fn energy_seconds(options: &Options) -> f64 {
    let Some(energy) = &options.energy else { return 0.0 };
    (energy.rounds * energy.rates.len()) as f64 * energy.window.whole.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_have_the_rules_of_their_release() {
        let all =
            ["2.6.35", "3.0.101", "3.4.0-perf", "3.13.1", "4.5", "4.6.0", "6.12.57+deb13", "?"];
        assert_eq!(
            all.map(rules),
            [
                "ondemand:3.0",
                "ondemand:3.0",
                "ondemand:3.4",
                "ondemand:3.13",
                "ondemand:3.13",
                "ondemand",
                "ondemand",
                "ondemand"
            ]
        );
    }

    #[test]
    fn without_a_machine_there_are_predictions_and_the_papers_values() {
        let loads = [0, 200].map(Nanos::from_millis);
        let total = loads.map(|load| (load, -0.03)).to_vec();
        let prediction = Prediction { governor: "ondemand".to_owned(), total, basic: -0.04 };
        let results = PaperResults::predicted(&prediction);
        assert_eq!(results.total.len(), 2);
        assert!(results.total.iter().all(|line| line.measured.is_none()));
        let value = |name: &str| results.findings.fact_named(name).unwrap().value;
        let named = ["in_paper", "predicted"]
            .map(|by| value(&format!("launch/paper/fig3/basic_change_{by}")).to_string());
        assert_eq!(named, ["-0.0334", "-0.04"]);
        let modelled = results.findings.facts.iter();
        let modelled =
            modelled.filter(|fact| fact.labels.get("origin").is_some_and(|o| o == "modelled"));
        assert_eq!(modelled.count(), 3);
    }

    #[test]
    fn loads_are_segments_of_names() {
        let names = [0, 1_500_000_000, 200_000_000, 3_000, 7].map(|nanos| workload(Nanos(nanos)));
        assert_eq!(names, ["load-0", "load-1500ms", "load-200ms", "load-3us", "load-7ns"]);
    }

    #[test]
    fn without_a_governor_the_reason_is_given() {
        let Support::No(reason) = supported(&Root::at("/nonexistent")).unwrap() else { panic!() };
        assert!(reason.contains("no cpufreq files"), "{reason}");
    }
}
