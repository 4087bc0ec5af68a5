//! The load as facts of a record.

use super::{Load, a_second};
use crate::record::{Fact, Unit};

impl Load {
    /// Shares of time and rates, named `checkup/…`.
    pub fn facts(&self) -> Vec<Fact> {
        let (whole, calm) = (&self.whole, &self.calm);
        let ratio = |name: &str, share| Fact::new(format!("checkup/{name}"), share, Unit::Ratio);
        let mut facts = Vec::new();
        for (what, span, waited) in
            [("cpu", whole, whole.cpu), ("memory", calm, calm.memory), ("io", whole, whole.io)]
        {
            for (who, time) in
                waited.into_iter().flat_map(|it| [("some", it.some), ("all", it.all)])
            {
                let fact = ratio("waited", span.share(time));
                facts.push(fact.with_label("for", what).with_label("who", who));
            }
        }
        for (name, pages) in [("swapped_in", calm.swapped_in), ("swapped_out", calm.swapped_out)] {
            let rate = a_second(pages, calm);
            facts.push(Fact::new(format!("checkup/{name}"), rate, Unit::PerSecond));
        }
        facts.push(ratio("stolen", whole.stolen()));
        if let Some((group, throttled)) = self.most_throttled() {
            facts.push(ratio("throttled", throttled.share()).with_label("group", group));
        }
        facts
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::Nanos;
    use unjank_host::surroundings::{MachineActivity, Waited};

    use super::*;

    #[test]
    fn counts_are_in_the_record() {
        let waited = |some: u64| Some(Waited { some: Nanos(some * 10_000_000), all: Nanos::ZERO });
        let length = Nanos(1_000_000_000);
        let io = waited(0);
        let span = MachineActivity { length, cpu: waited(50), io, ..MachineActivity::default() };
        let calm = MachineActivity { memory: waited(20), swapped_in: 30, ..span.clone() };
        let load = Load { whole: span, calm, ..Load::default() };
        let facts = load.facts();
        let all: Vec<_> = facts.iter().map(|fact| (fact.name.as_str(), fact.value)).collect();
        assert_eq!(all.iter().filter(|(name, _)| *name == "checkup/waited").count(), 6);
        assert!(all.contains(&("checkup/waited", 0.2)) && all.contains(&("checkup/stolen", 0.0)));
        assert!(all.contains(&("checkup/swapped_in", 30.0)));
        assert_eq!(Load::default().facts().len(), 3, "no pressure, no groups");
    }
}
