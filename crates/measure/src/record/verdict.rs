//! Questions and their answers.

use serde::{Deserialize, Serialize};

use crate::record::answer::Answer;
use crate::record::series::{Percentile, SeriesRecord};
use crate::record::unit::Unit;

/// A question that a run set out to answer, and its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The question in one sentence: `Are real-time threads woken in time?`
    pub question: String,
    /// The delay it is about (`launch`, `swap`, `jitter`, `lock`, `ipc`), a part
    /// of it (`ipc/unix`), or the name of the series that two runs were
    /// compared by.
    pub subject: String,
    /// The answer.
    pub answer: Answer,
    /// What was measured; `null` if nothing could be.
    pub measured: Option<Quantity>,
    /// What would be healthy, for questions about health.
    pub healthy: Option<Bound>,
    /// The difference between two arms or runs, for comparisons.
    pub effect: Option<Quantity>,
    /// The smallest difference that this many samples could have shown.
    pub minimum_effect: Option<f64>,
    /// Why this answer, in one sentence.
    pub reason: String,
    /// The command to type next.
    pub next: Option<String>,
}

impl Verdict {
    /// An answer with its reason, and nothing that was measured for it: what
    /// there is besides is set by whoever asks.
    pub fn new(
        subject: impl Into<String>,
        question: impl Into<String>,
        answer: Answer,
        reason: impl Into<String>,
    ) -> Self {
        Self {
            question: question.into(),
            subject: subject.into(),
            answer,
            measured: None,
            healthy: None,
            effect: None,
            minimum_effect: None,
            reason: reason.into(),
            next: None,
        }
    }

    /// A question about health, answered by the healthy range. `next` is for
    /// those who are not told that all is well.
    pub fn of_health(
        subject: &str,
        question: &str,
        healthy: Bound,
        measured: Option<Quantity>,
        reason: String,
        next: &str,
    ) -> Self {
        let answer = measured.as_ref().map_or(Answer::NotAvailable, |it| healthy.judge(it));
        let unwell = matches!(answer, Answer::Slow | Answer::CannotTell);
        Self {
            measured,
            healthy: Some(healthy),
            next: unwell.then(|| next.to_owned()),
            ..Self::new(subject, question, answer, reason)
        }
    }
}

/// A measured number with what is needed to judge it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Quantity {
    /// What it is: `p99 of wake-up latency, SCHED_FIFO`.
    pub name: String,
    /// The value.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// 95 % interval, where there is one.
    pub interval: Option<[f64; 2]>,
    /// Samples behind it.
    pub n: u64,
}

impl Quantity {
    /// The median of a series that has samples, called `name`.
    pub fn median_of(series: &SeriesRecord, name: impl Into<String>) -> Option<Self> {
        Self::percentile_of(series, Percentile::P50, name)
    }

    /// A percentile of a series that has samples, called `name`.
    pub fn percentile_of(
        series: &SeriesRecord,
        percentile: Percentile,
        name: impl Into<String>,
    ) -> Option<Self> {
        let summary = series.summary?;
        let place = percentile as usize;
        Some(Self {
            name: name.into(),
            value: summary.quantiles()[place] as f64,
            unit: series.unit,
            interval: summary.intervals[place].map(|bounds| bounds.map(|bound| bound as f64)),
            n: series.n,
        })
    }
}

/// A healthy range: everything up to a limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// The largest healthy value, in the unit of what was measured.
    pub at_most: f64,
    /// Where the limit comes from.
    pub source: String,
}

impl Bound {
    /// Judges a quantity. An interval that straddles the limit decides
    /// nothing, and neither does a value without one.
    pub fn judge(&self, quantity: &Quantity) -> Answer {
        let Some([low, high]) = quantity.interval else { return Answer::CannotTell };
        if high <= self.at_most {
            Answer::Healthy
        } else if low > self.at_most {
            Answer::Slow
        } else {
            Answer::CannotTell
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_across_the_limit_decides_nothing() {
        let bound = Bound { at_most: 10.0, source: "a test".to_owned() };
        let quantity = |value, interval| Quantity {
            name: "x".to_owned(),
            value,
            unit: Unit::Nanoseconds,
            interval,
            n: 100,
        };
        assert_eq!(bound.judge(&quantity(9.0, Some([8.0, 10.0]))), Answer::Healthy);
        assert_eq!(bound.judge(&quantity(9.0, Some([8.0, 11.0]))), Answer::CannotTell);
        assert_eq!(bound.judge(&quantity(12.0, Some([10.5, 14.0]))), Answer::Slow);
        assert_eq!(bound.judge(&quantity(12.0, None)), Answer::CannotTell);
    }
}
