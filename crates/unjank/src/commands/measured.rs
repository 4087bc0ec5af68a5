//! What all measuring commands share: from options to a run record that is
//! stored and printed.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use jiff::{Timestamp as Date, Unit as DateUnit};
use serde_json::Value;
use unjank_host::{Machine, Root, Timestamp};
use unjank_measure::clock::ClockCost;
use unjank_measure::record::{SCHEMA, Tool};
use unjank_measure::{Findings, Monitor, RunRecord};

use super::environment;
use crate::exit;
use crate::interrupt::Interrupt;
use crate::output::{self, Progress};

/// Options of every measuring command.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Print the whole run record as JSON on stdout
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the report as one self-contained HTML page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write the report as Markdown
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Do not keep the run in the store
    #[arg(long)]
    pub(crate) no_store: bool,
    /// Seed of everything that is drawn by chance (orders, contents, bootstrap)
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

/// The options of a run as its record keeps them.
#[derive(Debug, Default)]
pub(crate) struct Settings(BTreeMap<String, Value>);

impl Settings {
    /// With the option `name` at `value`. Times are kept in nanoseconds.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }
}

/// Runs `measure` with a progress bar and Ctrl-C, then stores and prints what
/// it found.
pub(crate) fn run(
    command: &str,
    output: &OutputArgs,
    settings: Settings,
    measure: impl FnOnce(&Root, u64, &dyn Monitor) -> Result<Findings>,
) -> Result<ExitCode> {
    let root = Root::system();
    let interrupt = Interrupt::listen().context("while listening for Ctrl-C")?;
    let progress = Progress::new(command, interrupt.clone());
    let date = Date::now();
    let seed = output.seed.unwrap_or_else(|| date.as_nanosecond() as u64);
    let host = Machine::read(&root);
    let start = Timestamp::now();
    let mut findings = Findings::default();
    ClockCost::calibrate().note(&mut findings);
    for warning in environment::warnings(&host) {
        findings.warn(warning);
    }
    findings.merge(measure(&root, seed, &progress)?);
    let elapsed = Timestamp::now().since(start).get();
    progress.clear();
    let record = RunRecord {
        schema: SCHEMA.to_owned(),
        id: format!("{}-{:06x}", date.strftime("%Y%m%dT%H%M%S"), seed & 0xff_ffff),
        tool: Tool { version: env!("CARGO_PKG_VERSION").to_owned(), commit: None },
        command: command.to_owned(),
        started_at: date.round(DateUnit::Second).unwrap_or(date).to_string(),
        elapsed,
        host,
        settings: settings.with("seed", seed).0,
        findings,
        labels: if interrupt.requested() { vec!["interrupted".to_owned()] } else { Vec::new() },
    };
    deliver(&record, output)?;
    Ok(ExitCode::from(if interrupt.requested() { exit::INTERRUPTED } else { exit::FINE }))
}

fn deliver(record: &RunRecord, output: &OutputArgs) -> Result<()> {
    if output.json {
        output::print(&record.to_json())?;
    } else {
        output::print(&unjank_report::terminal(record, &output::terminal_style()))?;
    }
    if let Some(path) = &output.html {
        let page = unjank_report::html(std::slice::from_ref(record));
        fs::write(path, page).with_context(|| format!("while writing {}", path.display()))?;
    }
    if let Some(path) = &output.markdown {
        let text = unjank_report::markdown(record);
        fs::write(path, text).with_context(|| format!("while writing {}", path.display()))?;
    }
    Ok(())
}
