//! Calibration: how well the predictions of stored runs held.

use unjank_measure::record::{Cell, Column, Number, RunRecord, Table, Verdict};
use unjank_measure::{Answer, Fact, Findings, Unit};

use super::proof::{BY, MEASURED, PREDICTED, PREDICTED_RANGE, PROGRAM, REMEDY, Shift, held};
use super::spread::Spread;

/// A prediction and its outcome in a stored run.
#[derive(Debug, Clone, PartialEq)]
pub struct Proved {
    /// The beginning of the run, RFC 3339.
    pub at: String,
    /// Name of the launched program.
    pub program: String,
    /// The change, as a value of `--prove`.
    pub change: String,
    /// The condition of `launch bench` that the user chose for it; `None` for that of unjank.
    pub by: Option<String>,
    /// The predicted change of the launch's length.
    pub predicted: Shift,
    /// The measured change, from launches without and with the remedy.
    pub measured: Shift,
}

impl Proved {
    /// The prediction of a run and its outcome; `None` if it has none.
    pub fn of(record: &RunRecord) -> Option<Self> {
        let fact = |name: &str| record.findings.facts.iter().find(|fact| fact.name == name);
        let (predicted, measured) = (fact(PREDICTED)?, fact(MEASURED)?);
        let label = |name: &str| measured.labels.get(name).cloned();
        let range = PREDICTED_RANGE.map(|name| fact(name).map(|fact| fact.value));
        let range = match range {
            [Some(least), Some(most)] => Some(Spread::Range([least, most])),
            _ => None,
        };
        let shift = |fact: &Fact, range: Option<Spread>| Shift {
            value: fact.value,
            spread: fact.interval.map(Spread::Interval).or(range),
            n: fact.n.unwrap_or_default(),
        };
        Some(Self {
            at: record.started_at.clone(),
            program: label(PROGRAM)?,
            change: label(REMEDY)?,
            by: label(BY),
            predicted: shift(predicted, range),
            measured: shift(measured, None),
        })
    }

    /// The error of the prediction as a share of the measured saving; `None` if the interval of
    /// the measurement does not show a saving.
    fn error(&self) -> Option<f64> {
        let saves = self.measured.interval().is_some_and(|[_, most]| most < 0.0);
        let error = (self.predicted.value - self.measured.value) / self.measured.value.abs();
        saves.then_some(error)
    }
}

/// The fewest decided outcomes for an answer.
const ENOUGH: usize = 5;
/// The smallest share of decided predictions that must hold for the answer yes.
const GOAL: f64 = 0.8;

/// How well past predictions held. The table has the order of `all`. Outcomes under conditions that
/// users chose are only listed, because such a condition may do more or less than the change.
pub fn calibration(all: &[Proved]) -> Findings {
    let mut findings = Findings::default();
    let columns = [
        Column::text("when"),
        Column::text("program"),
        Column::text("change"),
        Column::text("by"),
        Column::of("predicted", Unit::Change),
        Column::of("measured", Unit::Change),
        Column::text("held"),
        Column::of("error", Unit::Ratio),
    ];
    let mut table = Table::new("why/calibration", "Predictions and their outcomes", columns);
    for one in all {
        let number = |shift: Shift| Cell::from(Number::new(shift.value).within(shift.interval()));
        table.push([
            one.at.as_str().into(),
            one.program.as_str().into(),
            one.change.as_str().into(),
            one.by.as_deref().map_or(Cell::Empty, Cell::from),
            number(one.predicted),
            number(one.measured),
            held(one.predicted, one.measured).words().into(),
            one.error().map_or(Cell::Empty, Cell::number),
        ]);
    }
    table = table.with_note(
        "held: the measured change is in the predicted interval; cannot tell: the measured interval \
         is wider than the predicted change, or the predicted one includes no change; the error is a \
         share of what the change saved, positive if it saved more than was predicted",
    );
    if all.iter().any(|one| one.by.is_some()) {
        table = table.with_note(
            "by: the condition of --by that stood for the change. Such outcomes do not count: it \
             may do more or less than the change",
        );
    }
    findings.tables.push(table);
    let outcome = |one: &Proved| held(one.predicted, one.measured);
    let own = all.iter().filter(|one| one.by.is_none());
    let decided: Vec<&Proved> = own.filter(|one| outcome(one) != Answer::CannotTell).collect();
    let kept = decided.iter().filter(|one| outcome(one) == Answer::Yes).count();
    let errors: Vec<f64> = decided.iter().filter_map(|one| one.error()).map(f64::abs).collect();
    let decided = decided.len();
    let mean = errors.iter().sum::<f64>() / (errors.len() as f64).max(1.0);
    let count = |name: &str, value: usize| Fact::new(name, value as f64, Unit::Count);
    findings.facts.push(count("why/calibration/outcomes", decided));
    findings.facts.push(count("why/calibration/held", kept));
    let mut reason = format!("{kept} of {decided} predictions held");
    if !errors.is_empty() {
        let mut fact = Fact::new("why/calibration/error", mean, Unit::Ratio);
        fact.n = Some(errors.len() as u64);
        findings.facts.push(fact);
        let off = Unit::Ratio.show(mean);
        reason = format!(
            "{reason}; where the change saved time, those were off by {off} of the saving on \
             average"
        );
    }
    let answer = match decided {
        0..ENOUGH => Answer::CannotTell,
        _ if kept as f64 >= GOAL * decided as f64 => Answer::Yes,
        _ => Answer::No,
    };
    if decided < ENOUGH {
        reason.push_str("; run unjank why --prove for more");
    }
    let question = "Do the predictions of unjank why hold on this machine?";
    findings.verdicts.push(Verdict::new("why/calibration", question, answer, reason));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shift(value: f64, range: Option<[f64; 2]>) -> Shift {
        Shift { value, spread: range.map(Spread::Interval), n: 10 }
    }

    fn proved(predicted: f64, measured: f64) -> Proved {
        let around = |value: f64| shift(value, Some([value - 0.02, value + 0.02]));
        Proved {
            at: "2026-11-24T19:00:00Z".to_owned(),
            program: "git".to_owned(),
            change: "cpu".to_owned(),
            by: None,
            predicted: around(predicted),
            measured: around(measured),
        }
    }

    #[test]
    fn predictions_are_held_against_what_was_measured() {
        let good = vec![proved(-0.3, -0.31); 4];
        let few = calibration(&good).verdicts.remove(0);
        assert_eq!(few.answer, Answer::CannotTell);
        let all = [good, vec![proved(-0.5, -0.25)]].concat();
        let findings = calibration(&all);
        let verdict = &findings.verdicts[0];
        assert_eq!(verdict.answer, Answer::Yes, "four of five");
        assert!(verdict.reason.starts_with("4 of 5 predictions held; "), "{}", verdict.reason);
        let error = findings.fact_named("why/calibration/error").unwrap();
        assert!((error.value - (4.0 * 0.01 / 0.31 + 1.0) / 5.0).abs() < 1e-9, "{}", error.value);
        let undecided = Proved { measured: shift(-0.2, Some([-0.6, -0.1])), ..proved(-0.1, 0.0) };
        let with_it = calibration(&[all.as_slice(), &[undecided]].concat());
        let same = with_it.fact_named("why/calibration/error").unwrap();
        assert_eq!((same.value, same.n), (error.value, Some(5)), "it was not decided");
        let boost = Proved { by: Some("boost".to_owned()), ..proved(-0.5, -0.1) };
        let listed = calibration(&[all.as_slice(), &[boost]].concat());
        assert_eq!(listed.verdicts[0].reason, findings.verdicts[0].reason, "another means");
        let row = &listed.tables[0].rows[5];
        assert_eq!([&row[2], &row[3]], ["cpu", "boost"].map(Cell::from).each_ref());
        assert_eq!(listed.tables[0].notes.len(), findings.tables[0].notes.len() + 1);
        let bad = vec![proved(-0.5, -0.1); 5];
        assert_eq!(calibration(&bad).verdicts[0].answer, Answer::No);
        let none = vec![proved(0.0, 0.0); 5];
        assert!(calibration(&none).fact_named("why/calibration/error").is_none(), "no saving");
    }
}
