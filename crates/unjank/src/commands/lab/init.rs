//! `unjank lab init`: the first process of the virtual phone.

use std::process::ExitCode;

use anyhow::{Context as _, Result};

use crate::commands::measured::build;

/// Does not return as long as the phone is on.
pub(super) fn run() -> Result<ExitCode> {
    unjank_lab::guest::run(build()).context("while being the first process of a virtual phone")?;
    Ok(ExitCode::SUCCESS)
}
