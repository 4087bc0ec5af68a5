//! The cost of each delay in launches of a program, beside the machine's own figures.

use std::ffi::OsString;
use std::str::FromStr;

use anyhow::Result;
use unjank_host::{Bytes, Nanos, Root, Timestamp};
use unjank_launch::bench::{Program, Ready};
use unjank_measure::{Findings, Monitor};
use unjank_why::report::{self, DelayCost};

use super::budget::Budget;
use super::deadline::Deadline;
use crate::commands::measured::OutputArgs;
use crate::commands::why::about::{of_program, with_server};
use crate::commands::why::launch::{Plan, Until};
use crate::commands::why::launches::record;
use crate::commands::why::open_tracefs;
use crate::exit;

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
        (budget, deadline): (&Budget, &Deadline),
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
            explains_unended: false,
            memory: MEMORY,
            until: Some(until),
            end: Some(deadline.of_launches()),
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
                (Some(cost), _) => *verdict = cost.beside(verdict),
                (None, Some(missing)) => {
                    verdict.also(&format!("its cost for the launch is not known: {missing}"));
                }
                (None, None) => {}
            }
        }
        findings.merge(self.findings);
    }
}

#[cfg(test)]
mod tests {
    use unjank_measure::{Answer, Verdict};

    use super::*;

    #[test]
    fn without_a_recording_the_rows_stay_and_say_what_is_missing() {
        let machine = Verdict::new("jitter", "?", Answer::Healthy, "it is");
        let mut findings = Findings { verdicts: vec![machine], ..Findings::default() };
        let missing = Some("recording needs root".to_owned());
        LaunchResults { missing, ..LaunchResults::default() }.add_to(&mut findings);
        let row = &findings.verdicts[0];
        assert_eq!(row.answer, Answer::Healthy);
        assert_eq!(row.reason, "it is; its cost for the launch is not known: recording needs root");
    }

    #[test]
    fn a_command_line_is_split_like_a_shell_does() {
        let words = "sh -c 'exit 0'".parse::<CommandLine>().unwrap().0;
        assert_eq!(words, ["sh", "-c", "exit 0"]);
        assert!("sh -c 'x".parse::<CommandLine>().is_err());
        assert!(" ".parse::<CommandLine>().is_err());
    }
}
