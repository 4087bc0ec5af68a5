//! A prediction compared with the measured effect of the change.

use unjank_measure::number::range;
use unjank_measure::record::{Cell, Column, Number, Quantity, Table, Verdict};
use unjank_measure::stats::{DRAWS, prediction, random};
use unjank_measure::{Answer, Fact, Findings, Unit};
use unjank_units::Nanos;

use super::about::{About, Remedy};
use super::launches::Launches;
use super::spread::Spread;

/// The fact of a predicted change.
pub(super) const PREDICTED: &str = "why/prove/predicted";
/// The facts of the shortest and the longest of two to five predicted launches.
pub(super) const PREDICTED_RANGE: [&str; 2] =
    ["why/prove/predicted/least", "why/prove/predicted/most"];
/// The fact of a measured change.
pub(super) const MEASURED: &str = "why/prove/measured";
/// The label of both: the remedy, as a value of `--prove`.
pub(super) const REMEDY: &str = "change";
/// The label of both: the program.
pub(super) const PROGRAM: &str = "program";
/// The label of both: the condition that stood for the remedy, if the user chose it.
pub(super) const BY: &str = "by";

/// The change of a launch's length, as a share of it; negative is shorter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// The median over the launches or pairs.
    pub value: f64,
    /// The spread over the launches or pairs, if there are several.
    pub spread: Option<Spread>,
    /// The number of launches, or of pairs of launches.
    pub n: u64,
}

impl Shift {
    pub(super) fn interval(self) -> Option<[f64; 2]> {
        self.spread.and_then(Spread::interval)
    }
}

/// A change that can be applied from outside, and its predicted effect.
#[derive(Debug, Clone)]
pub struct Prediction {
    /// The change, one of [`Remedy::PROVABLE`].
    pub remedy: Remedy,
    /// The predicted effect on the length of a launch.
    pub shift: Shift,
    /// The length of each recorded launch, and its predicted length with the change.
    pub(super) lengths: Vec<(Nanos, Nanos)>,
}

/// A prediction of a smaller saving is not worth an experiment.
const SMALLEST: f64 = 0.01;

impl Prediction {
    /// Whether it is worth an experiment: it saves at least 1 % of the launch.
    pub(super) fn is_worth_proving(&self) -> bool {
        self.shift.value <= -SMALLEST
    }

    /// What so many pairs of launches are expected to find. An interval of the prediction becomes
    /// the prediction interval of their result: the launches of an experiment vary, and they are
    /// not the recorded ones. Its pairs are a launch and the launch before or after it with the
    /// change, because launches of a pair follow each other, too.
    fn expected(&self, pairs: u64) -> Shift {
        if self.shift.interval().is_none() {
            return self.shift;
        }
        let neighbours = self.lengths.windows(2).flat_map(|pair| {
            let [(one, one_after), (next, next_after)] = [pair[0], pair[1]];
            [(one, next_after), (next, one_after)]
        });
        let seen = neighbours.map(|(a, b)| [a.get() as f64, b.get() as f64]);
        let interval = prediction::relative_difference(
            &seen.collect::<Vec<_>>(),
            self.lengths.len(),
            pairs.try_into().unwrap_or(usize::MAX),
            DRAWS,
            &mut random::seeded(0, "why/prove"),
        );
        let spread = interval.map(Spread::Interval).or(self.shift.spread);
        Shift { spread, ..self.shift }
    }
}

/// The predictions for all changes of [`Remedy::PROVABLE`], the largest saving
/// first.
pub fn predictions(launches: &Launches) -> Vec<Prediction> {
    let n = launches.all().len() as u64;
    let savings = launches.savings().into_iter();
    let provable = savings.filter(|saving| Remedy::PROVABLE.contains(&saving.remedy));
    let mut predictions: Vec<Prediction> = provable
        .map(|saving| {
            let spread = saving.share_spread.map(Spread::negated);
            let shift = Shift { value: 0.0 - saving.share, spread, n };
            Prediction { remedy: saving.remedy, shift, lengths: saving.lengths }
        })
        .collect();
    predictions.sort_by(|a, b| a.shift.value.total_cmp(&b.shift.value));
    predictions
}

/// Launches with and without the change, in pairs.
#[derive(Debug, Clone)]
pub struct ProofOutcome {
    /// The condition of `launch bench` that the user chose for the launches with the change; `None`
    /// for that of unjank.
    pub by: Option<String>,
    /// The medians without and with it, in nanoseconds.
    pub medians: [f64; 2],
    /// The median difference within pairs.
    pub shift: Shift,
}

/// The findings of one proof: facts, a table, and a verdict whether the prediction held.
pub fn proof(prediction: &Prediction, outcome: &ProofOutcome, about: &About) -> Findings {
    let mut findings = Findings::default();
    let program = about.command.first().map_or_else(String::new, |word| word.display().to_string());
    let fact = |name: &str, value: f64, n: u64| {
        let mut fact = Fact::new(name, value + 0.0, Unit::Change)
            .with_label(REMEDY, prediction.remedy.option().unwrap_or_default())
            .with_label(PROGRAM, program.as_str());
        fact.n = Some(n);
        match &outcome.by {
            Some(by) => fact.with_label(BY, by.as_str()),
            None => fact,
        }
    };
    let expected = prediction.expected(outcome.shift.n);
    for (name, shift) in [(PREDICTED, expected), (MEASURED, outcome.shift)] {
        let mut median = fact(name, shift.value, shift.n);
        median.interval = shift.interval();
        findings.facts.push(median);
    }
    if let Some(range) = expected.spread.and_then(Spread::range) {
        let n = expected.n;
        let ends = PREDICTED_RANGE.into_iter().zip(range);
        findings.facts.extend(ends.map(|(name, end)| fact(name, end, n)));
    }
    findings.tables.push(table(prediction.remedy, expected, outcome));
    findings.verdicts.push(verdict(prediction.remedy, expected, outcome));
    findings
}

fn table(remedy: Remedy, predicted: Shift, outcome: &ProofOutcome) -> Table {
    let columns = [
        Column::text("launches"),
        Column::of("median", Unit::Nanoseconds),
        Column::of("change", Unit::Change),
        Column::of("n", Unit::Count),
    ];
    let [without, with] = outcome.medians;
    let measured = outcome.shift;
    let by = outcome.by.as_ref().map_or_else(String::new, |by| format!(", by {by}"));
    let title = format!("Predicted and measured: {}{by}", remedy.name());
    let mut table = Table::new("why/proof", title, columns);
    let change = |shift: Shift| Cell::from(Number::new(shift.value + 0.0).within(shift.interval()));
    let count = |shift: Shift| Cell::number(shift.n as f64);
    table.push(["without it".into(), Cell::number(without), Cell::Empty, count(measured)]);
    let after = Cell::number(without * (1.0 + predicted.value));
    table.push(["with it, predicted".into(), after, change(predicted), count(predicted)]);
    table.push(["with it, measured".into(), Cell::number(with), change(measured), count(measured)]);
    if let Some([low, high]) = predicted.spread.and_then(Spread::range) {
        let [low, high] = [low, high].map(|end| Unit::Change.show(end));
        let predictions = range(&low, &high);
        table = table.with_note(format!("the predictions of the launches are {predictions}"));
    } else if predicted.interval().is_some() {
        let n = measured.n;
        table = table.with_note(format!(
            "95 % of experiments with {n} pairs would measure a change in the predicted interval, \
             if the prediction is right"
        ));
    }
    table.with_note(
        "predicted from recorded launches; measured in alternating pairs of launches that were not \
         recorded: the median difference within pairs",
    )
}

fn verdict(remedy: Remedy, predicted: Shift, outcome: &ProofOutcome) -> Verdict {
    let measured = outcome.shift;
    let show = |shift: Shift| match shift.spread.map(Spread::ends) {
        Some([low, high]) => format!(
            "{} ({})",
            Unit::Change.show(shift.value),
            range(&Unit::Change.show(low), &Unit::Change.show(high))
        ),
        None => Unit::Change.show(shift.value),
    };
    let answer = held(predicted, measured);
    let condition = remedy.condition();
    let [before, after] = [predicted, measured].map(show);
    let predicted = format!("{condition}, a launch was predicted to change by {before}");
    let (reason, means) = match &outcome.by {
        None => (format!("{predicted}, and changed by {after}"), condition.to_owned()),
        Some(by) => {
            (format!("{predicted}; under {by}, it changed by {after}"), format!("under {by}"))
        }
    };
    let question = "Does the change do what was predicted?";
    let mut verdict = Verdict::new("why/prove", question, answer, reason);
    verdict.measured = Some(Quantity {
        name: format!("change of the launch {means}"),
        value: measured.value + 0.0,
        unit: Unit::Change,
        interval: measured.interval(),
        at_least: None,
        n: measured.n,
    });
    verdict
}

/// Whether a prediction held: whether the measured value is in the predicted interval. A range of
/// few predictions, or a single one, must overlap the interval of the measurement instead.
///
/// The answer is `CannotTell` without an interval of the measurement, and if the intervals overlap
/// but one of them says too little: that of the measurement is wider than the predicted change, or
/// the predicted one includes no change at all and the measured value.
pub(super) fn held(predicted: Shift, measured: Shift) -> Answer {
    let Some([least, most]) = measured.interval() else { return Answer::CannotTell };
    let [low, high] = predicted.spread.map_or([predicted.value; 2], Spread::ends);
    let overlaps = least <= high && low <= most;
    let holds = match predicted.spread {
        Some(Spread::Interval(_)) => (low..=high).contains(&measured.value),
        Some(Spread::Range(_)) | None => overlaps,
    };
    let is_wide = most - least > predicted.value.abs();
    let may_be_nothing = low <= 0.0 && 0.0 <= high;
    match holds {
        _ if overlaps && is_wide => Answer::CannotTell,
        true if may_be_nothing => Answer::CannotTell,
        true => Answer::Yes,
        false => Answer::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shift(value: f64, range: Option<[f64; 2]>) -> Shift {
        Shift { value, spread: range.map(Spread::Interval), n: 10 }
    }

    fn prediction(value: f64, spread: Spread, n: u64) -> Prediction {
        let shift = Shift { value, spread: Some(spread), n };
        Prediction { remedy: Remedy::ProgramFirst, shift, lengths: Vec::new() }
    }

    #[test]
    fn a_prediction_holds_if_what_was_measured_is_in_its_interval() {
        let predicted = shift(-0.3, Some([-0.35, -0.25]));
        let measured = |value, range| held(predicted, shift(value, range));
        assert_eq!(measured(-0.26, Some([-0.28, -0.2])), Answer::Yes);
        assert_eq!(measured(-0.24, Some([-0.28, -0.2])), Answer::No, "its interval overlaps");
        assert_eq!(measured(-0.1, Some([-0.2, -0.05])), Answer::No);
        let vague = shift(-0.3, Some([-0.7, 0.0]));
        assert_eq!(held(vague, shift(-0.2, Some([-0.25, -0.15]))), Answer::CannotTell);
        assert_eq!(held(vague, shift(0.2, Some([0.1, 0.3]))), Answer::No, "worse than vague");
        assert_eq!(measured(-0.3, None), Answer::CannotTell, "too few pairs");
        assert_eq!(measured(-0.03, Some([-0.45, 0.4])), Answer::CannotTell, "it fits anything");
        assert_eq!(held(shift(0.0, None), shift(0.0, Some([-0.02, 0.02]))), Answer::CannotTell);
        let single = shift(-0.3, None);
        assert_eq!(held(single, shift(-0.29, Some([-0.31, -0.2]))), Answer::Yes);
        let few = Shift { spread: Some(Spread::Range([-0.35, -0.25])), ..single };
        assert_eq!(held(few, shift(-0.24, Some([-0.28, -0.2]))), Answer::Yes, "they overlap");
    }

    #[test]
    fn a_small_experiment_may_find_more_or_less_than_a_large_one() {
        let millis = |length: u64| Nanos::from_millis(length);
        let lengths = [90, 110, 95, 120, 100, 105, 85, 115].map(|it| (millis(it), millis(it / 2)));
        let narrow = prediction(-0.5, Spread::Interval([-0.51, -0.49]), 8);
        let of_lengths = Prediction { lengths: lengths.to_vec(), ..narrow.clone() };
        let width = |pairs| {
            let [low, high] = of_lengths.expected(pairs).interval().unwrap();
            assert!(low < -0.5 && -0.5 < high, "{pairs} pairs: {low} to {high}");
            high - low
        };
        assert!(width(6) > width(40) && width(40) > 0.02, "{} {}", width(6), width(40));
        assert_eq!(of_lengths.expected(6), of_lengths.expected(6), "the same each time");
        let few = prediction(-0.5, Spread::Range([-0.6, -0.4]), 3);
        assert_eq!(few.expected(10), few.shift);
    }

    #[test]
    fn a_proof_is_found_again_in_its_record() {
        let lengths = vec![(Nanos::from_millis(10), Nanos::from_millis(6)); 6];
        let prediction =
            Prediction { lengths, ..prediction(-0.4, Spread::Interval([-0.5, -0.3]), 6) };
        let outcome = ProofOutcome {
            by: None,
            medians: [200.0, 120.0],
            shift: shift(-0.4, Some([-0.45, -0.35])),
        };
        let about = About { command: vec!["git".into()], ..About::default() };
        let findings = proof(&prediction, &outcome, &about);
        assert_eq!(findings.verdicts[0].answer, Answer::Yes);
        let names: Vec<&str> = findings.facts.iter().map(|fact| fact.name.as_str()).collect();
        assert_eq!(names, [PREDICTED, MEASURED]);
        assert_eq!(findings.facts[1].labels[REMEDY], "cpu");
        assert!(!findings.facts[1].labels.contains_key(BY));
        assert_eq!(findings.tables[0].rows.len(), 3);
        let by = ProofOutcome { by: Some("rt=fifo:10".to_owned()), ..outcome };
        let findings = proof(&prediction, &by, &about);
        assert!(findings.facts.iter().all(|fact| fact.labels[BY] == "rt=fifo:10"));
        let verdict = &findings.verdicts[0];
        let expected = "with a CPU before other programs, a launch was predicted to change by ";
        assert!(verdict.reason.starts_with(expected), "{}", verdict.reason);
        assert!(
            verdict.reason.contains("; under rt=fifo:10, it changed by "),
            "{}",
            verdict.reason
        );
        let measured = verdict.measured.as_ref().unwrap();
        assert_eq!(measured.name, "change of the launch under rt=fifo:10");
        assert!(findings.tables[0].title.ends_with(", by rt=fifo:10"));
    }

    #[test]
    fn the_range_of_few_launches_is_stored_as_a_range() {
        let range = Spread::Range([-0.5, -0.3]);
        let prediction = prediction(-0.4, range, 4);
        let measured = Shift { value: -0.2, spread: Some(Spread::Interval([-0.3, -0.1])), n: 10 };
        let outcome = ProofOutcome { by: None, medians: [200.0, 130.0], shift: measured };
        let findings = proof(&prediction, &outcome, &About::default());
        let value = |name: &str| findings.fact_named(name).unwrap().value;
        assert_eq!(findings.fact_named(PREDICTED).unwrap().interval, None);
        assert_eq!(Spread::Range(PREDICTED_RANGE.map(value)), range);
        assert_eq!(findings.verdicts[0].answer, Answer::Yes, "they have -0.3 in common");
        let [least, most] = range.ends().map(|end| Unit::Change.show(end));
        let note = &findings.tables[0].notes[0];
        assert!(note.ends_with(&format!("are {}", super::range(&least, &most))), "{note}");
    }
}
