//! The same launches under several boosts, compared.

use unjank_host::Result;
use unjank_measure::record::{Answer, Direction};
use unjank_measure::{Fact, Findings, Series, Unit, Verdict};

use super::{Mean, NamedBoost, Scenario};
use crate::model::simulate::Phases;

/// Limits for a boost: the least share of full speed's gain, and the most
/// additional energy.
const GAIN: f64 = 0.9;
const ENERGY: f64 = 0.03;

/// Simulates every profile under every boost. The others are compared with the
/// first boost.
///
/// # Errors
/// `Invalid` for an unknown governor, an invalid value, a boost that the governor
/// refuses, or a launch that does not end.
pub fn run(scenario: &Scenario, boosts: &[NamedBoost]) -> Result<Findings> {
    let outcomes = scenario.simulate_all(boosts)?;
    let mut findings = Findings::default();
    for (named, phases) in boosts.iter().zip(&outcomes) {
        for (profile, phases) in scenario.profiles.iter().zip(phases) {
            findings.series.push(launches(named, &profile.name, phases));
        }
    }
    let means: Vec<Mean> = outcomes.iter().map(|phases| Mean::of(phases)).collect();
    for (named, mean) in boosts.iter().zip(&means) {
        let mut fact = |name: &str, value: f64, unit| {
            let mut fact = Fact::new(format!("launch/simulate/{name}"), value, unit);
            fact.n = Some(scenario.profiles.len() as u64 * u64::from(scenario.phases));
            fact.labels.insert("boost".to_owned(), named.name.clone());
            findings.facts.push(fact);
        };
        fact("mean_launch", mean.launch * 1e9, Unit::Nanoseconds);
        fact("cpu_energy", mean.cpu.0, Unit::Joules);
        fact("device_energy", mean.device.0, Unit::Joules);
    }
    compare(boosts, &means, &mut findings);
    Ok(findings)
}

/// The series of launches at all phases.
fn launches(named: &NamedBoost, profile: &str, phases: &Phases) -> unjank_measure::SeriesRecord {
    let mut series = Series::new("launch/simulate/launch_time")
        .with_label("profile", profile)
        .with_label("boost", &*named.name);
    for launch in &phases.launches {
        series.record(*launch);
    }
    series.finish()
}

/// Adds the changes of launch time and energy, and the share of the gain of
/// `performance`, if that is among the boosts.
fn compare(boosts: &[NamedBoost], means: &[Mean], findings: &mut Findings) {
    let [without, ..] = means else { return };
    let full = boosts.iter().zip(means).find(|(named, _)| named.performance);
    let mut judged = Vec::new();
    for (named, mean) in boosts.iter().zip(means).skip(1) {
        let mut fact = |name: &str, value: f64, better| {
            let mut fact = Fact::new(format!("launch/simulate/{name}"), value, Unit::Ratio)
                .with_better(better);
            fact.labels.insert("boost".to_owned(), named.name.clone());
            findings.facts.push(fact);
        };
        let energy = mean.cpu.0 / without.cpu.0 - 1.0;
        fact("launch_change", mean.launch / without.launch - 1.0, Direction::Smaller);
        fact("cpu_energy_change", energy, Direction::Smaller);
        let Some((_, full)) = full.filter(|(other, _)| *other != named) else { continue };
        let most = without.launch - full.launch;
        if most > 0.0 {
            let share = (without.launch - mean.launch) / most;
            fact("share_of_gain", share, Direction::Larger);
            let verdict = verdict(&named.name, share, energy);
            judged.push((&*named.name, verdict.answer));
            findings.verdicts.push(verdict);
        }
    }
    findings.headline = headline(&judged);
}

/// The boosts that are worth it; `None` if none was judged.
fn headline(judged: &[(&str, Answer)]) -> Option<String> {
    let good: Vec<&str> =
        judged.iter().filter(|(_, answer)| *answer == Answer::Yes).map(|(name, _)| *name).collect();
    let count = match good.len() {
        0 => "none".to_owned(),
        count => count.to_string(),
    };
    let gain = if good.len() > 1 { "gain" } else { "gains" };
    let boosts = if judged.len() == 1 { "boost" } else { "boosts" };
    let names = if good.is_empty() { String::new() } else { format!(": {}", good.join(", ")) };
    (!judged.is_empty()).then(|| {
        format!(
            "modelled: {count} of {} {boosts} {gain} most of what full speed gains, for little \
             energy{names}",
            judged.len()
        )
    })
}

fn verdict(boost: &str, share: f64, energy: f64) -> Verdict {
    let good = share >= GAIN && energy <= ENERGY;
    Verdict::new(
        "launch",
        format!("Does {boost} gain most of what full speed gains, for little energy?"),
        if good { Answer::Yes } else { Answer::No },
        format!(
            "modelled: {:.0} % of the gain of the performance governor, CPUs take {:+.1} % energy \
             for each launch (required: at least {:.0} %, at most {:+.0} %)",
            share * 100.0,
            energy * 100.0,
            GAIN * 100.0,
            ENERGY * 100.0
        )
        .replace('-', "−"),
    )
}

#[cfg(test)]
mod tests {
    use super::super::tests::{boost, scenario};
    use super::*;
    use crate::model::{Boost, Tunable};
    use unjank_host::Nanos;

    #[test]
    fn boosts_are_compared_with_none() {
        let reaction = Nanos::from_micros(100);
        let boosts = [
            boost("none", Boost::none()),
            boost("plain", Boost::plain(reaction, Tunable::SamplingRate, 50_000, 100_000)),
            NamedBoost { performance: true, ..boost("performance", Boost::none()) },
        ];
        let findings = run(&scenario("ondemand:3.4"), &boosts).unwrap();
        assert_eq!(findings.series.len(), 3);
        assert!(findings.series.iter().all(|series| series.n == 20));
        let value = |name: &str, boost: &str| {
            let fact = findings.facts.iter().find(|fact| {
                fact.name == format!("launch/simulate/{name}") && fact.labels["boost"] == boost
            });
            fact.unwrap().value
        };
        assert!(value("launch_change", "plain") < 0.0);
        assert!(value("launch_change", "performance") < value("launch_change", "plain"));
        assert!((0.1..0.9).contains(&value("share_of_gain", "plain")));
        assert_eq!(findings.verdicts.len(), 1);
        assert_eq!(findings.verdicts[0].answer, Answer::No);
        assert_eq!(
            findings.headline.unwrap(),
            "modelled: none of 1 boost gains most of what full speed gains, for little energy"
        );
        assert!(value("device_energy", "none") > value("cpu_energy", "none"));
    }

    #[test]
    fn the_headline_names_the_boosts_that_are_worth_it() {
        let (yes, no) = (Answer::Yes, Answer::No);
        assert_eq!(
            headline(&[("plain", no), ("limit", yes), ("both", yes)]).unwrap(),
            "modelled: 2 of 3 boosts gain most of what full speed gains, for little energy: limit, \
             both"
        );
        assert!(
            headline(&[("plain", no), ("limit", yes)]).unwrap().contains("1 of 2 boosts gains")
        );
        assert_eq!(headline(&[]), None);
    }

    #[test]
    fn unknown_governors_and_refused_boosts_are_named() {
        let refusal = |name: &str, boost_: Boost| {
            run(&scenario(name), &[boost("b", boost_)]).unwrap_err().to_string()
        };
        assert!(refusal("slowest", Boost::none()).contains("unknown governor \"slowest\""));
        let rate = Boost::plain(Nanos::ZERO, Tunable::SamplingRate, 50_000, 100_000);
        assert_eq!(refusal("schedutil", rate), "schedutil: this governor has no sampling_rate");
    }
}
