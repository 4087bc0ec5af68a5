//! `unjank keeper`: puts everything back if the unjank that started it is
//! killed.

use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use unjank_host::journal::RestoreOutcome;
use unjank_host::keeper::{self, KeeperReport};
use unjank_host::process::HelperCommand;

use crate::exit;
use crate::output;

/// Arguments of `unjank keeper`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The directory of its journal, shown in process lists and messages; the
    /// order comes on stdin
    place: PathBuf,
}

/// The command that starts a keeper for the files in `place`.
pub(crate) fn command(place: &Path) -> HelperCommand {
    HelperCommand::this_program(["keeper".as_ref(), place.as_os_str()])
}

/// Waits for the end of the owner, and reports what it had to put back.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let owner = io::stdin().as_fd().try_clone_to_owned().context("while looking for the owner")?;
    let kept =
        keeper::run(owner).with_context(|| format!("while keeping {}", args.place.display()))?;
    if kept.outcomes.is_empty() && kept.left.is_none() {
        return Ok(ExitCode::from(exit::FINE));
    }
    output::remark(&sentence(&kept));
    Ok(ExitCode::from(if kept.left.is_some() { exit::FAILURE } else { exit::FINE }))
}

fn sentence(kept: &KeeperReport) -> String {
    let count = |wanted: fn(&RestoreOutcome) -> bool| {
        kept.outcomes.iter().filter(|end| wanted(end)).count()
    };
    let counts = [
        (
            count(|end| matches!(end, RestoreOutcome::PutBack | RestoreOutcome::AlreadyBack)),
            "put back",
        ),
        (count(|end| matches!(end, RestoreOutcome::LeftToOthers)), "left to other programs"),
        (count(|end| matches!(end, RestoreOutcome::Gone | RestoreOutcome::ResetByBoot)), "gone"),
        (count(RestoreOutcome::is_failure), "still changed (unjank restore gives the reason)"),
    ];
    let counts: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, end)| format!("{count} {end}"))
        .collect();
    let pid = kept.pid.map_or("unjank".to_owned(), |pid| format!("unjank (process {pid})"));
    let ends = if counts.is_empty() {
        "its journal cannot be read".to_owned()
    } else if kept.is_damaged {
        format!("{}; damaged lines of its journal may hold more", counts.join(", "))
    } else {
        counts.join(", ")
    };
    format!("{pid} was cut off; of its changes: {ends}")
}
