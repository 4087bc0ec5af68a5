//! `unjank launch boost status`, `pause` and `resume`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use unjank_host::Nanos;
use unjank_launch::remedy::report::Status;

use super::args::SOCKET;
use crate::commands::service;
use crate::commands::service::requests::Action;
use crate::{exit, output};

/// Arguments of `pause` and `resume`.
#[derive(Debug, clap::Args)]
pub(super) struct SocketArgs {
    /// Where the service listens
    #[arg(long, value_name = "PATH", default_value = SOCKET)]
    socket: PathBuf,
}

/// Arguments of `status`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank launch boost status
  unjank launch boost status --json | jq .counts")]
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
    output::remark("paused: nothing is boosted until unjank launch boost resume");
    Ok(ExitCode::from(exit::FINE))
}

/// Asks the service to resume.
pub(super) fn resume(args: &SocketArgs) -> Result<ExitCode> {
    ask(&args.socket, Action::Resume)?;
    output::remark("resumed: launches are boosted again");
    Ok(ExitCode::from(exit::FINE))
}

fn ask(socket: &Path, action: Action) -> Result<Status> {
    service::ask(socket, action, "sudo unjank launch boost")
}

fn text(status: &Status) -> String {
    let Status { counts, latency, .. } = status;
    let state = match (status.paused, status.boosted_for) {
        (true, _) => "paused".to_owned(),
        _ if status.power_saver => "not boosting: the power profile is power-saver".to_owned(),
        (false, Some(time)) => format!("boosted for {time} now"),
        (false, None) => "waiting for launches".to_owned(),
    };
    let mut lines = vec![
        format!("process {}, up {}: {state}", status.process, status.up),
        format!("detects launches by: {}", status.sources.join(", ")),
    ];
    for step in &status.moves {
        let (path, why) = (step.path.display(), &step.why);
        lines.push(format!("changes {path}: {} → {} ({why})", step.normal, step.boosted));
    }
    if status.moves.is_empty() {
        lines.push("changes nothing: other programs took over all its knobs".to_owned());
    }
    lines.extend(
        status.launches.iter().map(|(process, program)| format!("now: {program} ({process})")),
    );
    lines.push(format!(
        "{} programs started, {} launches, {} boosts, {} boosted; budget left {}",
        counts.execs, counts.launches, counts.boosts, counts.boosted, status.budget_left
    ));
    if !counts.not.is_empty() {
        let not = counts.not.iter().map(|(reason, n)| format!("{} {n}", reason.name()));
        lines.push(format!("not boosted: {}", not.collect::<Vec<_>>().join(", ")));
    }
    if latency.n > 0 {
        lines.push(format!(
            "start to knobs written: p50 {}, p99 {}, worst {} (n {})",
            latency.p50, latency.p99, latency.max, latency.n
        ));
    }
    let share = share(status.cpu_time, status.up);
    lines.push(format!(
        "costs {} of CPU time ({share}), {} of memory; events lost {} times, knobs lost {}",
        status.cpu_time,
        unjank_host::Bytes(status.resident),
        counts.overruns,
        counts.knobs_lost
    ));
    output::Lines::from_iter(lines).finish()
}

fn share(part: Nanos, whole: Nanos) -> String {
    let percent = part.get() as f64 / whole.get().max(1) as f64 * 100.0;
    format!("{percent:.2} % of one CPU")
}
