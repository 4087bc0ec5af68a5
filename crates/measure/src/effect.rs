//! The difference in one quantity between two sides, and its answer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::number;
use crate::record::{Answer, Direction, Quantity, Unit, Verdict};
use crate::stats::{Contrast, Estimate, Weighed, family};

/// The difference between two arms of an experiment, or two runs, in one
/// quantity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The name of the series or fact.
    pub subject: String,
    /// Labels that tell it from series or facts of the same name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The quantity that was compared: `p50`, `p99`, `missed periods`, `value`.
    pub quantity: String,
    /// The unit of both sides and of the difference.
    pub unit: Unit,
    /// The direction of improvement; `null` if it is not known.
    pub better: Option<Direction>,
    /// The first arm or run.
    pub a: Side,
    /// The second arm or run.
    pub b: Side,
    /// The second value minus the first; `null` if the data does not bound it.
    pub difference: Option<Estimate>,
    /// The second value divided by the first; `null` if the first may be zero
    /// or negative.
    pub ratio: Option<Estimate>,
    /// The p-value, corrected for all questions of the family; `null` if the
    /// question is not in the family.
    pub p_value: Option<f64>,
    /// The smallest difference that this data would have shown with 80 %
    /// probability.
    pub minimum_effect: Option<f64>,
    /// The answer about the second side, with the first as the baseline.
    pub answer: Answer,
    /// The reason for the answer, in one sentence.
    pub reason: String,
}

/// One side of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// In the unit of the effect.
    pub value: f64,
    /// Its 95 % interval, if there is one.
    pub interval: Option<[f64; 2]>,
    /// The number of samples or trials, if that is a number.
    pub n: Option<u64>,
    /// The number of independent samples that they are worth, if it was
    /// estimated.
    pub effective_n: Option<f64>,
}

/// A question before its answer.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) subject: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) quantity: String,
    pub(crate) unit: Unit,
    pub(crate) better: Option<Direction>,
    pub(crate) sides: [Side; 2],
    /// The weighed contrast, or the reason why there is none.
    pub(crate) weighed: Result<Weighed, String>,
}

impl Asked {
    /// Weighs `contrast` against the smallest effect that matters. A side
    /// without an interval gets that of the bootstrap.
    pub(crate) fn weigh(mut self, contrast: &Contrast, min_effect: f64) -> Self {
        self.sides[0].interval.get_or_insert_with(|| contrast.interval_of_a());
        self.sides[1].interval.get_or_insert_with(|| contrast.interval_of_b());
        self.weighed = Ok(contrast.weigh(min_effect));
        self
    }
}

/// Answers all questions of one experiment or comparison as one family: the
/// probability of a single false *better* or *worse* among them is 5 %.
pub(crate) fn decide(asked: Vec<Asked>, min_effect: f64) -> Vec<Effect> {
    let p_value = |asked: &Asked| match (&asked.weighed, asked.better) {
        (Ok(weighed), Some(_)) => Some(weighed.p_value),
        _ => None,
    };
    let p_values: Vec<f64> = asked.iter().filter_map(p_value).collect();
    let mut corrected = family::holm(&p_values).into_iter();
    let family = Family { questions: p_values.len(), min_effect };
    asked
        .into_iter()
        .map(|asked| {
            let corrected = p_value(&asked).and_then(|_| corrected.next());
            family.answer(asked, corrected)
        })
        .collect()
}

/// The parameters that all questions of one family share.
struct Family {
    questions: usize,
    min_effect: f64,
}

impl Family {
    fn answer(&self, asked: Asked, p_value: Option<f64>) -> Effect {
        let (answer, reason) = match (&asked.weighed, asked.better.zip(p_value)) {
            (Ok(weighed), Some((better, p_value))) => {
                let answer = weighed.answer(better, p_value);
                (answer, self.reason(answer, weighed, asked.unit))
            }
            (Ok(weighed), None) => {
                let change = change(weighed, asked.unit);
                (
                    Answer::NotAvailable,
                    format!("{change}; the direction of improvement is not known"),
                )
            }
            (Err(reason), _) => (Answer::CannotTell, reason.clone()),
        };
        let weighed = asked.weighed.ok();
        let [a, b] = asked.sides;
        Effect {
            subject: asked.subject,
            labels: asked.labels,
            quantity: asked.quantity,
            unit: asked.unit,
            better: asked.better,
            a,
            b,
            difference: weighed.map(|weighed| weighed.difference),
            ratio: weighed.and_then(|weighed| weighed.ratio),
            p_value,
            minimum_effect: weighed.map(|weighed| weighed.minimum_effect(self.questions)),
            answer,
            reason,
        }
    }

    fn reason(&self, answer: Answer, weighed: &Weighed, unit: Unit) -> String {
        let change = change(weighed, unit);
        let threshold = Unit::Ratio.show(self.min_effect);
        let [low, high] = weighed.difference.interval;
        match answer {
            Answer::Better | Answer::Worse if self.min_effect > 0.0 => {
                format!("{change}, all of it beyond {threshold}")
            }
            Answer::Better | Answer::Worse => format!("{change}, all of it on one side of zero"),
            Answer::Same => format!("{change}, all of it within {threshold}"),
            _ if low <= 0.0 && high >= 0.0 => {
                let smallest = self.smallest(weighed, unit);
                format!("{change} includes zero; a difference of {smallest} would have shown")
            }
            _ if low.max(-high) <= weighed.margin => {
                format!("{change}: different, but possibly by less than {threshold}")
            }
            _ => format!("{change}: not significant as one of {} questions", self.questions),
        }
    }

    /// The smallest difference that would have shown, as a share if there is a
    /// ratio.
    fn smallest(&self, weighed: &Weighed, unit: Unit) -> String {
        let smallest = weighed.minimum_effect(self.questions);
        match weighed.ratio {
            Some(_) => Unit::Ratio.show(smallest / weighed.a),
            None => unit.show(smallest),
        }
    }
}

/// `+12.3 % (+8.10 to +16.9 %)`, or the same in the unit of the values if
/// there is no ratio.
fn change(weighed: &Weighed, unit: Unit) -> String {
    let (estimate, unit) = match weighed.ratio {
        Some(Estimate { value, interval }) => {
            let interval = interval.map(|end| end - 1.0);
            (Estimate { value: value - 1.0, interval }, Unit::Ratio)
        }
        None => (weighed.difference, unit),
    };
    let [value, low, high] = [estimate.value, estimate.interval[0], estimate.interval[1]]
        .map(|value| signed(value, unit));
    format!("{value} ({})", number::range(&low, &high))
}

/// A difference with its sign.
fn signed(value: f64, unit: Unit) -> String {
    match value {
        value if value > 0.0 => format!("+{}", unit.show(value)),
        value if value < 0.0 => format!("−{}", unit.show(-value)),
        _ => unit.show(0.0),
    }
}

impl Effect {
    /// The effect as a verdict of a run record, in answer to `question`.
    pub fn verdict(&self, question: impl Into<String>) -> Verdict {
        let n = self.b.n.unwrap_or(0);
        let is_measured = self.b.n != Some(0);
        Verdict {
            question: question.into(),
            subject: self.subject.clone(),
            labels: self.labels.clone(),
            answer: self.answer,
            measured: is_measured.then(|| Quantity {
                name: self.quantity.clone(),
                value: self.b.value,
                unit: self.unit,
                interval: self.b.interval,
                at_least: None,
                n,
            }),
            healthy: None,
            effect: self.difference.map(|difference| Quantity {
                name: format!("difference of {}", self.quantity),
                value: difference.value,
                unit: self.unit,
                interval: Some(difference.interval),
                at_least: None,
                n,
            }),
            minimum_effect: self.minimum_effect,
            reason: self.reason.clone(),
            next: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A question whose second side lies evenly over `low` to `high`, while the
    /// first is a constant 100.
    fn asked(low: f64, high: f64, better: Option<Direction>) -> Asked {
        let step = (high - low) / 9_999.0;
        let draws = (0..10_000).map(|i| [100.0, low + step * f64::from(i)]).collect();
        let side = Side { value: 100.0, interval: None, n: Some(7), effective_n: None };
        let asked = Asked {
            subject: "test/series".to_owned(),
            labels: BTreeMap::new(),
            quantity: "p50".to_owned(),
            unit: Unit::Nanoseconds,
            better,
            sides: [side; 2],
            weighed: Err(String::new()),
        };
        asked.weigh(&Contrast::new(100.0, f64::midpoint(low, high), draws), 0.02)
    }

    fn answered(low: f64, high: f64) -> String {
        let effect = decide(vec![asked(low, high, Some(Direction::Smaller))], 0.02).remove(0);
        format!("{}: {}", effect.answer.words(), effect.reason)
    }

    #[test]
    fn every_answer_has_its_reason() {
        let answers = [(105.0, 115.0), (84.0, 94.0), (99.0, 101.0), (90.0, 110.0), (101.0, 104.0)]
            .map(|(low, high)| answered(low, high));
        let expected = [
            "worse: +10.0 % (+5.25 to +14.7 %), all of it beyond 2 %",
            "better: −11.0 % (−15.7 to −6.25 %), all of it beyond 2 %",
            "no meaningful difference: 0 % (−0.95 to +0.95 %), all of it within 2 %",
            "cannot tell: 0 % (−9.50 to +9.50 %) includes zero; a difference of 15.6 % would have shown",
            "cannot tell: +2.50 % (+1.08 to +3.92 %): different, but possibly by less than 2 %",
        ];
        assert_eq!(answers, expected);
    }

    #[test]
    fn one_of_many_questions_needs_more() {
        // One in 200 draws lies on the wrong side: enough alone, not among 20.
        let close = || asked(101.947, 112.7, Some(Direction::Smaller));
        assert_eq!(decide(vec![close()], 0.02)[0].answer, Answer::Worse);
        let many = decide((0..20).map(|_| close()).collect(), 0.02);
        assert_eq!(many[0].answer, Answer::CannotTell);
        assert!(many[0].reason.ends_with("as one of 20 questions"), "{}", many[0].reason);
    }

    #[test]
    fn a_question_without_a_direction_is_not_judged_and_not_counted() {
        let effects = decide(
            vec![asked(150.0, 160.0, None), asked(105.0, 115.0, Some(Direction::Smaller))],
            0.0,
        );
        assert_eq!(effects[0].answer, Answer::NotAvailable);
        assert_eq!(effects[0].p_value, None);
        assert!((effects[1].p_value.unwrap() - 2.0 / 10_001.0).abs() < 1e-9);
    }

    #[test]
    fn a_verdict_carries_the_effect_and_its_interval() {
        let effect = decide(vec![asked(105.0, 115.0, Some(Direction::Smaller))], 0.02).remove(0);
        let verdict = effect.verdict("Is it slower?");
        assert_eq!(verdict.answer, Answer::Worse);
        assert_eq!(verdict.effect.unwrap().interval, effect.difference.map(|d| d.interval));
        assert_eq!(verdict.measured.unwrap().n, 7);
    }

    #[test]
    fn a_verdict_without_a_sample_has_no_value() {
        let mut asked = asked(105.0, 115.0, Some(Direction::Smaller));
        asked.weighed = Err("stopped".to_owned());
        asked.sides.iter_mut().for_each(|side| side.n = Some(0));
        let verdict = decide(vec![asked], 0.02).remove(0).verdict("Is it slower?");
        assert_eq!((verdict.answer, verdict.measured), (Answer::CannotTell, None));
    }
}
