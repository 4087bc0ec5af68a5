//! `unjank mark`: what was that?

use std::process::ExitCode;

use anyhow::Result;
use unjank_watch::status::MarkOutcome;

use super::client::Watch;
use crate::commands::incidents::STORE;
use crate::commands::service::SocketArgs;
use crate::commands::service::requests::{Action, Question};
use crate::{exit, output};

/// Arguments of `unjank mark`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank mark                                  # bind it to a key
  unjank mark --process firefox                # only what held up this program
  unjank mark --socket /run/unjank-watch/watch.sock

Asks the running service (unjank watch) to explain the last three seconds. Any user
may mark. The service limits the number of incidents that it explains in an hour
(--per-hour). Exit code 5: nothing was explained.")]
pub(crate) struct Args {
    /// Only delays of this process, by its name ('fire*') or number
    #[arg(long, value_name = "NAME|PID")]
    process: Option<String>,
    #[command(flatten)]
    socket: SocketArgs<Watch>,
}

/// Marks, and prints what was found.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let question = Question { process: args.process.clone(), ..Question::of(Action::Mark) };
    let status = args.socket.ask_question(&question)?;
    let outcome = status.mark.unwrap_or(MarkOutcome::Failed);
    let (lines, code) = answer(&outcome);
    for line in lines {
        output::print(&line)?;
    }
    Ok(ExitCode::from(code))
}

/// What is printed, and the exit code.
fn answer(outcome: &MarkOutcome) -> (Vec<String>, u8) {
    let nothing = |text: &str| (vec![text.to_owned()], exit::GATE);
    match outcome {
        MarkOutcome::Explained { id, store, sentence } => {
            (vec![sentence.clone(), command(id, store)], exit::FINE)
        }
        MarkOutcome::Before { id, store, sentence } => {
            let shown = format!("explained shortly before: {sentence}");
            (vec![shown, command(id, store)], exit::FINE)
        }
        MarkOutcome::NothingFound => nothing("no thread was held up for 10 ms or longer"),
        MarkOutcome::LeftOut => {
            nothing("not explained: too soon after another trigger, or too many within an hour")
        }
        MarkOutcome::Paused => nothing("not explained: the service is paused"),
        MarkOutcome::Failed => nothing("not explained: the service has failed; see its log"),
    }
}

/// The command that explains an incident.
fn command(id: &str, store: &str) -> String {
    let words = match store {
        STORE => vec!["unjank", "why", "--incident", id],
        store => vec!["unjank", "why", "--incident-store", store, "--incident", id],
    };
    let words = shlex::try_join(words).unwrap_or_else(|_| "unjank why --last".to_owned());
    format!("sudo {words} has the details")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_for_the_store_of_the_service() {
        let outcome = |store: &str| MarkOutcome::Explained {
            id: "17".to_owned(),
            store: store.to_owned(),
            sentence: "it was so".to_owned(),
        };
        let (lines, code) = answer(&outcome(STORE));
        assert_eq!(lines, ["it was so", "sudo unjank why --incident 17 has the details"]);
        assert_eq!(code, exit::FINE);
        let (lines, _) = answer(&outcome("/tmp/a b"));
        assert!(lines[1].contains("--incident-store '/tmp/a b' --incident 17"), "{lines:?}");
        assert_eq!(answer(&MarkOutcome::NothingFound).1, exit::GATE);
    }
}
