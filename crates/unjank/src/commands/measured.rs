//! The common part of all measuring commands: from options to a run record that
//! is stored and printed.

use std::any::Any;
use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use serde_json::Value;
use unjank_host::files::{Destination, is_stdout};
use unjank_host::{Error, Machine, Root, Timestamp};
use unjank_measure::clock::ClockCost;
use unjank_measure::record::{Run, Start, Tool};
use unjank_measure::{Findings, Monitor, RunRecord};
use unjank_report::TerminalStyle;

use super::in_time::Step;
use super::{environment, storing};
use crate::began;
use crate::exit;
use crate::interrupt::Interrupt;
use crate::output::{self, Progress};

/// The label of runs that the user ended early.
pub(super) const INTERRUPTED: &str = "interrupted";
/// The label of runs on an emulated machine.
const EMULATED: &str = "emulated";
/// The label of runs whose numbers come from a model.
const MODELLED: &str = "modelled";

/// Options of every measuring command.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Print the whole run record as JSON on stdout
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the report as one self-contained HTML page; - is stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write the report as Markdown; - is stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Do not store the run
    #[arg(long)]
    pub(crate) no_store: bool,
    /// Store the run here [default: unjank/runs.sqlite in the user's data
    /// directory]
    #[arg(long, value_name = "FILE", conflicts_with = "no_store")]
    pub(crate) store: Option<PathBuf>,
    /// Seed of all random choices (orders, contents, bootstrap)
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

/// The output files, which are opened before anything is measured.
#[derive(Debug)]
pub(super) struct Outputs<'a> {
    args: &'a OutputArgs,
    html: Option<Destination>,
    markdown: Option<Destination>,
    text: Text,
    /// The moment by which the run must have ended.
    end: Option<Timestamp>,
}

/// Destination of the text, or of the record with `--json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Text {
    Stdout,
    /// Data of the command go to stdout.
    Stderr,
    /// The same report goes to stdout in another form.
    Nowhere,
}

/// A file of a command's own: the option, and what it names.
pub(super) type OwnFile<'a> = (&'static str, Option<&'a Path>);

impl<'a> Outputs<'a> {
    /// Opens the named files. The command itself writes `own` ones, and one of
    /// them may be stdout, too.
    pub(super) fn open(args: &'a OutputArgs, own: &[OwnFile<'_>]) -> Result<Self> {
        Self::open_by(None, args, own)
    }

    /// As `open`, for a run that must have ended by `end`.
    fn open_by(end: Option<Timestamp>, args: &'a OutputArgs, own: &[OwnFile<'_>]) -> Result<Self> {
        let text = text_place(args, own)?;
        let named = args.clone();
        let lost = "the files for the results were not opened".to_owned();
        let (html, markdown) = Step::begin(end, lost, move || {
            let open = |path: &Option<PathBuf>| path.as_deref().map(Destination::open).transpose();
            let opened = (open(&named.html)?, open(&named.markdown)?);
            if !named.no_store {
                storing::check(named.store.as_deref(), end)?;
            }
            Ok(opened)
        })
        .finish()?;
        Ok(Self { args, html, markdown, text, end })
    }
}

/// Where the text goes beside the files.
///
/// # Errors
/// `Invalid` if two of them are stdout.
fn text_place(args: &OutputArgs, own: &[OwnFile<'_>]) -> Result<Text> {
    let reports = [("--html", &args.html), ("--markdown", &args.markdown)];
    let reports = reports.map(|(option, path)| (option, path.as_deref()));
    let on_stdout = |&(option, path): &OwnFile<'_>| path.is_some_and(is_stdout).then_some(option);
    let report = reports.iter().find_map(on_stdout);
    let json = args.json.then_some("--json");
    let named = reports.iter().chain(own).filter_map(on_stdout).chain(json);
    let named: Vec<&str> = named.collect();
    match named[..] {
        [one, other, ..] => {
            Err(Error::Invalid(format!("{one} and {other} both write to stdout")).into())
        }
        [_] if report.is_some() => Ok(Text::Nowhere),
        [_] if json.is_none() => Ok(Text::Stderr),
        _ => Ok(Text::Stdout),
    }
}

/// The options of a run, as its record holds them.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    values: BTreeMap<String, Value>,
    modelled: bool,
    /// Whether the state of this machine does not distort the numbers.
    undistorted: bool,
}

impl Settings {
    /// The settings of a command whose numbers come from a model; its record is
    /// labelled so.
    pub(crate) fn modelled() -> Self {
        Self { modelled: true, undistorted: true, ..Self::default() }
    }

    /// The settings of a command whose numbers come from a recording.
    pub(crate) fn of_recording() -> Self {
        Self { undistorted: true, ..Self::default() }
    }

    /// Adds the option `name` with `value`. Times are in nanoseconds.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.values.insert(name.to_owned(), value.into());
        self
    }

    /// The settings in the form of the record.
    pub(super) fn into_values(self) -> BTreeMap<String, Value> {
        self.values
    }
}

/// A measuring command with its options.
pub(crate) struct Command<'a> {
    /// Its name, without options: `jitter native`.
    pub(crate) name: &'a str,
    /// Options for the destinations of its result.
    pub(crate) output: &'a OutputArgs,
    /// Its own options.
    pub(crate) settings: Settings,
}

/// The outcome of a measurement: what becomes the record, and how the command ends after
/// that. Most commands yield their findings alone.
pub(crate) struct Outcome {
    findings: Findings,
    end: Result<u8>,
    until_delivered: Box<dyn Any>,
}

impl From<Findings> for Outcome {
    fn from(findings: Findings) -> Self {
        Self { findings, end: Ok(exit::FINE), until_delivered: Box::new(()) }
    }
}

impl Outcome {
    /// With the exit code of a run that measured something and was not interrupted, or
    /// with a failure to report after the record is printed and stored.
    pub(crate) fn ending(self, end: Result<u8>) -> Self {
        Self { end, ..self }
    }

    /// Ends as a failure if a part was not measured, which the findings say.
    pub(crate) fn partly_failed(self, failed: bool) -> Self {
        self.ending(Ok(if failed { exit::FAILURE } else { exit::FINE }))
    }

    /// With guards that last until the record is printed and stored.
    pub(crate) fn holding(self, guards: impl Any) -> Self {
        Self { until_delivered: Box::new(guards), ..self }
    }
}

impl Command<'_> {
    /// Runs `measure` with a progress bar and Ctrl-C, then stores and prints
    /// the record.
    pub(crate) fn run<O: Into<Outcome>>(
        self,
        measure: impl FnOnce(&Root, u64, &dyn Monitor) -> Result<O>,
    ) -> Result<ExitCode> {
        self.run_beside(&[], measure)
    }

    /// As `run`, for commands that write files of their `own`.
    pub(crate) fn run_beside<O: Into<Outcome>>(
        self,
        own: &[OwnFile<'_>],
        measure: impl FnOnce(&Root, u64, &dyn Monitor) -> Result<O>,
    ) -> Result<ExitCode> {
        let outputs = Outputs::open(self.output, own)?;
        self.run_to(outputs, |root, _, seed, monitor| measure(root, seed, monitor))
    }

    /// As `run`, for a command that ends by `end`: files that are not written by then are
    /// given up, and so is a store that is busy for longer. `measure` gets the machine's
    /// description, too.
    pub(crate) fn run_by<O: Into<Outcome>>(
        self,
        end: Timestamp,
        measure: impl FnOnce(&Root, &Machine, u64, &dyn Monitor) -> Result<O>,
    ) -> Result<ExitCode> {
        let outputs = Outputs::open_by(Some(end), self.output, &[])?;
        self.run_to(outputs, measure)
    }

    fn run_to<O: Into<Outcome>>(
        self,
        outputs: Outputs<'_>,
        measure: impl FnOnce(&Root, &Machine, u64, &dyn Monitor) -> Result<O>,
    ) -> Result<ExitCode> {
        let root = Root::system();
        let interrupt = Interrupt::listen().context("while listening for Ctrl-C")?;
        let progress = Progress::new(self.name, interrupt.clone());
        let start = Start::since(began::at());
        // 32 bits: every JSON reader keeps them exactly.
        let seed = self.output.seed.unwrap_or_else(|| Timestamp::now().as_nanos() & 0xffff_ffff);
        let host = Machine::read(&root);
        let mut findings = Findings::default();
        ClockCost::calibrate().note(&mut findings);
        if !self.settings.undistorted {
            warn_of_this_machine(&host, &mut findings);
        }
        let measured = measure(&root, &host, seed, &progress);
        progress.clear();
        let Outcome { findings: found, end, until_delivered } = measured?.into();
        findings.merge(found);
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
        drop(until_delivered);
        Ok(ExitCode::from(match (end?, code(&record.findings)) {
            _ if interrupted => exit::INTERRUPTED,
            (end, exit::FINE) => end,
            (_, nothing_measured) => nothing_measured,
        }))
    }
}

/// Warns about what distorts measurements here.
fn warn_of_this_machine(host: &Machine, findings: &mut Findings) {
    for warning in environment::warnings(host) {
        findings.warn(warning);
    }
    if cfg!(debug_assertions) {
        findings.warn("this unjank was built without optimisation, which makes every time longer");
    }
}

/// The exit code of a run with these findings.
pub(super) fn code(findings: &Findings) -> u8 {
    if has_nothing(findings) { exit::UNSUPPORTED } else { exit::FINE }
}

/// Whether nothing that was asked for could be measured, because of the machine
/// or of missing permissions. The record has the reasons.
fn has_nothing(findings: &Findings) -> bool {
    !findings.unsupported.is_empty() && findings.series.iter().all(|series| series.n == 0)
}

/// The labels of a run: those of `UNJANK_LABELS`, as the virtual phone sets
/// them, whether a model is behind a number, and whether the run was
/// interrupted.
fn labels(interrupted: bool, modelled: bool) -> Vec<String> {
    let given = env::var("UNJANK_LABELS").unwrap_or_default();
    let given = given.split(',').filter(|label| !label.is_empty()).map(str::to_owned);
    given
        .chain(modelled.then(|| MODELLED.to_owned()))
        .chain(interrupted.then(|| INTERRUPTED.to_owned()))
        .collect()
}

/// Whether `UNJANK_LABELS` has the label of an emulated machine.
pub(super) fn is_emulated() -> bool {
    labels(false, false).iter().any(|label| label == EMULATED)
}

/// Whether a number among the findings comes from a model.
fn is_modelled(findings: &Findings) -> bool {
    let origin = |labels: &BTreeMap<String, String>| labels.get("origin").cloned();
    findings.facts.iter().any(|fact| origin(&fact.labels).is_some_and(|o| o == MODELLED))
}

/// This program's version and commit, for a record.
pub(super) fn tool() -> Tool {
    Tool {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: option_env!("UNJANK_COMMIT").map(str::to_owned),
    }
}

/// The version and commit of this build, if the commit is known.
pub(super) fn build() -> Option<String> {
    let Tool { version, commit } = tool();
    commit.map(|commit| format!("{version}, commit {commit}"))
}

/// Prints, writes and stores the record. A failure does not prevent the other
/// outputs; the first failure is returned, and further ones are printed.
pub(super) fn deliver(record: &RunRecord, outputs: Outputs<'_>) -> Result<()> {
    let Outputs { args, html, markdown, text, end } = outputs;
    let printed = match text {
        Text::Stdout if args.json => output::print(&unjank_report::json(&record.to_json())),
        Text::Stdout => output::report(record, &output::terminal_style()),
        Text::Stderr => {
            let style = TerminalStyle { colour: false, ..output::terminal_style() };
            output::remark_lines(unjank_report::terminal(record, &style).trim_end());
            output::remarks(record, &style);
            Ok(())
        }
        Text::Nowhere => Ok(()),
    };
    let write = |place: Option<Destination>, render: &dyn Fn() -> String| {
        let Some(place) = place else { return Step::Done(Ok(())) };
        let text = render();
        // A reader of a stream may take any time.
        let end = end.filter(|_| place.is_file());
        let lost = format!("the run was measured, but {} was not written", place.path().display());
        Step::begin(end, lost, move || output::unless_reader_left(place.write(text.as_bytes())))
    };
    let page = write(html, &|| unjank_report::html(std::slice::from_ref(record)));
    let markdown = write(markdown, &|| unjank_report::markdown(record));
    let stored = if args.no_store {
        Step::Done(Ok(()))
    } else {
        storing::keep(record, args.store.as_deref(), end)
    };
    let steps = [page, markdown, stored].into_iter().map(Step::finish);
    let mut failures = [printed].into_iter().chain(steps).filter_map(Result::err);
    let first = failures.next();
    for further in failures {
        exit::report(&further);
    }
    first.map_or(Ok(()), Err)
}
