//! From launches to answers: total and basic launch time under two conditions.

use unjank_host::Nanos;
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
    plan: Plan,
    cells: Vec<(&'a Workload, Visits<Launch>)>,
}

impl<'a> Comparison<'a> {
    pub(super) fn new(options: &'a Options, other: &'a Condition, seed: u64) -> Self {
        Self {
            arms: [&options.baseline.name, &other.name],
            one_of_several: options.others.len() > 1,
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
            let total = |launch: &Launch| Some(launch.total);
            self.note_times(
                &format!("launch/bench{segment}/total"),
                &what,
                visits,
                total,
                findings,
            );
        }
        if self.cells.iter().any(|(workload, _)| workload.times_itself) {
            let pairs = self.cells.iter().flat_map(|(_, visits)| visits.pairs.iter().cloned());
            let pairs: Vec<_> = pairs.collect();
            let planned = self.plan.pairs * self.cells.len();
            let all = Visits { plan: Plan { pairs: planned, ..self.plan }, pairs };
            let what = "the basic part of a launch";
            self.note_times("launch/bench/basic", what, &all, Launch::basic, findings);
        }
    }

    /// Series, medians, difference and verdict of a time that launches have.
    /// Pairs in which one launch has none do not count.
    fn note_times(
        &self,
        name: &str,
        what: &str,
        visits: &Visits<Launch>,
        time: impl Fn(&Launch) -> Option<Nanos>,
        findings: &mut Findings,
    ) {
        let both = |pair: &Pair<Launch>| {
            let (a, b) = (time(&pair.a)?.get() as f64, time(&pair.b)?.get() as f64);
            Some(Pair { order: pair.order, a, b })
        };
        let pairs: Vec<Pair<f64>> = visits.pairs.iter().filter_map(both).collect();
        let [a, b] = self.arms;
        if pairs.is_empty() {
            findings.warn(format!("{name}: no pair of launches with {a} and {b} was completed"));
            return;
        }
        let question = Question {
            text: format!("Is {what} shorter with {b} than with {a}?"),
            subject: name.to_owned(),
            unit: Unit::Nanoseconds,
            better: Direction::Smaller,
            min_effect: 0.0,
        };
        let outcome = Visits { plan: visits.plan, pairs }.outcome(&question);
        outcome.note(findings);
        self.note_facts(name, &outcome, findings);
        let sides = [|pair: &Pair<Launch>| pair.a.clone(), |pair: &Pair<Launch>| pair.b.clone()];
        for (arm, side) in self.arms.into_iter().zip(sides) {
            let mut series = Series::new(name).with_label("arm", arm);
            if self.one_of_several {
                series = series.with_label("against", b);
            }
            for launch in visits.pairs.iter().map(side) {
                match time(&launch) {
                    Some(time) if launch.was_ready() => series.record(time),
                    _ => series.miss(1),
                }
            }
            findings.series.push(series.finish());
        }
    }

    fn note_facts(&self, name: &str, outcome: &Outcome, findings: &mut Findings) {
        let Some(median) = outcome.median() else { return };
        let labelled = |fact: Fact, arm: &str| {
            let fact = fact.with_label("arm", arm);
            if self.one_of_several { fact.with_label("against", self.arms[1]) } else { fact }
        };
        for (arm, side) in self.arms.into_iter().zip([median.a, median.b]) {
            findings.facts.push(labelled(median_of(name, side, outcome.pairs), arm));
        }
        if let Some(difference) = difference(name, median) {
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

fn median_of(name: &str, side: Side, pairs: usize) -> Fact {
    let mut fact = Fact::new(format!("{name}/median"), side.value, Unit::Nanoseconds);
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
