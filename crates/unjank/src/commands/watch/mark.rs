//! `unjank mark`: what was that?

use std::process::ExitCode;

use anyhow::Result;

use super::client::{SocketArgs, ask};
use crate::commands::service::requests::Action;
use crate::{exit, output};

/// Arguments of `unjank mark`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank mark                                  # bind it to a key
  unjank mark --socket /run/unjank-watch/watch.sock

Asks the service sudo unjank watch to explain the last three seconds. Any user may
mark; the service explains at most so many incidents an hour (--per-hour).")]
pub(crate) struct Args {
    #[command(flatten)]
    socket: SocketArgs,
}

/// Marks, and prints what was found.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let before = ask(&args.socket.socket, Action::Status)?;
    let status = ask(&args.socket.socket, Action::Mark)?;
    let text = if status.left_out > before.left_out {
        "not explained: too soon after another incident, or too many within an hour".to_owned()
    } else if status.incidents > before.incidents {
        let found = status.last.unwrap_or_default();
        format!("{found}\nsudo unjank why --last explains it")
    } else if status.paused {
        "not explained: the service is paused".to_owned()
    } else {
        "no thread was held up for 10 ms or longer".to_owned()
    };
    for line in text.lines() {
        output::print(line)?;
    }
    Ok(ExitCode::from(exit::FINE))
}
