//! The answers of a record as rows of a table.

use unjank_measure::record::Answer;
use unjank_measure::{Fact, Findings, Verdict};

use super::metric::NOISE_FLOOR;

/// One comparison and its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// `launch/bench/load-200ms/total`.
    pub name: String,
    /// Name and median of the baseline condition.
    pub baseline: (String, Fact),
    /// Name and median of the other condition.
    pub other: (String, Fact),
    /// The median difference within pairs as a share of the baseline; `None`
    /// for a baseline of zero.
    pub difference: Option<Fact>,
    /// The answer for the other condition: better, worse, the same or cannot tell.
    pub answer: Answer,
    /// Why, in one sentence.
    pub reason: String,
    /// For a condition compared with itself: the smallest difference, as a share
    /// of the median, that would have been found.
    pub noise_floor: Option<f64>,
}

/// The rows of all comparisons in `findings`, in the order of its questions.
/// Only medians have rows, not higher quantiles.
pub fn rows(findings: &Findings) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for verdict in &findings.verdicts {
        let found = row(findings, verdict);
        let is_new = |new: &Row| {
            rows.iter().all(|row| (&row.name, &row.other.0) != (&new.name, &new.other.0))
        };
        rows.extend(found.filter(is_new));
    }
    rows
}

/// The row of a verdict whose subject is the name of a comparison.
fn row(findings: &Findings, verdict: &Verdict) -> Option<Row> {
    let Verdict { subject, labels, answer, reason, .. } = verdict;
    let median = format!("{subject}/median");
    // With several other conditions, the label `against` names the compared one.
    let belongs = |fact: &Fact| fact.labels.get("against") == labels.get("against");
    let mut medians = findings.facts.iter().filter(|fact| fact.name == median && belongs(fact));
    let arm = |fact: &Fact| (fact.labels.get("arm").cloned().unwrap_or_default(), fact.clone());
    let (baseline, other) = (arm(medians.next()?), arm(medians.next()?));
    let difference = format!("{subject}/difference");
    let of_difference = |fact: &&Fact| fact.name == difference && belongs(fact);
    let difference = findings.facts.iter().find(of_difference).cloned();
    let noise = format!("{subject}/{NOISE_FLOOR}");
    let (answer, reason) = (*answer, reason.clone());
    let of_noise = |fact: &&Fact| fact.name == noise && belongs(fact);
    let noise_floor = findings.facts.iter().find(of_noise).map(|fact| fact.value);
    Some(Row { name: subject.clone(), baseline, other, difference, answer, reason, noise_floor })
}

#[cfg(test)]
mod tests {
    use unjank_measure::Unit;

    use super::*;

    fn compared(findings: &mut Findings, name: &str, other: &str, change: f64) {
        let fact = |what: &str, value, unit, arm: &str| {
            Fact::new(format!("{name}/{what}"), value, unit)
                .with_label("arm", arm)
                .with_label("against", other)
        };
        findings.facts.push(fact("median", 100.0, Unit::Nanoseconds, "as is"));
        findings.facts.push(fact("median", 100.0 * (1.0 + change), Unit::Nanoseconds, other));
        findings.facts.push(fact("difference", change, Unit::Ratio, other));
        let answer = if change < 0.0 { Answer::Better } else { Answer::Worse };
        findings.verdicts.push(Verdict {
            labels: [("against".to_owned(), other.to_owned())].into(),
            ..Verdict::new(name, "Is a launch shorter?", answer, "")
        });
    }

    #[test]
    fn each_question_has_its_row() {
        let mut findings = Findings::default();
        compared(&mut findings, "launch/bench/total", "boost", -0.1);
        compared(&mut findings, "launch/bench/total", "boost:--double-tap", 0.2);
        findings
            .verdicts
            .push(Verdict { subject: "launch/other".to_owned(), ..findings.verdicts[0].clone() });
        let answers: Vec<_> = rows(&findings)
            .into_iter()
            .map(|row| (row.other.0, row.difference.unwrap().value, row.answer))
            .collect();
        assert_eq!(
            answers,
            [
                ("boost".to_owned(), -0.1, Answer::Better),
                ("boost:--double-tap".to_owned(), 0.2, Answer::Worse)
            ]
        );
    }
}
