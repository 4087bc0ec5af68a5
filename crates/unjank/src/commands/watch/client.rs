//! `unjank watch status`, `pause` and `resume`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use unjank_watch::status::Status;

use super::args::SOCKET;
use crate::commands::service;
use crate::commands::service::requests::Action;
use crate::{exit, output};

/// Arguments of `pause` and `resume`.
#[derive(Debug, clap::Args)]
pub(super) struct SocketArgs {
    /// Where the service listens
    #[arg(long, value_name = "PATH", default_value = SOCKET)]
    pub(super) socket: PathBuf,
}

/// Arguments of `status`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank watch status
  unjank watch status --json | jq .incidents")]
pub(super) struct StatusArgs {
    /// Print the state as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    socket: SocketArgs,
}

/// Prints the state.
pub(super) fn status(args: &StatusArgs) -> Result<ExitCode> {
    let status = ask(&args.socket.socket, Action::Status)?;
    let text = if args.json { output::json(&status)? } else { text(&status) };
    output::print(&text)?;
    Ok(ExitCode::from(exit::FINE))
}

/// Asks the service to pause.
pub(super) fn pause(args: &SocketArgs) -> Result<ExitCode> {
    ask(&args.socket, Action::Pause)?;
    output::remark("paused: nothing is recorded until unjank watch resume");
    Ok(ExitCode::from(exit::FINE))
}

/// Asks the service to resume.
pub(super) fn resume(args: &SocketArgs) -> Result<ExitCode> {
    ask(&args.socket, Action::Resume)?;
    output::remark("resumed");
    Ok(ExitCode::from(exit::FINE))
}

/// Asks the service for an action.
pub(super) fn ask(socket: &Path, action: Action) -> Result<Status> {
    service::ask(socket, action, "sudo unjank watch")
}

fn text(status: &Status) -> String {
    let state = if status.paused { "paused" } else { "watching" };
    let percent = status.cpu_time.as_secs_f64() / status.up.as_secs_f64().max(1e-9) * 100.0;
    let mut lines = vec![
        format!("process {}, up {}: {state}", status.process, status.up),
        format!(
            "{} incidents explained; {} triggers without a delay, {} beyond the budget",
            status.incidents, status.nothing_found, status.left_out
        ),
        format!(
            "buffers of {}, threads with a rule: {}; this recording began {} ago",
            status.buffers, status.watched, status.recorded
        ),
    ];
    lines.extend(status.last.iter().map(|last| format!("last: {last}")));
    lines.extend(status.missing.iter().map(|missing| format!("not watched: {missing}")));
    lines.push(format!(
        "costs {} of CPU time ({percent:.2} % of one CPU) beside recording, {} of memory",
        status.cpu_time, status.resident
    ));
    output::Lines::from_iter(lines).finish()
}
