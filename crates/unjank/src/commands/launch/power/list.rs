//! Lists the meters of this machine.

use std::process::ExitCode;

use anyhow::Result;
use comfy_table::{Table, presets};
use serde::Serialize;
use unjank_host::energy::{About, meters};
use unjank_host::machine::frequency_policies;
use unjank_host::{Root, Support};
use unjank_report::one_line;

use crate::commands::launch::meter::MODEL;
use crate::{exit, output};

/// One kind of meter.
#[derive(Debug, Serialize)]
struct Line {
    meter: &'static str,
    /// Description of the meter, if it is available.
    about: Option<About>,
    /// The reason if it is unavailable.
    reason: Option<String>,
    /// Description of the meter, or the reason why it is unavailable.
    #[serde(skip)]
    text: String,
}

/// Prints each kind of meter: what it is, or why it is unavailable.
pub(super) fn run(root: &Root, as_json: bool) -> Result<ExitCode> {
    let mut lines: Vec<Line> = meters(root)
        .into_iter()
        .map(|found| match found.meter {
            Support::Yes(about) => Line {
                meter: found.kind.name(),
                text: format!("{}: {}, from {}", about.origin, about.covers, about.source),
                about: Some(about),
                reason: None,
            },
            Support::No(reason) => Line {
                meter: found.kind.name(),
                about: None,
                text: reason.clone(),
                reason: Some(reason),
            },
        })
        .collect();
    lines.push(model(root)?);
    let text = if as_json { output::json(&lines)? } else { table(&lines) };
    output::print(&text)?;
    Ok(ExitCode::from(exit::FINE))
}

/// The model needs cpufreq, and the powers of a device.
fn model(root: &Root) -> Result<Line> {
    let text = if frequency_policies(root)?.is_empty() {
        "the kernel has no cpufreq files here: no frequency to look up a power for"
    } else {
        "a device's power at each frequency for the time that the kernel counts: give --device"
    };
    let text = text.to_owned();
    Ok(Line { meter: MODEL, about: None, reason: Some(text.clone()), text })
}

fn table(lines: &[Line]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["Meter", "Here", "What it is, or why not"]);
    for line in lines {
        let here = if line.about.is_some() { "yes" } else { "no" };
        table.add_row([line.meter.into(), here.into(), one_line(&line.text)]);
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim().to_owned()).collect();
    lines.join("\n")
}
