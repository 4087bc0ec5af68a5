//! What all measuring commands share: from options to a run record that is
//! stored and printed.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use serde_json::Value;
use unjank_host::files::Destination;
use unjank_host::{Machine, Root, Timestamp};
use unjank_measure::clock::ClockCost;
use unjank_measure::record::{Run, Start, Tool};
use unjank_measure::{Findings, Monitor, RunRecord, Store};

use super::environment;
use crate::exit;
use crate::interrupt::Interrupt;
use crate::output::{self, Progress};
use crate::paths;

/// The label of what was measured where a program translates instructions.
const EMULATED: &str = "emulated";
/// The label of what was not measured at all.
const MODELLED: &str = "modelled";

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
    /// Keep the run in this store [default: unjank/runs.sqlite in the user's data directory]
    #[arg(long, value_name = "FILE", conflicts_with = "no_store")]
    pub(crate) store: Option<PathBuf>,
    /// Seed of everything that is drawn by chance (orders, contents, bootstrap)
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

/// Where the result goes: places that were tried before anything was measured.
#[derive(Debug)]
pub(super) struct Outputs<'a> {
    args: &'a OutputArgs,
    html: Option<Destination>,
    markdown: Option<Destination>,
}

impl<'a> Outputs<'a> {
    /// Tries the places that were named.
    pub(super) fn open(args: &'a OutputArgs) -> Result<Self> {
        let open = |path: &Option<PathBuf>| path.as_deref().map(Destination::open).transpose();
        let (html, markdown) = (open(&args.html)?, open(&args.markdown)?);
        if let Some(path) = args.store.as_deref().filter(|_| !args.no_store) {
            Store::open(path)?;
            Store::check_place(path)?;
            Destination::open(first_to_be_made(path)).context("no place for the store")?;
        }
        Ok(Self { args, html, markdown })
    }
}

/// The file of a store, or the first directory above it that is not there yet:
/// these are made with the store.
fn first_to_be_made(store: &Path) -> &Path {
    let is_there = |above: &Path| above == Path::new("") || above.is_dir();
    store.ancestors().find(|path| path.parent().is_none_or(is_there)).unwrap_or(store)
}

/// The options of a run as its record keeps them.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    values: BTreeMap<String, Value>,
    modelled: bool,
}

impl Settings {
    /// Those of a command whose numbers come from a model: its record says so.
    pub(crate) fn modelled() -> Self {
        Self { modelled: true, ..Self::default() }
    }

    /// With the option `name` at `value`. Times are kept in nanoseconds.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.values.insert(name.to_owned(), value.into());
        self
    }

    /// As a record keeps them.
    pub(super) fn into_values(self) -> BTreeMap<String, Value> {
        self.values
    }
}

/// A measuring command as it was typed.
pub(crate) struct Command<'a> {
    /// Its name, without options: `jitter native`.
    pub(crate) name: &'a str,
    /// Where its result goes.
    pub(crate) output: &'a OutputArgs,
    /// Its own options.
    pub(crate) settings: Settings,
}

impl Command<'_> {
    /// Runs `measure` with a progress bar and Ctrl-C, then stores and prints
    /// what it found.
    pub(crate) fn run(
        self,
        measure: impl FnOnce(&Root, u64, &dyn Monitor) -> Result<Findings>,
    ) -> Result<ExitCode> {
        self.run_for_code(measure).map(ExitCode::from)
    }

    /// The same for commands that have a say in the exit code.
    pub(crate) fn run_for_code(
        self,
        measure: impl FnOnce(&Root, u64, &dyn Monitor) -> Result<Findings>,
    ) -> Result<u8> {
        let outputs = Outputs::open(self.output)?;
        let root = Root::system();
        let interrupt = Interrupt::listen().context("while listening for Ctrl-C")?;
        let progress = Progress::new(self.name, interrupt.clone());
        let start = Start::now();
        // 32 bits: every JSON reader keeps them exactly.
        let seed = self.output.seed.unwrap_or_else(|| Timestamp::now().as_nanos() & 0xffff_ffff);
        let host = Machine::read(&root);
        let mut findings = Findings::default();
        ClockCost::calibrate().note(&mut findings);
        for warning in environment::warnings(&host) {
            findings.warn(warning);
        }
        if cfg!(debug_assertions) {
            findings.warn("this unjank was built without optimisation, which adds to every number");
        }
        let found = measure(&root, seed, &progress);
        progress.clear();
        findings.merge(found?);
        let interrupted = interrupt.requested();
        let modelled = self.settings.modelled || is_modelled(&findings);
        let labels = labels(interrupted, modelled);
        if labels.iter().any(|label| label == EMULATED) {
            findings.withhold_health("an emulated machine's times say nothing about hardware");
        }
        let record = start.finish(
            Timestamp::now(),
            Run {
                tool: tool(),
                command: self.name.to_owned(),
                host,
                settings: self.settings.with("seed", seed).values,
                findings,
                labels,
            },
        );
        deliver(&record, outputs)?;
        Ok(if interrupted { exit::INTERRUPTED } else { code(&record.findings) })
    }
}

/// The exit code of a whole run that found this.
pub(super) fn code(findings: &Findings) -> u8 {
    if has_nothing(findings) { exit::UNSUPPORTED } else { exit::FINE }
}

/// Whether nothing that was asked for could be measured on this machine, or
/// by this user; the record says why.
fn has_nothing(findings: &Findings) -> bool {
    !findings.unsupported.is_empty() && findings.series.iter().all(|series| series.n == 0)
}

/// How to read the numbers: what the environment says of the machine, as the
/// virtual phone's does, whether any is modelled, and whether the run was cut
/// short.
fn labels(interrupted: bool, modelled: bool) -> Vec<String> {
    let told = env::var("UNJANK_LABELS").unwrap_or_default();
    let told = told.split(',').filter(|label| !label.is_empty()).map(str::to_owned);
    told.chain(modelled.then(|| MODELLED.to_owned()))
        .chain(interrupted.then(|| "interrupted".to_owned()))
        .collect()
}

/// Whether a program translates this machine's instructions, as the environment
/// says.
pub(super) fn is_emulated() -> bool {
    labels(false, false).iter().any(|label| label == EMULATED)
}

/// Whether a number among the findings comes from a model.
fn is_modelled(findings: &Findings) -> bool {
    let origin = |labels: &BTreeMap<String, String>| labels.get("origin").cloned();
    findings.facts.iter().any(|fact| origin(&fact.labels).is_some_and(|o| o == MODELLED))
}

/// This program, as a record has it.
pub(super) fn tool() -> Tool {
    Tool {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: option_env!("UNJANK_COMMIT").map(str::to_owned),
    }
}

/// Which build this is, where its commit is known.
pub(super) fn build() -> Option<String> {
    let Tool { version, commit } = tool();
    commit.map(|commit| format!("{version}, commit {commit}"))
}

/// Prints, writes and stores the record. What fails keeps nothing else from
/// being done; the first failure is told.
pub(super) fn deliver(record: &RunRecord, outputs: Outputs<'_>) -> Result<()> {
    let Outputs { args, html, markdown } = outputs;
    let text = if args.json {
        unjank_report::json(&record.to_json()).into_owned()
    } else {
        unjank_report::terminal(record, &output::terminal_style())
    };
    let printed = output::print(&text);
    let write = |place: Option<Destination>, render: &dyn Fn() -> String| {
        place.map_or(Ok(()), |place| place.write(render().as_bytes()).map_err(Into::into))
    };
    let page = write(html, &|| unjank_report::html(std::slice::from_ref(record)));
    let markdown = write(markdown, &|| unjank_report::markdown(record));
    let stored = if args.no_store { Ok(()) } else { keep(record, args.store.as_deref()) };
    printed.and(page).and(markdown).and(stored)
}

/// The file of the store that was named, or the user's; `None`, and said, where
/// nothing tells where that is. That is no reason to lose what was measured.
pub(super) fn store_path(named: Option<&Path>) -> Option<PathBuf> {
    let path = named.map(Path::to_owned).or_else(paths::store);
    if path.is_none() {
        output::remark(
            "not stored: neither HOME nor XDG_DATA_HOME says where (--store FILE does, and \
             --no-store asks for no store)",
        );
    }
    path
}

fn keep(record: &RunRecord, store: Option<&Path>) -> Result<()> {
    let Some(path) = store_path(store) else { return Ok(()) };
    Store::open(&path)
        .and_then(|mut store| store.put(record))
        .context("the run was measured, but not kept (--no-store measures without keeping)")?;
    Ok(())
}
