//! Verdicts: questions of a run and their answers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::record::answer::Answer;
use crate::record::series::{Percentile, QUANTILES, SeriesRecord};
use crate::record::unit::Unit;

/// A question that a run answers, and its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The question in one sentence: `Are real-time threads woken in time?`
    pub question: String,
    /// The delay (`launch`, `swap`, `jitter`, `lock`, `ipc`), a part of it
    /// (`ipc/unix`), or the name of the series by which two runs were compared.
    pub subject: String,
    /// Labels that tell it from verdicts about the same subject: the arms of a
    /// comparison, as in its facts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Healthy or slow, better or worse, yes or no; or cannot tell, or not available.
    pub answer: Answer,
    /// The measured quantity; `null` if nothing could be measured.
    pub measured: Option<Quantity>,
    /// The healthy range, for questions about health.
    pub healthy: Option<Bound>,
    /// The difference between two arms or runs, for comparisons.
    pub effect: Option<Quantity>,
    /// The smallest difference that this number of samples would have shown.
    pub minimum_effect: Option<f64>,
    /// The reason for the answer, in one sentence.
    pub reason: String,
    /// The next command to run.
    pub next: Option<String>,
}

impl Verdict {
    /// An answer with its reason; the caller sets the other fields.
    pub fn new(
        subject: impl Into<String>,
        question: impl Into<String>,
        answer: Answer,
        reason: impl Into<String>,
    ) -> Self {
        Self {
            question: question.into(),
            subject: subject.into(),
            labels: BTreeMap::new(),
            answer,
            measured: None,
            healthy: None,
            effect: None,
            minimum_effect: None,
            reason: reason.into(),
            next: None,
        }
    }

    /// A question about health, answered by the healthy range. `next` is set
    /// unless the answer is healthy.
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

    /// Adds a clause to the reason.
    pub fn also(&mut self, text: &str) {
        if !self.reason.is_empty() {
            self.reason.push_str("; ");
        }
        self.reason.push_str(text);
    }
}

/// A measured number with the data to judge it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Quantity {
    /// Its name: `p99 of wake-up latency, SCHED_FIFO`.
    pub name: String,
    /// In `unit`.
    pub value: f64,
    /// The unit of `value` and its bounds.
    pub unit: Unit,
    /// 95 % interval, if there is one.
    pub interval: Option<[f64; 2]>,
    /// The lower end of the 95 % interval, if the data bounds the quantity only
    /// from below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// The number of samples.
    pub n: u64,
}

impl Quantity {
    /// A share of `n` parts that the kernel counted, so it has no interval.
    pub fn counted_share(name: impl Into<String>, share: f64, n: u64) -> Self {
        let (name, unit) = (name.into(), Unit::Ratio);
        Self { name, value: share, unit, interval: None, at_least: None, n }
    }

    /// The median of a series with samples, named `name`.
    pub fn median_of(series: &SeriesRecord, name: impl Into<String>) -> Option<Self> {
        Self::percentile_of(series, Percentile::P50, name)
    }

    /// A percentile of a series with samples, named `name`.
    pub fn percentile_of(
        series: &SeriesRecord,
        percentile: Percentile,
        name: impl Into<String>,
    ) -> Option<Self> {
        let summary = series.summary?;
        let place = percentile as usize;
        let interval = summary.intervals[place].map(|bounds| bounds.map(|bound| bound as f64));
        Some(Self {
            name: name.into(),
            value: summary.quantiles()[place] as f64,
            unit: series.unit,
            interval,
            at_least: match interval {
                Some(_) => None,
                None => series.lower_end(QUANTILES[place]),
            },
            n: series.n,
        })
    }
}

/// A healthy range: everything up to a limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// The largest healthy value, in the unit of the quantity.
    pub at_most: f64,
    /// The source of the limit.
    pub source: String,
}

impl Bound {
    /// Judges a quantity. If its interval contains the limit, the answer is
    /// `cannot tell`; without an interval, it is `slow` if the lower end alone
    /// exceeds the limit.
    pub fn judge(&self, quantity: &Quantity) -> Answer {
        let Some([low, high]) = quantity.interval else {
            let exceeds = quantity.at_least.is_some_and(|low| low > self.at_most);
            return if exceeds { Answer::Slow } else { Answer::CannotTell };
        };
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
            at_least: None,
            n: 100,
        };
        assert_eq!(bound.judge(&quantity(9.0, Some([8.0, 10.0]))), Answer::Healthy);
        assert_eq!(bound.judge(&quantity(9.0, Some([8.0, 11.0]))), Answer::CannotTell);
        assert_eq!(bound.judge(&quantity(12.0, Some([10.5, 14.0]))), Answer::Slow);
        assert_eq!(bound.judge(&quantity(12.0, None)), Answer::CannotTell);
    }

    #[test]
    fn a_lower_end_alone_can_be_slow_and_never_healthy() {
        let bound = Bound { at_most: 10.0, source: "a test".to_owned() };
        let at_least = |low| Quantity {
            name: "x".to_owned(),
            value: 20.0,
            unit: Unit::Nanoseconds,
            interval: None,
            at_least: Some(low),
            n: 100,
        };
        assert_eq!(bound.judge(&at_least(11.0)), Answer::Slow);
        assert_eq!(bound.judge(&at_least(10.0)), Answer::CannotTell);
        assert_eq!(bound.judge(&at_least(2.0)), Answer::CannotTell);
    }
}
