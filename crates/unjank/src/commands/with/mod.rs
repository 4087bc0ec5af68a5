//! `unjank with`: knobs changed for the time of a command.

pub(crate) mod child;

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use unjank_host::journal::{Knob, RestoreOutcome};
use unjank_host::knobs;

use super::leftovers::unusable;
use super::place::PlaceArgs;
use super::session;
use crate::{exit, output};
use child::{End, Signals};

/// Arguments of `unjank with`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank with vm.swappiness=10 -- make bench
  sudo unjank with '/sys/devices/system/cpu/cpufreq/policy*/scaling_governor=performance' -- ./game
  sudo unjank with vm.page-cluster=0 /sys/kernel/mm/transparent_hugepage/enabled=never -- sh

KNOB is an absolute path, in which * stands for any part of a name, or a sysctl
name. All knobs are changed, in this order, or none. They are put back when the
command ends; by a keeper process if unjank is killed; and by `unjank restore`
if the keeper is killed, too. A knob that another program has changed meanwhile
is left alone.

Signals are forwarded to the command. The exit code is the command's, 128 + N if
signal N ended it. unjank's own: 1 a knob is not put back, 2 usage, 3 no such
knob or it cannot be put back, 4 not permitted.")]
pub(crate) struct Args {
    /// A path or a sysctl name, and the value to write
    #[arg(required = true, value_name = "KNOB=VALUE")]
    knobs: Vec<String>,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
    /// Do not report what is changed and put back
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    place: PlaceArgs,
}

/// Changes the knobs, runs the command, and puts the knobs back.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let root = args.place.root();
    let wanted = knobs::parse(&args.knobs, &root)?;
    let state_dir = args.place.state_dir()?;
    let mut signals = Signals::listen().context("while listening for signals")?;
    let opened = session::open(&root, Some(&state_dir));
    let session = match (opened, signals.stop_requested()) {
        // Ctrl-C may also have ended the keeper before it left the process group.
        (_, Some(signal)) => return Ok(ExitCode::from(End::Signal(signal).code())),
        (opened, None) => opened?,
    };
    let tell = |text: &dyn std::fmt::Display| {
        if !args.quiet {
            output::remark(&text.to_string());
        }
    };
    for change in session.recovered().iter().flat_map(|journal| &journal.changes) {
        tell(&format!("left by an earlier unjank: {change}"));
    }
    for text in unusable(session.recovered()) {
        output::remark(&text);
    }
    let (held, ended) = match session.change_all(&wanted) {
        Ok(held) => {
            for knob in &held {
                tell(&changed(knob));
            }
            (true, child::run(&args.command, &mut signals))
        }
        Err(error) => (false, Err(error.into())),
    };
    let mut still_changed = false;
    for report in session.finish() {
        still_changed |= report.outcome.is_failure();
        match report.outcome {
            RestoreOutcome::PutBack | RestoreOutcome::AlreadyBack if !held => {}
            RestoreOutcome::Failed { .. } => output::remark(&report.to_string()),
            _ => tell(&report),
        }
    }
    match ended {
        Ok(end) if end.code() == exit::FINE && still_changed => Ok(exit::FAILURE.into()),
        Ok(end) => Ok(end.code().into()),
        Err(error) if held || still_changed => Err(error),
        Err(error) => Err(error.context("nothing is changed")),
    }
}

/// `/proc/sys/vm/swappiness: 60 → 10`, with the written value if it differs.
fn changed(knob: &Knob) -> String {
    let (reads, asked) = (knob.value(), knob.asked());
    let line = format!("{}: {} → {reads}", knob.path(), knob.before());
    if reads == asked { line } else { format!("{line} (after {asked} was written)") }
}
