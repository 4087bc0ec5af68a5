//! The results of a simulation as findings.

use unjank_measure::record::{Axis, Curve, Direction, Point};
use unjank_measure::{Fact, Findings, Unit};

use super::policy_result::PolicyResult;
use super::tables::{headline, table};
use super::{Options, Simulated};
use unjank_cachesim::bounds::Costs;

/// A table of all results, and facts and curves for each, named `swap/simulate/…`. `of` names the
/// trace.
pub fn findings(simulated: &Simulated, options: &Options, of: &str) -> Findings {
    let mut findings = Findings { headline: headline(simulated), ..Findings::default() };
    findings.tables.push(table(simulated, options, of));
    for result in &simulated.results {
        note(&mut findings, result);
        if options.write_budget.is_some() && !result.is_baseline() {
            let over = result.over_budget as f64;
            findings.facts.push(fact("over_budget", over, Unit::Pages, None, &result.name));
        }
        if let (Some(cost), Some(_)) = (options.write_cost, result.policy) {
            let cost = Costs::new(cost).of(&result.traffic);
            let smaller = Some(Direction::Smaller);
            findings.facts.push(fact("cost", cost, Unit::Pages, smaller, &result.name));
        }
        let above = simulated.bound.and_then(|bound| bound.above(&result.traffic));
        if let (Some(above), Some(_)) = (above, result.policy) {
            let fact =
                fact("above_bound", above, Unit::Ratio, Some(Direction::Smaller), &result.name);
            findings.facts.push(fact);
        }
    }
    if let Some(bound) = simulated.bound {
        let schedule = [
            ("storage_ios", bound.schedule.storage_ios()),
            ("storage_reads", bound.schedule.storage_reads),
            ("storage_writes", bound.schedule.storage_writes),
            ("settled_ios", bound.schedule.settled_ios()),
            ("tier_writes", bound.schedule.tier_writes),
            ("left_dirty", bound.schedule.left_dirty),
        ];
        let smaller = Some(Direction::Smaller);
        for (name, value) in schedule {
            findings.facts.push(fact(name, value as f64, Unit::Pages, smaller, CLAIRVOYANT));
        }
        findings.facts.push(fact("least_cost", bound.lower_bound, Unit::Pages, None, CLAIRVOYANT));
    }
    findings
}

/// The label of the offline schedule and the lower bound.
const CLAIRVOYANT: &str = "clairvoyant";

fn fact(name: &str, value: f64, unit: Unit, better: Option<Direction>, policy: &str) -> Fact {
    let mut fact = Fact::new(format!("swap/simulate/{name}"), value, unit);
    fact.better = better;
    fact.labels.insert("policy".to_owned(), policy.to_owned());
    fact.labels.insert("origin".to_owned(), "modelled".to_owned());
    fact
}

fn note(findings: &mut Findings, result: &PolicyResult) {
    let traffic = &result.traffic;
    let mut fact = |name: &str, value: f64, unit: Unit, better: Option<Direction>| {
        findings.facts.push(fact(name, value, unit, better, &result.name));
    };
    let lower = Some(Direction::Smaller);
    fact("storage_ios", traffic.storage_ios() as f64, Unit::Pages, lower);
    fact("storage_reads", traffic.storage_reads as f64, Unit::Pages, lower);
    fact("storage_writes", traffic.storage_writes as f64, Unit::Pages, lower);
    fact("settled_ios", traffic.settled_ios() as f64, Unit::Pages, lower);
    if let Some([kills, restarts]) = result.killed {
        fact("kills", kills as f64, Unit::Count, lower);
        fact("restarts", restarts as f64, Unit::Count, lower);
    } else {
        fact("page_ins", traffic.page_ins as f64, Unit::Pages, None);
        fact("page_outs", traffic.page_outs as f64, Unit::Pages, None);
        fact("clean_drops", traffic.clean_drops as f64, Unit::Pages, None);
    }
    if !result.is_baseline() {
        fact("tier_reads", traffic.tier_reads as f64, Unit::Pages, None);
        fact("tier_writes", traffic.tier_writes as f64, Unit::Pages, lower);
        fact("left_dirty", traffic.left_dirty as f64, Unit::Pages, lower);
        fact("metadata", result.metadata as f64, Unit::Bytes, lower);
        if let Some(ratio) = traffic.hit_ratio() {
            fact("hit_ratio", ratio, Unit::Ratio, Some(Direction::Larger));
        }
    }
    if result.skew.accesses() > 0 {
        for (name, share) in [("top_10", 0.1), ("top_25", 0.25), ("top_50", 0.5)] {
            fact(&format!("made_by_{name}"), result.skew.made_by(share), Unit::Ratio, None);
        }
    }
    if let Some(later) = result.later() {
        fact("launch_again", later.mean, Unit::Nanoseconds, lower);
        fact("launch_again_deviation", later.deviation, Unit::Nanoseconds, None);
    }
    launch_curves(findings, result);
}

fn launch_curves(findings: &mut Findings, result: &PolicyResult) {
    let rounds = result.rounds();
    if rounds.len() < 2 {
        return;
    }
    let point = |(round, y)| Point { x: (round + 1) as f64, y, interval: None };
    let labels = [("policy", result.name.clone()), ("origin", "modelled".to_owned())];
    findings.curves.push(Curve {
        name: "swap/simulate/launch".to_owned(),
        x: Axis::new("launch of an app", Unit::Count),
        y: Axis::new("mean launch time", Unit::Nanoseconds),
        labels: labels.map(|(name, value)| (name.to_owned(), value)).into(),
        points: rounds.iter().map(|round| round.mean).enumerate().map(point).collect(),
    });
}
