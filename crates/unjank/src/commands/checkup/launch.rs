//! The cost of each delay in launches of a program, beside the machine's own figures.

use std::ffi::OsString;
use std::str::FromStr;

use anyhow::Result;
use unjank_host::{Bytes, Nanos, Root, Timestamp};
use unjank_launch::bench::{Program, Ready};
use unjank_measure::{Answer, Bound, Findings, Monitor, Verdict};
use unjank_why::report::{self, DelayCost};

use super::budget::Budget;
use crate::commands::measured::OutputArgs;
use crate::commands::why::about::{of_program, with_server};
use crate::commands::why::launch::{Plan, Until};
use crate::commands::why::launches::record;
use crate::commands::why::open_tracefs;
use crate::exit;

/// The largest healthy share of a launch that one delay costs.
const TENTH: f64 = 0.1;
const TENTH_SOURCE: &str = "a tenth of the launch, the smallest saving that is worth a change";
/// The most launches.
const MOST: u32 = 30;
/// The fewest launches whose median has an interval.
const ENOUGH: u32 = 6;
/// Memory for the events of each launch.
const MEMORY: Bytes = Bytes::from_mib(256);
/// Idle time before each launch but the first.
const GAP: Nanos = Nanos::from_millis(200);

/// A command line, split into words as a shell does.
#[derive(Debug, Clone)]
pub(super) struct CommandLine(pub(super) Vec<OsString>);

impl FromStr for CommandLine {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match shlex::split(text) {
            None => Err("a quote is not closed".to_owned()),
            Some(words) if words.is_empty() => Err("it names no program".to_owned()),
            Some(words) => Ok(Self(words.into_iter().map(OsString::from).collect())),
        }
    }
}

/// Results of launches of a program.
#[derive(Debug, Default)]
pub(super) struct LaunchResults {
    findings: Findings,
    costs: Vec<DelayCost>,
    /// The reason if there are no costs.
    missing: Option<String>,
}

impl LaunchResults {
    /// Launches the program for the budget's time, and explains it. A machine on
    /// which launches cannot be recorded is a result.
    ///
    /// # Errors
    /// A program that does not start, or is not ready in time.
    pub(super) fn of(
        command: &CommandLine,
        ready: &Ready,
        budget: &Budget,
        output: &OutputArgs,
        root: &Root,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        let tracefs = match open_tracefs(root) {
            Ok(tracefs) => tracefs,
            Err(error) => {
                let reason = exit::sentence(&error.into());
                let mut shown = Self { missing: Some(reason.clone()), ..Self::default() };
                shown.findings.not_supported("why", reason);
                return Ok(shown);
            }
        };
        let now = Timestamp::now();
        let until = Until {
            last: now + Nanos(budget.limit().get() / 3),
            enough: ENOUGH,
            then: now + budget.program(),
        };
        let program = Program::new(command.0.clone(), ready.clone());
        let about = of_program(&program, output);
        let plan = Plan {
            program,
            launches: MOST,
            gap: GAP,
            timeout: Nanos(budget.limit().get() / 2),
            memory: MEMORY,
            until: Some(until),
            stacks: false,
            is_cold: false,
        };
        let launches = record(&plan, &about, root, &tracefs, None, monitor)?;
        let about = with_server(&about, &launches, root);
        let findings = report::findings(&launches, &about);
        let missing = launches.missing().map(str::to_owned);
        Ok(Self { findings, costs: report::delays(&launches, &about), missing })
    }

    /// Adds to the row of each delay what it cost, and behind the rows what else
    /// is known of the launches.
    pub(super) fn add_to(self, findings: &mut Findings) {
        for verdict in &mut findings.verdicts {
            let cost = self.costs.iter().find(|cost| cost.delay == verdict.subject);
            match (cost, &self.missing) {
                (Some(cost), _) => *verdict = with_cost(verdict, cost),
                (None, Some(missing)) => {
                    verdict.reason = format!(
                        "{}; its cost for the launch is not known: {missing}",
                        verdict.reason
                    );
                }
                (None, None) => {}
            }
        }
        findings.merge(self.findings);
    }
}

/// The row of a delay: its cost for the launch, and what the machine can do as
/// its reason.
fn with_cost(machine: &Verdict, cost: &DelayCost) -> Verdict {
    let answer = machine.answer.words();
    let probe = match &machine.measured {
        Some(measured) => {
            let show = |value| measured.unit.show(value);
            let bound = machine.healthy.as_ref();
            let bound = bound.map(|bound| format!(", healthy up to {}", show(bound.at_most)));
            let (name, value) = (&measured.name, show(measured.value));
            format!("the machine itself: {answer}, {name}: {value}{}", bound.unwrap_or_default())
        }
        None => format!("the machine itself: {answer}, {}", machine.reason),
    };
    let reason: Vec<String> = cost.notes.iter().cloned().chain([probe]).collect();
    let healthy =
        Bound { at_most: cost.total.get() as f64 * TENTH, source: TENTH_SOURCE.to_owned() };
    let answer = cost.cost.as_ref().map_or(Answer::NotAvailable, |cost| healthy.judge(cost));
    let own_next = cost
        .next
        .as_ref()
        .filter(|next| answer != Answer::Healthy && !next.starts_with("sudo unjank checkup"));
    Verdict {
        question: cost.question.to_owned(),
        answer,
        measured: cost.cost.clone(),
        healthy: cost.cost.is_some().then_some(healthy),
        reason: reason.join("; "),
        next: own_next.or(machine.next.as_ref()).cloned(),
        ..machine.clone()
    }
}

#[cfg(test)]
mod tests {
    use unjank_measure::{Quantity, Unit};

    use super::*;

    fn quantity(value: f64, interval: Option<[f64; 2]>) -> Quantity {
        let name = "p99 of something".to_owned();
        Quantity { name, value, unit: Unit::Nanoseconds, interval, at_least: None, n: 9 }
    }

    fn machine() -> Verdict {
        let bound = Bound { at_most: 1e6, source: "a test".to_owned() };
        let measured = Some(quantity(3e5, Some([2e5, 4e5])));
        Verdict::of_health("jitter", "?", bound, measured, "it is".to_owned(), "next")
    }

    fn cost(cost: Option<Quantity>) -> DelayCost {
        DelayCost {
            delay: "jitter",
            question: "Did waits delay it?",
            cost,
            total: Nanos::from_millis(100),
            notes: vec!["20 % of the launch".to_owned()],
            next: Some("sudo unjank why -- true".to_owned()),
        }
    }

    #[test]
    fn a_row_says_what_the_delay_cost_beside_what_the_machine_can_do() {
        let row = with_cost(&machine(), &cost(Some(quantity(2e7, Some([1.5e7, 3e7])))));
        assert_eq!(row.answer, Answer::Slow);
        assert_eq!(
            row.reason,
            "20 % of the launch; the machine itself: healthy, p99 of something: 300 µs, healthy up \
             to 1.00 ms"
        );
        assert_eq!(row.next.as_deref(), Some("sudo unjank why -- true"));
        let few = with_cost(&machine(), &cost(Some(quantity(2e7, None))));
        assert_eq!(few.answer, Answer::CannotTell, "without an interval");
        let none = with_cost(&machine(), &cost(None));
        assert_eq!((none.answer, none.healthy), (Answer::NotAvailable, None));
        let little = with_cost(&machine(), &cost(Some(quantity(1e5, Some([0.0, 2e5])))));
        assert_eq!((little.answer, little.next), (Answer::Healthy, None));
    }

    #[test]
    fn without_a_recording_the_rows_stay_and_say_what_is_missing() {
        let mut findings = Findings { verdicts: vec![machine()], ..Findings::default() };
        let missing = Some("recording needs root".to_owned());
        LaunchResults { missing, ..LaunchResults::default() }.add_to(&mut findings);
        let row = &findings.verdicts[0];
        assert_eq!(row.answer, Answer::Healthy);
        assert!(row.reason.ends_with("is not known: recording needs root"), "{}", row.reason);
    }

    #[test]
    fn a_command_line_is_split_like_a_shell_does() {
        let words = "sh -c 'exit 0'".parse::<CommandLine>().unwrap().0;
        assert_eq!(words, ["sh", "-c", "exit 0"]);
        assert!("sh -c 'x".parse::<CommandLine>().is_err());
        assert!(" ".parse::<CommandLine>().is_err());
    }
}
