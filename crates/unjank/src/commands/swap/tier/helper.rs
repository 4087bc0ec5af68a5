//! `unjank swap tier helper`: the processes of a tier.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use unjank_host::Error;
use unjank_host::process::HelperCommand;
use unjank_swap::remedy::tier::directory::TierDirectory;
use unjank_swap::remedy::tier::event::Event;
use unjank_swap::remedy::tier::helper::{Helpers, Task};
use unjank_swap::remedy::tier::task::{self, Voice};

use crate::{exit, output};

/// Arguments of `unjank swap tier helper`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What it does: serve, keep, turn-on or turn-off
    task: Task,
    /// The directory of all tiers
    all: PathBuf,
    /// The name of the tier
    name: String,
}

/// Starts the processes of tiers.
pub(crate) fn helpers() -> Helpers {
    Helpers::new(HelperCommand::this_program(["swap", "tier", "helper"]))
}

/// Tells the user what a supervisor says, unless the terminal or pipe is full or stopped: its reader
/// may wait for a page in the tier.
pub(super) fn tell(event: &Event) {
    output::remark_without_waiting(&event.to_string());
}

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let directory = TierDirectory::named(&args.all, &args.name)?;
    // The usual hook waits for the terminal, whose reader may wait for a page in the tier.
    std::panic::set_hook(Box::new(|panic| output::remark_without_waiting(&panic.to_string())));
    let voice = Voice { answer, say: tell, fatal };
    // The supervisor has the error; it is not printed twice.
    let done = task::run(args.task, &directory, &helpers(), voice);
    Ok(ExitCode::from(if done.is_ok() { exit::FINE } else { exit::FAILURE }))
}

fn answer(line: &str) {
    let mut output = std::io::stdout();
    // A supervisor that was killed needs no answer.
    let _nobody_listens = writeln!(output, "{line}").and_then(|()| output.flush());
}

fn fatal(error: &Error) -> ! {
    output::remark_without_waiting(&format!("the server of the swap tier ends: {error}"));
    std::process::abort()
}
