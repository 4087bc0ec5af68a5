//! The headline: which strategies differ from the baselines. Pure.

use super::comparison::{ComparisonOutcome, Overall, Ratio};
use super::grid::Environment;

/// The most strategies named in one part; the rest is counted.
const NAMED: usize = 4;

/// What each judged strategy gains or loses against `rival`; `None` without such a strategy.
pub(super) fn headline(judged: &[Overall<'_>], rival: &str) -> Option<String> {
    let names = |of: fn(&Overall<'_>) -> Ratio, outcome: ComparisonOutcome| {
        let with = judged.iter().filter(|overall| of(overall).outcome() == outcome);
        with.map(name).collect::<Vec<String>>()
    };
    let (operations, cpu_time) =
        (|overall: &Overall<'_>| overall.operations, |overall: &Overall<'_>| overall.cpu_time);
    let parts = [
        ("more done by", names(operations, ComparisonOutcome::Won)),
        ("less done by", names(operations, ComparisonOutcome::Lost)),
        (
            "no certain difference in operations for",
            names(operations, ComparisonOutcome::CannotTell),
        ),
        ("less CPU time for", names(cpu_time, ComparisonOutcome::Lost)),
        ("more CPU time for", names(cpu_time, ComparisonOutcome::Won)),
    ];
    let parts = parts.into_iter().filter(|(_, names)| !names.is_empty());
    let parts: Vec<String> =
        parts.map(|(words, names)| format!("{words} {}", list(names))).collect();
    (!parts.is_empty()).then(|| format!("against {rival}: {}", parts.join("; ")))
}

fn name(overall: &Overall<'_>) -> String {
    match overall.environment {
        Environment::Idle => overall.strategy.to_owned(),
        environment => format!("{} ({environment})", overall.strategy),
    }
}

fn list(mut names: Vec<String>) -> String {
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let text = names.join(", ");
    if more > 0 { format!("{text} and {more} more") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overall(
        strategy: &'static str,
        environment: Environment,
        [operations, cpu_time]: [Option<[f64; 2]>; 2],
    ) -> Overall<'static> {
        let ratio = |interval| Ratio { value: 1.0, interval, rounds: 6 };
        let (operations, cpu_time) = (ratio(operations), ratio(cpu_time));
        Overall { environment, strategy, operations, cpu_time, cells: Vec::new() }
    }

    #[test]
    fn strategies_are_listed_by_what_they_gain_and_lose() {
        let (more, less, open) = (Some([1.1, 1.2]), Some([0.8, 0.9]), Some([0.9, 1.1]));
        let judged = [
            overall("unjank", Environment::Idle, [more, less]),
            overall("unjank", Environment::Load, [open, open]),
            overall("spin", Environment::Idle, [less, more]),
            overall("busy", Environment::Idle, [None, None]),
        ];
        assert_eq!(
            headline(&judged, "std").unwrap(),
            "against std: more done by unjank; less done by spin; no certain difference in \
             operations for unjank (load), busy; less CPU time for unjank; more CPU time for spin"
        );
        assert_eq!(
            headline(&judged[3..], "std").unwrap(),
            "against std: no certain difference in operations for busy"
        );
        assert_eq!(headline(&[], "std"), None);
    }

    #[test]
    fn many_names_are_counted() {
        let names = |count: usize| list((0..count).map(|number| number.to_string()).collect());
        assert_eq!((&*names(4), &*names(6)), ("0, 1, 2, 3", "0, 1, 2, 3 and 2 more"));
    }
}
