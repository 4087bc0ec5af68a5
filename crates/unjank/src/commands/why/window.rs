//! A window of a running program.

use std::io::{self, IsTerminal as _};

use anyhow::Result;
use unjank_host::tracefs::Tracefs;
use unjank_host::{Nanos, Root};
use unjank_measure::Monitor;
use unjank_why::live::{Window, record_window};
use unjank_why::report::Explained;

use super::file::KEPT;
use crate::{output, values};

/// How long a window is by default.
pub(super) const LENGTH: &str = "5s";

/// Options for a program that runs already.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Running programs")]
pub(crate) struct WindowArgs {
    /// Explain what a running process waits for, instead of a launch
    #[arg(
        long,
        value_name = "PID",
        conflicts_with_all = KEPT,
        conflicts_with_all = ["command", "ready", "launches", "gap", "timeout", "cost"]
    )]
    pub(super) pid: Option<u32>,
    /// How long to record
    #[arg(long = "for", value_name = "TIME", default_value = LENGTH, requires = "pid", value_parser = values::duration)]
    pub(super) duration: Nanos,
}

/// Records a window, and explains it.
pub(super) fn record(
    window: &Window,
    root: &Root,
    tracefs: &Tracefs,
    monitor: &dyn Monitor,
) -> Result<Explained> {
    let begun = || {
        // On a terminal, the progress bar says so.
        if !io::stderr().is_terminal() {
            output::remark(&format!("recording process {}", window.process));
        }
    };
    Ok(record_window(window, root, tracefs, begun, monitor)?)
}
