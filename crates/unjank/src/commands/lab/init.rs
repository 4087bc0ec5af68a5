//! `unjank lab init`: the first process of the virtual phone.

use std::process::ExitCode;

use anyhow::{Context as _, Result};

use crate::commands::measured::build;

/// Returns only when the phone ends.
pub(super) fn run() -> Result<ExitCode> {
    unjank_lab::guest::run(build()).context("while running as init of a virtual phone")?;
    Ok(ExitCode::SUCCESS)
}
