//! The question about a fact of two runs.

use super::question::{Question, Source, key};
use crate::effect::Side;
use crate::record::Fact;

/// What is compared of a fact.
const VALUE: &str = "value";

/// The name and the value of a fact.
pub(super) fn value(fact: &Fact) -> (String, f64) {
    (key(&fact.name, &fact.labels, VALUE, fact.unit), fact.value)
}

/// The question about a fact with an interval in both runs.
pub(super) fn question(pair: &[&Fact; 2]) -> Question {
    let [a, b] = *pair;
    let side = |fact: &Fact| Side {
        value: fact.value,
        interval: fact.interval,
        n: fact.n,
        effective_n: None,
    };
    let source = |fact: &Fact| {
        let [low, high] = fact.interval.unwrap_or([fact.value; 2]);
        Source::Interval { value: fact.value, low, high }
    };
    Question {
        subject: a.name.clone(),
        labels: a.labels.clone(),
        quantity: VALUE.to_owned(),
        unit: a.unit,
        better: a.better().or_else(|| b.better()),
        sides: [side(a), side(b)],
        sources: Ok([source(a), source(b)]),
    }
}
