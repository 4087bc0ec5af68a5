//! The findings of a probe.

use serde::{Deserialize, Serialize};
use unjank_host::{Support, Unsupported};

use crate::record::{Answer, Change, Curve, Fact, Outlier, Quantity, SeriesRecord, Table, Verdict};

/// The findings of one or more probes: the part of a run record that is not
/// about the run itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Findings {
    /// What the tables say, in a sentence without a full stop, for findings without verdicts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headline: Option<String>,
    /// Distributions.
    pub series: Vec<SeriesRecord>,
    /// Curves: speed over time since wake, throughput over size.
    pub curves: Vec<Curve>,
    /// Single numbers.
    pub facts: Vec<Fact>,
    /// Tables of results.
    pub tables: Vec<Table>,
    /// The worst samples, with their times and causes.
    pub outliers: Vec<Outlier>,
    /// Questions and their answers.
    pub verdicts: Vec<Verdict>,
    /// The changes made to the machine for the run.
    pub changes: Vec<Change>,
    /// Warnings that the numbers must be read with.
    pub warnings: Vec<String>,
    /// The measurements that were not possible, with reasons.
    pub unsupported: Vec<Unsupported>,
}

impl Findings {
    /// Records that `what` could not be measured.
    pub fn not_supported(&mut self, what: impl Into<String>, reason: impl Into<String>) {
        self.unsupported.push(Unsupported { what: what.into(), reason: reason.into() });
    }

    /// The value of `support`. If there is none, its reason is recorded under
    /// the name `what`.
    pub fn require<T>(&mut self, what: &str, support: Support<T>) -> Option<T> {
        support.or_note(what, &mut self.unsupported)
    }

    /// Adds a warning, unless it is there already.
    pub fn warn(&mut self, warning: impl Into<String>) {
        let warning = warning.into();
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// Withdraws every answer about health, for a machine whose times say
    /// nothing about hardware. `because` is a sentence without a full stop.
    pub fn withhold_health(&mut self, because: &str) {
        for verdict in self.verdicts.iter_mut().filter(|verdict| verdict.healthy.is_some()) {
            if matches!(verdict.answer, Answer::Healthy | Answer::Slow) {
                verdict.answer = Answer::CannotTell;
                because.clone_into(&mut verdict.reason);
                verdict.next = None;
            }
        }
    }

    /// The series with this name.
    pub fn series_named(&self, name: &str) -> Option<&SeriesRecord> {
        self.series.iter().find(|series| series.name == name)
    }

    /// The fact with this name.
    pub fn fact_named(&self, name: &str) -> Option<&Fact> {
        self.facts.iter().find(|fact| fact.name == name)
    }

    /// The table with this name.
    pub fn table_named(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }

    /// Removes values that are not finite, with a warning each: JSON cannot
    /// represent them, and one such value would make the whole record
    /// unreadable.
    pub(crate) fn drop_non_finite(&mut self) {
        let finite = |value: f64, interval: Option<[f64; 2]>| {
            value.is_finite() && interval.is_none_or(|ends| ends.iter().all(|end| end.is_finite()))
        };
        let mut lost = Vec::new();
        self.facts.retain(|fact| {
            let keep = finite(fact.value, fact.interval);
            if !keep {
                lost.push(format!("fact {}", fact.name));
            }
            keep
        });
        for curve in &mut self.curves {
            let points = curve.points.len();
            curve.points.retain(|point| point.x.is_finite() && finite(point.y, point.interval));
            if curve.points.len() < points {
                lost.push(format!("a point of curve {}", curve.name));
            }
        }
        for table in &mut self.tables {
            if table.drop_non_finite() > 0 {
                lost.push(format!("a cell of table {}", table.name));
            }
        }
        for verdict in &mut self.verdicts {
            let drop = |quantity: &mut Option<Quantity>| {
                let broken = quantity.take_if(|q| {
                    !finite(q.value, q.interval) || q.at_least.is_some_and(|low| !low.is_finite())
                });
                broken.map(|quantity| quantity.name)
            };
            let measured = drop(&mut verdict.measured);
            lost.extend(measured.into_iter().chain(drop(&mut verdict.effect)));
            verdict.healthy.take_if(|bound| !bound.at_most.is_finite());
            verdict.minimum_effect = verdict.minimum_effect.filter(|effect| effect.is_finite());
        }
        for what in lost {
            self.warn(format!("{what} is not a number and is left out"));
        }
    }

    /// Adds the findings of another probe. The first headline stays.
    pub fn merge(&mut self, other: Self) {
        self.headline = self.headline.take().or(other.headline);
        self.series.extend(other.series);
        self.curves.extend(other.curves);
        self.facts.extend(other.facts);
        self.tables.extend(other.tables);
        self.outliers.extend(other.outliers);
        self.verdicts.extend(other.verdicts);
        self.changes.extend(other.changes);
        for warning in other.warnings {
            self.warn(warning);
        }
        self.unsupported.extend(other.unsupported);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Bound, Unit};

    #[test]
    fn health_is_withheld_and_other_answers_stay() {
        let healthy = Bound { at_most: 10.0, source: "a test".to_owned() };
        let measured = Quantity {
            name: "x".to_owned(),
            value: 5.0,
            unit: Unit::Nanoseconds,
            interval: Some([4.0, 6.0]),
            at_least: None,
            n: 100,
        };
        let verdict =
            Verdict::of_health("ipc", "?", healthy, Some(measured), "it is".to_owned(), "next");
        let question = Verdict {
            answer: Answer::Yes,
            healthy: None,
            reason: "so".to_owned(),
            ..verdict.clone()
        };
        let mut findings = Findings { verdicts: vec![verdict, question], ..Findings::default() };
        findings.withhold_health("emulated");
        let answers: Vec<_> =
            findings.verdicts.iter().map(|verdict| (verdict.answer, &*verdict.reason)).collect();
        assert_eq!(answers, [(Answer::CannotTell, "emulated"), (Answer::Yes, "so")]);
    }
}
