//! From launches to answers: total and basic launch time under two conditions.

use unjank_host::energy::Origin;
use unjank_measure::experiment::{Outcome, Pair, Plan, Question, Visits};
use unjank_measure::record::Direction;
use unjank_measure::{Effect, Fact, Findings, Series, Side, Unit};

use super::condition::Condition;
use super::options::{Options, Workload};
use super::visit::{End, Launch};

/// All launches under the baseline and one other condition.
pub(super) struct Comparison<'a> {
    arms: [&'a str; 2],
    /// Whether the baseline is held against several others, so that its own
    /// launches need to be told apart.
    one_of_several: bool,
    /// Of energies, where there are any.
    origin: Option<Origin>,
    plan: Plan,
    cells: Vec<(&'a Workload, Visits<Launch>)>,
}

/// One thing that launches are compared in.
struct Asked {
    name: String,
    /// The beginning of the question, which goes on with the arms.
    text: String,
    unit: Unit,
    value: fn(&Launch) -> Option<f64>,
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
            one_of_several: options.others.len() > 1,
            origin,
            plan: Plan { pairs: options.pairs, warm_up: options.warm_up, seed },
            cells: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, workload: &'a Workload, visits: Visits<Launch>) {
        self.cells.push((workload, visits));
    }

    pub(super) fn note(&self, findings: &mut Findings) {
        for (workload, visits) in &self.cells {
            let segment = match workload.name.as_str() {
                "" => String::new(),
                name => format!("/{name}"),
            };
            let what = match workload.name.as_str() {
                "" => "a launch".to_owned(),
                name => format!("a launch with {}", name.replacen('-', " ", 1)),
            };
            self.note_failures(&workload.name, visits, findings);
            let total = Asked {
                name: format!("launch/bench{segment}/total"),
                text: format!("Is {what} shorter"),
                unit: Unit::Nanoseconds,
                value: |launch| Some(launch.total.get() as f64),
            };
            self.note_answer(&total, visits, findings);
            self.note_series(&total, visits, findings);
            if self.origin.is_some() {
                let energy = Asked {
                    name: format!("launch/bench{segment}/energy"),
                    text: format!("Does {what} take less energy"),
                    unit: Unit::Joules,
                    value: |launch| Some(launch.energy?.0),
                };
                self.note_answer(&energy, visits, findings);
            }
        }
        if self.cells.iter().any(|(workload, _)| workload.times_itself) {
            let pairs = self.cells.iter().flat_map(|(_, visits)| visits.pairs.iter().cloned());
            let pairs: Vec<_> = pairs.collect();
            let planned = self.plan.pairs * self.cells.len();
            let all = Visits { plan: Plan { pairs: planned, ..self.plan }, pairs };
            let basic = Asked {
                name: "launch/bench/basic".to_owned(),
                text: "Is the basic part of a launch shorter".to_owned(),
                unit: Unit::Nanoseconds,
                value: |launch| Some(launch.basic()?.get() as f64),
            };
            self.note_answer(&basic, &all, findings);
            self.note_series(&basic, &all, findings);
        }
    }

    /// Medians, difference and verdict. Pairs in which one launch has no such
    /// value do not count.
    fn note_answer(&self, asked: &Asked, visits: &Visits<Launch>, findings: &mut Findings) {
        let both = |pair: &Pair<Launch>| {
            let (a, b) = ((asked.value)(&pair.a)?, (asked.value)(&pair.b)?);
            Some(Pair { order: pair.order, a, b })
        };
        let pairs: Vec<Pair<f64>> = visits.pairs.iter().filter_map(both).collect();
        let [a, b] = self.arms;
        let (left, all) = (pairs.len(), visits.pairs.len());
        if left < all {
            let name = &asked.name;
            findings
                .warn(format!("{name}: {} of {all} pairs have none and do not count", all - left));
        }
        if pairs.is_empty() {
            findings.warn(format!("{}: no pair of launches with {a} and {b}", asked.name));
            return;
        }
        let question = Question {
            text: format!("{} under {b} than under {a}?", asked.text),
            subject: asked.name.clone(),
            unit: asked.unit,
            better: Direction::Smaller,
            min_effect: 0.0,
        };
        let outcome = Visits { plan: visits.plan, pairs }.outcome(&question);
        outcome.note(findings);
        self.note_facts(asked, &outcome, findings);
    }

    /// All launches of either arm; those that were never ready as missed.
    fn note_series(&self, asked: &Asked, visits: &Visits<Launch>, findings: &mut Findings) {
        let sides = [|pair: &Pair<Launch>| pair.a.clone(), |pair: &Pair<Launch>| pair.b.clone()];
        for (arm, side) in self.arms.into_iter().zip(sides) {
            let mut series = Series::of(&asked.name, asked.unit).with_label("arm", arm);
            if self.one_of_several {
                series = series.with_label("against", self.arms[1]);
            }
            for launch in visits.pairs.iter().map(side) {
                match (asked.value)(&launch) {
                    Some(value) if launch.was_ready() => series.record_value(value as u64),
                    _ => series.miss(1),
                }
            }
            findings.series.push(series.finish());
        }
    }

    fn note_facts(&self, asked: &Asked, outcome: &Outcome, findings: &mut Findings) {
        let Some(median) = outcome.median() else { return };
        let labelled = |fact: Fact, arm: &str| {
            let mut fact = fact.with_label("arm", arm);
            if let Some(origin) = self.origin.filter(|_| asked.unit == Unit::Joules) {
                fact = fact.with_label("origin", origin.to_string());
            }
            if self.one_of_several { fact.with_label("against", self.arms[1]) } else { fact }
        };
        for (arm, side) in self.arms.into_iter().zip([median.a, median.b]) {
            findings.facts.push(labelled(median_of(asked, side, outcome.pairs), arm));
        }
        if let Some(difference) = difference(&asked.name, median) {
            findings.facts.push(labelled(difference, self.arms[1]));
        }
    }

    fn note_failures(&self, workload: &str, visits: &Visits<Launch>, findings: &mut Findings) {
        let launches = |side: fn(&Pair<Launch>) -> &Launch| visits.pairs.iter().map(side);
        for (arm, launches) in self
            .arms
            .into_iter()
            .zip([launches(|pair| &pair.a).collect::<Vec<_>>(), launches(|pair| &pair.b).collect()])
        {
            let place =
                if workload.is_empty() { arm.to_owned() } else { format!("{workload}, {arm}") };
            let n = launches.len();
            let never = launches.iter().filter(|launch| !launch.was_ready()).count();
            if let Some(launch) = launches.iter().find(|launch| !launch.was_ready()) {
                findings.warn(format!(
                    "{place}: {never} of {n} launches were never ready; they count as {}, the least \
                     that they would have taken{}",
                    launch.total,
                    why(&launch.end)
                ));
            }
            let failed = |launch: &&&Launch| matches!(launch.end, End::Ready { failed: true });
            let failed = launches.iter().filter(failed).count();
            if failed > 0 {
                findings.warn(format!("{place}: {failed} of {n} launches ended with a failure"));
            }
        }
    }
}

fn why(end: &End) -> String {
    match end {
        End::Died { status, stderr } if stderr.is_empty() => format!(" (one ended: {status})"),
        End::Died { status, stderr } => format!(" (one ended: {status}; it said: {stderr})"),
        End::TimedOut { stderr } if !stderr.is_empty() => format!(" (one said: {stderr})"),
        _ => String::new(),
    }
}

fn median_of(asked: &Asked, side: Side, pairs: usize) -> Fact {
    let mut fact = Fact::new(format!("{}/median", asked.name), side.value, asked.unit);
    (fact.interval, fact.n) = (side.interval, Some(pairs as u64));
    fact
}

/// The median difference within pairs as a share of the baseline.
fn difference(name: &str, median: &Effect) -> Option<Fact> {
    let ratio = median.ratio?;
    let mut fact = Fact::new(format!("{name}/difference"), ratio.value - 1.0, Unit::Ratio)
        .with_better(Direction::Smaller);
    fact.interval = Some(ratio.interval.map(|end| end - 1.0));
    fact.n = median.b.n;
    Some(fact)
}
