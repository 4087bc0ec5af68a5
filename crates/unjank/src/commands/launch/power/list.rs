//! Which meters there are here.

use std::process::ExitCode;

use anyhow::Result;
use comfy_table::{Table, presets};
use unjank_host::energy::{About, meters};
use unjank_host::machine::frequency_policies;
use unjank_host::{Root, Support};

use super::meter::MODEL;
use crate::{exit, output};

/// Prints all kinds of meters, and why those that are not here are not.
pub(super) fn run(root: &Root) -> Result<ExitCode> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["Meter", "Here", "What it is, or why not"]);
    let found = meters(root);
    for meter in &found {
        let told = match &meter.meter {
            Support::Yes(about) => ["yes".to_owned(), sentence(about)],
            Support::No(reason) => ["no".to_owned(), reason.clone()],
        };
        table.add_row([[meter.kind.name().to_owned()].as_slice(), &told].concat());
    }
    let modelled = if frequency_policies(root)?.is_empty() {
        ["no", "the kernel has no cpufreq files here: no frequency to look up a power for"]
    } else {
        ["yes", "modelled: times of frequencies and of idle CPUs, powers of --device"]
    };
    table.add_row([MODEL, modelled[0], modelled[1]]);
    let lines: Vec<String> = table.lines().map(|line| line.trim().to_owned()).collect();
    output::print(&lines.join("\n"))?;
    Ok(ExitCode::from(exit::FINE))
}

fn sentence(about: &About) -> String {
    format!("{}: {}, from {}", about.origin, about.covers, about.source)
}
