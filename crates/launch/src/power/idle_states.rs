//! How CPUs use their idle states meanwhile: `Documentation/admin-guide/pm/cpuidle.rst`.
//!
//! A governor that samples more often wakes CPUs more often, which may keep them from deep states.
//! Jo & Suh leave that to future work.

use unjank_host::machine::{IdleUse, idle_uses};
use unjank_host::{Nanos, Result, Root, Timestamp};
use unjank_measure::{Cell, Column, Fact, Findings, Number, Table, Unit};

use super::notes::mean;

const SHARE: &str = "launch/power/idle_state";
const ENTRIES: &str = "launch/power/idle_entries";

/// The counters at the beginning of a window.
#[derive(Debug)]
pub(super) struct IdleWatch {
    at: Timestamp,
    uses: Vec<IdleUse>,
}

/// The use of one idle state in a window.
#[derive(Debug, Clone, PartialEq)]
pub struct IdleShare {
    /// The state's name.
    pub state: String,
    /// The time in it, as a share of the time of all CPUs that have it.
    pub share: f64,
    /// How often a second a CPU entered it, summed over CPUs.
    pub entries: f64,
}

impl IdleWatch {
    /// Reads the counters.
    pub(super) fn begin(root: &Root) -> Result<Self> {
        let uses = idle_uses(root)?;
        Ok(Self { at: Timestamp::now(), uses })
    }

    /// Reads them again; empty without cpuidle. A recorded window passes in no time, and this
    /// machine's idle states have nothing to do with it.
    pub(super) fn end(&self, window: Nanos, root: &Root) -> Result<Vec<IdleShare>> {
        let uses = idle_uses(root)?;
        let time = Timestamp::now().since(self.at);
        Ok(if time.times(2) < window { Vec::new() } else { shares(&self.uses, &uses, time) })
    }
}

/// The use between two readings. A state that is new, or whose counters began anew, is left out.
fn shares(before: &[IdleUse], after: &[IdleUse], time: Nanos) -> Vec<IdleShare> {
    let share = |(before, after): (&IdleUse, &IdleUse)| {
        let entries = after.entries.checked_sub(before.entries)?;
        let idle = after.time.get().checked_sub(before.time.get())?;
        let all = time.get().checked_mul(after.cpus).filter(|&all| all > 0)?;
        (before.name == after.name && before.cpus == after.cpus).then(|| IdleShare {
            state: after.name.clone(),
            // The counters are read one after the other.
            share: (idle as f64 / all as f64).min(1.0),
            entries: entries as f64 / time.as_secs_f64(),
        })
    };
    before.iter().zip(after).filter_map(share).collect()
}

/// Adds the means over windows, of each sampling period if there are several. Each element of
/// `windows` has the period's name and its windows. Without cpuidle there is nothing to add.
pub(super) fn note(
    windows: &[(Option<String>, &[Vec<IdleShare>])],
    seed: u64,
    findings: &mut Findings,
) {
    let mut rows = Vec::new();
    for (every, trials) in windows {
        let states = trials.first().map_or(&[][..], Vec::as_slice);
        for (place, state) in states.iter().enumerate() {
            let values = |of: fn(&IdleShare) -> f64| -> Vec<f64> {
                trials.iter().filter_map(|trial| trial.get(place)).map(of).collect()
            };
            let fact = |name, values: Vec<f64>, unit| {
                let fact = mean(name, &values, unit, seed)?.with_label("state", &state.state);
                Some(every.iter().fold(fact, |fact, every| fact.with_label("every", every)))
            };
            let share = fact(SHARE, values(|it| it.share), Unit::Ratio);
            let entries = fact(ENTRIES, values(|it| it.entries), Unit::PerSecond);
            rows.push(row(every.as_deref(), &state.state, share.as_ref(), entries.as_ref()));
            findings.facts.extend([share, entries].into_iter().flatten());
        }
    }
    if rows.is_empty() {
        return;
    }
    let columns = [
        Column::text("sampling"),
        Column::text("idle state"),
        Column::of("share of the time (95 % interval)", Unit::Ratio),
        Column::of("entered (95 % interval)", Unit::PerSecond),
    ];
    findings.tables.push(
        Table::new("launch/power/idle_states", "Idle states", columns)
            .with_rows(rows)
            .with_note("Time of all CPUs together; entries of all CPUs."),
    );
}

fn row(
    every: Option<&str>,
    state: &str,
    share: Option<&Fact>,
    entries: Option<&Fact>,
) -> [Cell; 4] {
    [
        every.unwrap_or("as it is").into(),
        state.into(),
        Cell::maybe(share.map(number)),
        Cell::maybe(entries.map(number)),
    ]
}

fn number(fact: &Fact) -> Number {
    Number::new(fact.value).within(fact.interval)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn idle(name: &str, cpus: u64, millis: u64, entries: u64) -> IdleUse {
        IdleUse { name: name.to_owned(), cpus, time: Nanos::from_millis(millis), entries }
    }

    #[test]
    fn a_share_is_of_all_cpus_that_have_the_state() {
        let before = [idle("POLL", 2, 10, 5), idle("C1", 2, 1_000, 50), idle("C6", 1, 9, 9)];
        let after = [idle("POLL", 2, 10, 5), idle("C1", 2, 2_000, 90), idle("C6", 1, 8, 9)];
        let found = shares(&before, &after, Nanos::from_millis(2_000));
        let share =
            |state: &str, share, entries| IdleShare { state: state.to_owned(), share, entries };
        assert_eq!(found, [share("POLL", 0.0, 0.0), share("C1", 0.25, 20.0)], "C6 began anew");
        assert_eq!(shares(&before, &after, Nanos::ZERO), []);
        assert_eq!(shares(&before, &[], Nanos(1)), []);
    }

    #[test]
    fn periods_are_compared_and_nothing_is_made_up() {
        let trial = |share| vec![IdleShare { state: "C1".to_owned(), share, entries: 100.0 }];
        let (short, long) = ([trial(0.5), trial(0.7)], [trial(0.9), trial(0.9)]);
        let windows =
            [(Some("10.0 ms".to_owned()), &short[..]), (Some("100 ms".to_owned()), &long[..])];
        let mut findings = Findings::default();
        note(&windows, 1, &mut findings);
        let of = |name: &str| -> Vec<(f64, &str)> {
            let facts = findings.facts.iter().filter(|fact| fact.name == name);
            facts.map(|fact| (fact.value, fact.labels["every"].as_str())).collect()
        };
        assert_eq!(of(SHARE), [(0.6, "10.0 ms"), (0.9, "100 ms")]);
        assert_eq!(of(ENTRIES), [(100.0, "10.0 ms"), (100.0, "100 ms")]);
        assert_eq!(findings.tables[0].rows.len(), 2);
        let mut findings = Findings::default();
        note(&[(None, &[Vec::new()])], 1, &mut findings);
        assert_eq!(findings, Findings::default());
    }
}
