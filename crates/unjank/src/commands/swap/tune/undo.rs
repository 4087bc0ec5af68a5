//! Taking back what `--apply` and `--write` did.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use serde::Serialize;
use unjank_host::Root;
use unjank_host::journal::ChangeReport;
use unjank_swap::remedy::tune::{apply, files};

use crate::commands::leftovers::code_of;
use crate::output;

/// The output of `--json`.
#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: &'static str,
    /// The settings of `--apply`.
    changes: &'a [ChangeReport],
    /// The files of `--write` that were removed.
    removed: &'a [PathBuf],
}

/// Takes the settings back, removes the files below `etc`, and prints both.
pub(super) fn run(state: &Path, etc: &Path, json: bool) -> Result<ExitCode> {
    // Each is tried, even if the other fails.
    let changes = apply::undo(&Root::system(), state).context("while taking back the settings");
    let removed = files::undo(etc).context("while removing the files of --write");
    let (changes, removed) = (changes?, removed?);
    if json {
        let document =
            Document { schema: "unjank.swap-tune-undo/1", changes: &changes, removed: &removed };
        output::print(&output::json(&document)?)?;
    } else {
        let mut lines = output::Lines::default();
        for change in &changes {
            lines.add(format_args!("{change}"));
        }
        for path in &removed {
            lines.add(format_args!("{}: removed", path.display()));
        }
        let text = lines.finish();
        output::print(if text.is_empty() { "there was nothing to take back" } else { &text })?;
    }
    Ok(ExitCode::from(code_of(changes.iter().map(|change| &change.outcome), false)))
}
