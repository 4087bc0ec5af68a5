//! `unjank launch boost plan`: the changes that the service would make here, with reasons.

use std::process::ExitCode;

use anyhow::Result;
use serde::Serialize;
use unjank_host::process::connector::{EventKinds, ProcConnector};
use unjank_host::{Machine, Support};
use unjank_launch::remedy::Plan;

use super::args::ChoiceArgs;
use crate::commands::place::PlaceArgs;
use crate::{exit, output};

/// Arguments of `unjank launch boost plan`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank launch boost plan
  unjank launch boost plan --method sampling-rate --json

Changes nothing. Exit code 3: there is nothing to change.")]
pub(super) struct Args {
    #[command(flatten)]
    choice: ChoiceArgs,
    /// Print the plan as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: PlaceArgs,
}

/// The output of `--json`.
#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: &'static str,
    #[serde(flatten)]
    plan: &'a Plan,
    /// Why program starts cannot be detected; `null` if they can.
    exec: Option<&'a str>,
}

/// Prints the plan.
pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let root = args.place.root();
    let config = args.choice.config(&root)?;
    let clocks = Machine::clocks(&root);
    let plan = Plan::new(config.boost.method, &config.amounts(), &clocks, &root);
    let exec = ProcConnector::listen(EventKinds::EXEC)?;
    if args.json {
        let schema = "unjank.boost-plan/1";
        let document = Document { schema, plan: &plan, exec: exec.reason() };
        output::print(&output::json(&document)?)?;
    } else {
        output::print(&text(&plan, &exec))?;
    }
    Ok(ExitCode::from(if plan.moves.is_empty() { exit::UNSUPPORTED } else { exit::FINE }))
}

fn text(plan: &Plan, exec: &Support<ProcConnector>) -> String {
    let mut lines = Vec::new();
    for step in &plan.moves {
        let (path, twice) = (step.path.display(), if step.again { ", twice" } else { "" });
        lines.push(format!("{path}: {} → {}{twice}", step.normal, step.boosted));
        lines.push(format!("  {}", step.why));
    }
    lines.extend(plan.left.iter().map(|(what, why)| format!("{what}: not changed: {why}")));
    lines.push(match exec {
        Support::Yes(events) if events.filters() => {
            "launches are detected by the process connector (exec events only)".to_owned()
        }
        Support::Yes(_) => "launches are detected by the process connector".to_owned(),
        Support::No(reason) => format!("launches cannot be detected: {reason}"),
    });
    output::Lines::from_iter(lines).finish()
}
