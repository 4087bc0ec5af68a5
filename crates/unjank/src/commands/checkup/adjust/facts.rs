//! The machine's counts during the run, as facts of the record.

use unjank_measure::{Fact, Unit};

use super::observed::{Observed, a_second};

/// Shares of time and rates, named `checkup/…`.
pub(in super::super) fn facts(observed: &Observed) -> Vec<Fact> {
    let (whole, calm) = (&observed.whole, &observed.calm);
    let ratio = |name: &str, share| Fact::new(format!("checkup/{name}"), share, Unit::Ratio);
    let mut facts = Vec::new();
    for (what, span, waited) in
        [("cpu", whole, whole.cpu), ("memory", calm, calm.memory), ("io", whole, whole.io)]
    {
        for (who, time) in waited.into_iter().flat_map(|it| [("some", it.some), ("all", it.all)]) {
            let fact = ratio("waited", span.share(time));
            facts.push(fact.with_label("for", what).with_label("who", who));
        }
    }
    for (name, pages) in [("swapped_in", calm.swapped_in), ("swapped_out", calm.swapped_out)] {
        let rate = a_second(pages, calm);
        facts.push(Fact::new(format!("checkup/{name}"), rate, Unit::PerSecond));
    }
    facts.push(ratio("stolen", whole.stolen()));
    if let Some((group, throttled)) = observed.most_throttled() {
        facts.push(ratio("throttled", throttled.share()).with_label("group", group));
    }
    facts
}
