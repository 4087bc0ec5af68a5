//! Turns launches into answers: total and basic launch time under two conditions.

use std::collections::BTreeMap;

use unjank_host::energy::Origin;
use unjank_measure::experiment::{Conclusion, Pair, Plan, Question, Trials};
use unjank_measure::record::{Answer, Direction};
use unjank_measure::stats::bootstrap::quantile;
use unjank_measure::{Effect, Fact, Findings, Series, Side, Unit};

use super::alone::{self, Measured};
use super::condition::Condition;
use super::launcher::{Launch, LaunchEnd};
use super::metric::{Metric, NOISE_FLOOR};
use super::options::{Options, Workload};

/// The last segment of a fact: launches that failed, of n.
const FAILED: &str = "failed";

/// All launches under the baseline and one other condition.
pub(super) struct Comparison<'a> {
    arms: [&'a str; 2],
    /// Whether both arms are the same condition.
    of_itself: bool,
    /// Whether it is not compared, but measured by itself.
    is_alone: bool,
    /// Whether the baseline is compared with several others, so that its
    /// launches need the label `against`.
    one_of_several: bool,
    /// Of the energies, if any were measured.
    origin: Option<Origin>,
    plan: Plan,
    cells: Vec<(&'a Workload, Trials<Launch>)>,
}

impl<'a> Comparison<'a> {
    pub(super) fn new(
        options: &'a Options,
        other: &'a Condition,
        origin: Option<Origin>,
        seed: u64,
    ) -> Self {
        Self {
            arms: [&options.baseline.name, &other.name],
            of_itself: other.is_baseline,
            is_alone: options.is_alone,
            one_of_several: options.others.len() > 1,
            origin,
            plan: Plan { pairs: options.pairs, warm_up: options.warm_up, seed },
            cells: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, workload: &'a Workload, trials: Trials<Launch>) {
        self.cells.push((workload, trials));
    }

    pub(super) fn note(&self, findings: &mut Findings) {
        let mut alone = Vec::new();
        for (workload, trials) in &self.cells {
            let segment = match workload.name.as_str() {
                "" => String::new(),
                name => format!("/{name}"),
            };
            let what = match workload.name.as_str() {
                "" => "a launch".to_owned(),
                name => format!("a launch with {}", name.replacen('-', " ", 1)),
            };
            self.note_failures(&workload.name, trials, findings);
            let total = Metric {
                name: format!("launch/bench{segment}/total"),
                text: format!("Is {what} shorter"),
                unit: Unit::Nanoseconds,
                value: |launch| Some(launch.total.get() as f64),
            };
            self.note_metric(&total, trials, &mut alone, findings);
            self.note_series(&total, trials, findings);
            if self.origin.is_some() {
                let energy = Metric {
                    name: format!("launch/bench{segment}/energy"),
                    text: format!("Does {what} take less energy"),
                    unit: Unit::Joules,
                    value: |launch| Some(launch.energy?.0),
                };
                self.note_metric(&energy, trials, &mut alone, findings);
            }
        }
        if self.cells.iter().any(|(workload, _)| workload.times_itself) {
            let pairs = self.cells.iter().flat_map(|(_, trials)| trials.pairs.iter().cloned());
            let pairs: Vec<_> = pairs.collect();
            let planned = self.plan.pairs * self.cells.len();
            let all = Trials { plan: Plan { pairs: planned, ..self.plan }, pairs };
            let basic = Metric {
                name: "launch/bench/basic".to_owned(),
                text: "Is the basic part of a launch shorter".to_owned(),
                unit: Unit::Nanoseconds,
                value: |launch| Some(launch.basic()?.get() as f64),
            };
            self.note_metric(&basic, &all, &mut alone, findings);
            self.note_series(&basic, &all, findings);
        }
        if self.is_alone {
            alone::note(&self.program(), self.arms[0], &alone, findings);
        }
    }

    /// The launched program, in words.
    fn program(&self) -> String {
        match self.cells.first() {
            Some((workload, _)) if !workload.times_itself => workload.program.name(),
            _ => "the load app".to_owned(),
        }
    }

    /// Adds medians, difference and verdict; of a condition by itself, adds its launches to `alone`.
    fn note_metric(
        &self,
        metric: &Metric,
        trials: &Trials<Launch>,
        alone: &mut Vec<Measured>,
        findings: &mut Findings,
    ) {
        let compared = self.compare(metric, trials, findings);
        if !self.is_alone {
            if let Some((conclusion, change)) = compared {
                conclusion.note(findings);
                self.note_facts(metric, &conclusion, change, findings);
            }
            return;
        }
        let floor =
            compared.and_then(|(conclusion, _)| noise_floor(&metric.name, conclusion.median()?));
        let measured = Measured::of(metric, trials, floor.as_ref().map(|floor| floor.value));
        let facts = floor.into_iter().chain(measured.as_ref().and_then(Measured::fact));
        let labels = self.labels(metric, self.arms[0]);
        findings.facts.extend(facts.map(|fact| Fact { labels: labels.clone(), ..fact }));
        alone.extend(measured);
    }

    /// The difference between the arms, and its median as a share of the baseline. Pairs in which one
    /// launch lacks the value do not count.
    fn compare(
        &self,
        metric: &Metric,
        trials: &Trials<Launch>,
        findings: &mut Findings,
    ) -> Option<(Conclusion, Option<f64>)> {
        let both = |pair: &Pair<Launch>| {
            let (a, b) = ((metric.value)(&pair.a)?, (metric.value)(&pair.b)?);
            Some(Pair { order: pair.order, a, b })
        };
        let pairs: Vec<Pair<f64>> = trials.pairs.iter().filter_map(both).collect();
        let [a, b] = self.arms;
        let (left, all) = (pairs.len(), trials.pairs.len());
        if left < all {
            let name = &metric.name;
            findings.warn(format!(
                "{name}: {} of {all} pairs lack the value and do not count",
                all - left
            ));
        }
        if pairs.is_empty() {
            let arms = if self.is_alone { String::new() } else { format!(" with {a} and {b}") };
            findings.warn(format!("{}: no pair of launches{arms}", metric.name));
            return None;
        }
        let question = Question {
            text: format!("{} under {b} than under {a}?", metric.text),
            subject: metric.name.clone(),
            unit: metric.unit,
            better: Direction::Smaller,
            min_effect: 0.0,
        };
        let change = share_of(&pairs);
        let failed = self.arms_that_failed(trials);
        let mut conclusion = Trials { plan: trials.plan, pairs }.conclude(&question);
        for effect in &mut conclusion.effects {
            effect.labels = self.labels(metric, b);
        }
        if let [arm, ..] = failed.as_slice() {
            for effect in &mut conclusion.effects {
                effect.answer = Answer::CannotTell;
                effect.reason = format!("no launch under {arm} succeeded");
            }
        }
        let differs = conclusion
            .median()
            .filter(|median| matches!(median.answer, Answer::Better | Answer::Worse));
        if let Some(median) = differs.filter(|_| self.of_itself) {
            findings.warn(format!(
                "{}: the same condition differs from itself ({}): the machine changed meanwhile; \
                 ignore differences of this size",
                metric.name, median.reason
            ));
        }
        Some((conclusion, change))
    }

    /// The arms without a successful launch.
    fn arms_that_failed(&self, trials: &Trials<Launch>) -> Vec<&'a str> {
        let failed = |side: fn(&Pair<Launch>) -> &Launch| {
            !trials.pairs.is_empty() && !trials.pairs.iter().map(side).any(Launch::succeeded)
        };
        let sides = [failed(|pair| &pair.a), failed(|pair| &pair.b)];
        self.arms.into_iter().zip(sides).filter(|(_, failed)| *failed).map(|(arm, _)| arm).collect()
    }

    /// The launches of each arm; of a condition by itself, all of them.
    fn launches<'t>(&self, trials: &'t Trials<Launch>) -> Vec<(&'a str, Vec<&'t Launch>)> {
        let [a, b] = self.arms;
        let all = |sides: fn(&Pair<Launch>) -> Vec<&Launch>| -> Vec<&Launch> {
            trials.pairs.iter().flat_map(sides).collect()
        };
        if self.is_alone {
            return vec![(a, all(|pair| vec![&pair.a, &pair.b]))];
        }
        vec![(a, all(|pair| vec![&pair.a])), (b, all(|pair| vec![&pair.b]))]
    }

    /// Adds all launches of either arm; those that were never ready count as missed.
    fn note_series(&self, metric: &Metric, trials: &Trials<Launch>, findings: &mut Findings) {
        for (arm, launches) in self.launches(trials) {
            let mut series = Series::of(&metric.name, metric.unit).with_label("arm", arm);
            if self.one_of_several {
                series = series.with_label("against", self.arms[1]);
            }
            for launch in launches {
                match (metric.value)(launch) {
                    Some(value) if launch.was_ready() => series.record_value(value as u64),
                    _ => series.miss(1),
                }
            }
            findings.series.push(series.finish());
        }
    }

    fn note_facts(
        &self,
        metric: &Metric,
        conclusion: &Conclusion,
        change: Option<f64>,
        findings: &mut Findings,
    ) {
        let Some(median) = conclusion.median() else { return };
        let labelled = |fact: Fact, arm: &str| Fact { labels: self.labels(metric, arm), ..fact };
        for (arm, side) in self.arms.into_iter().zip([median.a, median.b]) {
            findings.facts.push(labelled(median_of(metric, side, conclusion.pairs), arm));
        }
        if let Some(difference) = difference(&metric.name, median, change) {
            findings.facts.push(labelled(difference, self.arms[1]));
        }
        if let Some(floor) = noise_floor(&metric.name, median).filter(|_| self.of_itself) {
            findings.facts.push(labelled(floor, self.arms[1]));
        }
    }

    /// What tells a value of an arm from others of the same name.
    fn labels(&self, metric: &Metric, arm: &str) -> BTreeMap<String, String> {
        let mut labels = BTreeMap::from([("arm".to_owned(), arm.to_owned())]);
        if let Some(origin) = self.origin.filter(|_| metric.unit == Unit::Joules) {
            labels.insert("origin".to_owned(), origin.to_string());
        }
        if self.one_of_several {
            labels.insert("against".to_owned(), self.arms[1].to_owned());
        }
        labels
    }

    fn note_failures(&self, workload: &str, trials: &Trials<Launch>, findings: &mut Findings) {
        for (arm, launches) in self.launches(trials) {
            let place =
                if workload.is_empty() { arm.to_owned() } else { format!("{workload}, {arm}") };
            let n = launches.len();
            let never = launches.iter().filter(|launch| !launch.was_ready()).count();
            if let Some(launch) = launches.iter().find(|launch| !launch.was_ready()) {
                findings.warn(format!(
                    "{place}: {never} of {n} launches were never ready; they count as {}, the \
                     shortest time they could have taken{}",
                    launch.total,
                    why(&launch.end)
                ));
            }
            let failed =
                |launch: &&&Launch| matches!(launch.end, LaunchEnd::Ready { failed: true });
            let failed = launches.iter().filter(failed).count();
            if failed > 0 {
                findings.warn(format!("{place}: {failed} of {n} launches ended with a failure"));
            }
            let left: usize = launches.iter().map(|launch| launch.left).sum();
            if left > 0 {
                findings.warn(format!(
                    "{place}: processes that the program started ran on after its end ({left}); \
                     later launches may use them under either condition"
                ));
            }
            if never + failed > 0 {
                let segment =
                    if workload.is_empty() { String::new() } else { format!("/{workload}") };
                let mut fact = Fact::new(
                    format!("launch/bench{segment}/{FAILED}"),
                    (never + failed) as f64,
                    Unit::Count,
                );
                fact.n = Some(n as u64);
                fact = fact.with_label("arm", arm);
                if self.one_of_several {
                    fact = fact.with_label("against", self.arms[1]);
                }
                findings.facts.push(fact);
            }
        }
    }
}

fn why(end: &LaunchEnd) -> String {
    match end {
        LaunchEnd::Died { status, stderr } if stderr.is_empty() => {
            format!(" (one ended: {status})")
        }
        LaunchEnd::Died { status, stderr } => format!(" (one ended: {status}; it said: {stderr})"),
        LaunchEnd::TimedOut { stderr } if !stderr.is_empty() => format!(" (one said: {stderr})"),
        _ => String::new(),
    }
}

fn median_of(metric: &Metric, side: Side, pairs: usize) -> Fact {
    let mut fact = Fact::new(format!("{}/median", metric.name), side.value, metric.unit);
    (fact.interval, fact.n) = (side.interval, Some(pairs as u64));
    fact
}

/// The median difference within pairs as a share of the baseline. With too few
/// pairs for an interval, it is `change`.
fn difference(name: &str, median: &Effect, change: Option<f64>) -> Option<Fact> {
    let value = median.ratio.map(|ratio| ratio.value - 1.0).or(change)?;
    let mut fact =
        Fact::new(format!("{name}/difference"), value, Unit::Ratio).with_better(Direction::Smaller);
    fact.interval = median.ratio.map(|ratio| ratio.interval.map(|end| end - 1.0));
    fact.n = median.b.n;
    Some(fact)
}

/// The median of the differences within pairs, as a share of the median of A.
fn share_of(pairs: &[Pair<f64>]) -> Option<f64> {
    let mut baseline: Vec<f64> = pairs.iter().map(|pair| pair.a).collect();
    let mut differences: Vec<f64> = pairs.iter().map(|pair| pair.b - pair.a).collect();
    let baseline = quantile(&mut baseline, 0.5).filter(|median| *median > 0.0)?;
    Some(quantile(&mut differences, 0.5)? / baseline)
}

/// From a condition compared with itself: the smallest difference that the noise
/// of this machine does not hide.
fn noise_floor(name: &str, median: &Effect) -> Option<Fact> {
    let smallest = median.minimum_effect.filter(|_| median.a.value > 0.0)?;
    let share = smallest / median.a.value;
    let mut fact = Fact::new(format!("{name}/{NOISE_FLOOR}"), share, Unit::Ratio)
        .with_better(Direction::Smaller);
    fact.n = median.b.n;
    Some(fact)
}

/// Whether all launches of one program under one condition failed, so that the
/// comparison means nothing.
pub fn any_condition_failed(findings: &Findings) -> bool {
    findings.facts.iter().any(|fact| {
        let of_launches = fact.name.starts_with("launch/bench/") && fact.name.ends_with(FAILED);
        of_launches && fact.n.is_some_and(|n| n > 0 && fact.value >= n as f64)
    })
}
