//! Simulates Jo & Suh's experiment: ondemand on a Galaxy S II with a period of
//! 100 ms, and 50 ms during a launch.
//!
//! Jeongho Jo, Hyo-Joong Suh: Performance Improvement of Application Programs
//! using an Adaptive Sampling Method. Fig. 2 has run times from launch to
//! screen for several lengths of a load on both CPUs, 2 to 5 % shorter with
//! the short period, less for longer loads. Fig. 3 has them without the load:
//! 3.34 % shorter.
//!
//! The paper states neither the launch time without load nor the reaction time
//! of the service. Both are assumptions here, and the findings have the results
//! for other values.
//!
//! The expected gain follows from the governor's delay. A launch at a random
//! moment gets full speed after the first window that was entirely busy: on
//! average half a period and a whole one later, 150 ms at 100 ms. If 50 ms are
//! written at once, it is 75 ms where a new period takes effect at once, and half
//! of the old period plus the new one, 100 ms, where it does not. Until then five
//! sixths of the time are lost at 200 of 1200 MHz.

use unjank_host::{Nanos, Result};
use unjank_measure::record::{Answer, Axis, Direction};
use unjank_measure::{Curve, Fact, Findings, Point, Unit, Verdict};

use super::Scenario;
use crate::model::{Boost, Governor, Machine, Profile, Tunable};

/// The paper's change of the basic launch time (Fig. 3).
pub const FIG_3_CHANGE: f64 = -0.0334;
/// The paper's range of changes of the launch time (Fig. 2).
pub const FIG_2_RANGE: [f64; 2] = [-0.05, -0.02];

/// Values that the paper does not state.
#[derive(Debug, Clone)]
pub struct Assumptions {
    /// The device that stands for the paper's.
    pub machine: Machine,
    /// The possible rules of its kernel's governor.
    pub governors: Vec<String>,
    /// The work of a launch without load, at full clock, on one thread.
    pub work: Nanos,
    /// The delay until the service writes.
    pub reaction: Nanos,
    /// Lengths of the load, at full clock, on each CPU.
    pub loads: Vec<Nanos>,
    /// Number of moments within a period at which each launch begins.
    pub phases: u32,
}

impl Assumptions {
    /// A second of work, a service that writes at once, and loads of 0.1 to
    /// 0.8 s. In Samsung's 3.0 kernel for the device, a shorter period takes
    /// effect at once, as in 3.4 (the `flexrate` files in the paper are from the
    /// same code). In 3.0 itself it does not.
    pub fn usual(machine: Machine) -> Self {
        Self {
            machine,
            governors: ["ondemand:3.4", "ondemand:3.0"].map(str::to_owned).to_vec(),
            work: Nanos::from_millis(1_000),
            reaction: Nanos::ZERO,
            loads: [100, 200, 400, 800].map(Nanos::from_millis).to_vec(),
            phases: 100,
        }
    }

    /// The change of a launch of `work` with `load` if the period is shortened
    /// after `reaction`: of the whole launch, and of the launch less the load.
    fn change(
        &self,
        governor: &str,
        work: Nanos,
        reaction: Nanos,
        load: Nanos,
    ) -> Result<[f64; 2]> {
        let scenario = Scenario {
            machine: self.machine.clone(),
            governor: governor.to_owned(),
            values: Vec::new(),
            profiles: vec![Profile::launch(work, load, self.machine.cpus)],
            phases: self.phases,
        };
        let ondemand = scenario.governor()?;
        let seconds = |boost: &Boost, governor: &Governor| {
            scenario.simulate(governor, boost).map(|phases| phases[0].mean_seconds())
        };
        let without = seconds(&Boost::none(), &ondemand)?;
        let plain = Boost::plain(reaction, Tunable::SamplingRate, 50_000, 100_000);
        let with = seconds(&plain, &ondemand)?;
        let load = load.as_secs_f64();
        Ok([with / without - 1.0, (with - load) / (without - load) - 1.0])
    }
}

/// Simulates the experiment, and decides whether it gives the paper's values.
///
/// # Errors
/// As [`run`](super::run).
pub fn run(assumed: &Assumptions) -> Result<Findings> {
    let mut findings = Findings::default();
    let mut rules = Vec::new();
    for governor in &assumed.governors {
        let rule = Prediction::of(assumed, governor)?;
        rule.note(&mut findings);
        rules.push(rule);
    }
    for (end, value) in [("least", FIG_2_RANGE[1]), ("most", FIG_2_RANGE[0])] {
        let fact = change_fact("fig2/launch_change_in_paper", value, "end", end);
        findings.facts.push(fact);
    }
    let fact = change_fact("fig3/basic_change_in_paper", FIG_3_CHANGE, "load", "any");
    findings.facts.push(fact);
    let spread = sensitivity(assumed, &mut findings)?;
    findings.verdicts.push(verdict_on_fig2(&rules));
    findings.verdicts.push(verdict_on_fig3(&rules, spread));
    findings.warn(format!(
        "assumed, since the paper does not state it: {} of work at full clock until on screen, \
         loads of {} to {}, {} until the service has written",
        assumed.work,
        assumed.loads.first().copied().unwrap_or_default(),
        assumed.loads.last().copied().unwrap_or_default(),
        assumed.reaction
    ));
    Ok(findings)
}

/// Both figures under one rule, as shares of what they are without the service.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// The governor, and the first kernel with its rules.
    pub governor: String,
    /// The change of the whole launch for each load.
    pub total: Vec<(Nanos, f64)>,
    /// The change of the launch less the load, mean over the loads.
    pub basic: f64,
}

impl Prediction {
    /// Simulates the governor called `governor`.
    ///
    /// # Errors
    /// As [`run`](super::run).
    pub fn of(assumed: &Assumptions, governor: &str) -> Result<Self> {
        let mut total = Vec::new();
        let mut basic = 0.0;
        for load in &assumed.loads {
            let of_load = assumed.change(governor, assumed.work, assumed.reaction, *load)?;
            total.push((*load, of_load[0]));
            basic += of_load[1];
        }
        Ok(Self { governor: governor.to_owned(), basic: basic / total.len().max(1) as f64, total })
    }

    fn note(&self, findings: &mut Findings) {
        for (load, change) in &self.total {
            let mut fact = change_fact("fig2/launch_change", *change, "load", &load.to_string());
            fact.labels.insert("governor".to_owned(), self.governor.clone());
            findings.facts.push(fact);
        }
        let fact = change_fact("fig3/basic_change", self.basic, "governor", &self.governor);
        findings.facts.push(fact);
        findings.curves.push(Curve {
            name: "launch/simulate/paper/fig2".to_owned(),
            x: Axis::new("load at full clock (assumed)", Unit::Nanoseconds),
            y: Axis::new("change of the launch time (modelled)", Unit::Ratio),
            labels: [("governor".to_owned(), self.governor.clone())].into(),
            points: self.total.iter().map(|(load, change)| point(*load, *change)).collect(),
        });
    }
}

/// The change of the basic launch time under other assumptions: one curve over
/// the work for each kernel and reaction. Returns the smallest and the largest
/// change.
fn sensitivity(assumed: &Assumptions, findings: &mut Findings) -> Result<[f64; 2]> {
    let mut spread = [f64::INFINITY, f64::NEG_INFINITY];
    for governor in &assumed.governors {
        for reaction in [0, 50, 100].map(Nanos::from_millis) {
            let mut points = Vec::new();
            for work in [500, 750, 1_000, 1_500, 2_000].map(Nanos::from_millis) {
                let [change, _] = assumed.change(governor, work, reaction, Nanos::ZERO)?;
                spread = [spread[0].min(change), spread[1].max(change)];
                points.push(point(work, change));
            }
            let labels = [("governor", governor.clone()), ("reaction", reaction.to_string())];
            findings.curves.push(Curve {
                name: "launch/simulate/paper/sensitivity".to_owned(),
                x: Axis::new("work of a launch at full clock (assumed)", Unit::Nanoseconds),
                y: Axis::new("change of the basic launch time (modelled)", Unit::Ratio),
                labels: labels.map(|(name, value)| (name.to_owned(), value)).into(),
                points,
            });
        }
    }
    Ok(spread)
}

fn verdict_on_fig2(rules: &[Prediction]) -> Verdict {
    let mut any = false;
    let parts = rules.iter().map(|rule| {
        let changes: Vec<f64> = rule.total.iter().map(|(_, change)| *change).collect();
        // The paper's range is in whole percents.
        let inside = |change: &f64| {
            (FIG_2_RANGE[0]..=FIG_2_RANGE[1]).contains(&((change * 100.0).round() / 100.0))
        };
        let shrinks = changes.windows(2).all(|pair| pair[0] < pair[1]);
        any |= shrinks && changes.iter().all(inside);
        let ends = [changes.first(), changes.last()].map(|end| percent(*end.unwrap_or(&0.0)));
        let how = if shrinks { "shrinking" } else { "not always shrinking" };
        format!("{} to {} with {}, {how}", ends[0], ends[1], rule.governor)
    });
    let parts: Vec<String> = parts.collect();
    verdict(
        "Does the model give Fig. 2 of Jo & Suh, −5 to −2 % and less for longer loads?",
        any,
        format!("modelled: {}", parts.join("; ")),
    )
}

fn verdict_on_fig3(rules: &[Prediction], spread: [f64; 2]) -> Verdict {
    // Half a percent: the effect of 50 ms more or less work in a launch.
    let near = rules.iter().any(|rule| (rule.basic - FIG_3_CHANGE).abs() <= 0.005);
    let parts: Vec<String> = rules
        .iter()
        .map(|rule| format!("{} with {}", percent(rule.basic), rule.governor))
        .collect();
    verdict(
        "Does the model give Fig. 3 of Jo & Suh, −3.34 %, to half a percent?",
        near,
        format!(
            "modelled: {}; {} to {} over all works and reactions tried",
            parts.join(", "),
            percent(spread[0]),
            percent(spread[1])
        ),
    )
}

fn verdict(question: &str, yes: bool, reason: String) -> Verdict {
    Verdict::new("launch", question, if yes { Answer::Yes } else { Answer::No }, reason)
}

fn change_fact(name: &str, change: f64, label: &str, value: &str) -> Fact {
    let name = format!("launch/simulate/paper/{name}");
    let mut fact = Fact::new(name, change, Unit::Ratio).with_better(Direction::Smaller);
    fact.labels.insert(label.to_owned(), value.to_owned());
    fact
}

fn point(x: Nanos, y: f64) -> Point {
    Point { x: x.0 as f64, y, interval: None }
}

fn percent(share: f64) -> String {
    format!("{}{:.2} %", if share < 0.0 { "−" } else { "+" }, (share * 100.0).abs())
}

#[cfg(test)]
mod tests {
    use super::super::tests::machine;
    use super::*;

    #[test]
    fn the_gain_follows_from_the_governors_delay() {
        // With the service's write at once, a launch is at full speed after 75
        // instead of 150 ms on average, and until then at a sixth of it.
        let assumed = Assumptions::usual(machine(2));
        let change = |governor, work, reaction| {
            let reaction = Nanos::from_millis(reaction);
            assumed.change(governor, Nanos::from_millis(work), reaction, Nanos::ZERO).unwrap()[0]
        };
        let at_once = change("ondemand:3.4", 1_000, 0);
        let expected = -0.075 * 5.0 / 6.0 / 1.125;
        assert!((at_once - expected).abs() < 0.008, "{at_once} {expected}");
        // Less for later services, longer launches and older kernels.
        assert!(change("ondemand:3.4", 1_000, 50) > at_once);
        assert!(change("ondemand:3.4", 2_000, 0) > at_once);
        assert!(change("ondemand:3.0", 1_000, 0) > at_once);
    }

    #[test]
    fn the_findings_have_both_values() {
        let mut assumed = Assumptions::usual(machine(2));
        assumed.phases = 10;
        let findings = run(&assumed).unwrap();
        assert_eq!(findings.verdicts.len(), 2);
        let paper = findings.fact_named("launch/simulate/paper/fig3/basic_change_in_paper");
        assert_eq!(percent(paper.unwrap().value), "−3.34 %");
        assert_eq!(findings.curves.len(), 8);
    }
}
