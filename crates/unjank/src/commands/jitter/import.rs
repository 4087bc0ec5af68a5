//! `unjank jitter import`: imports results of cyclictest and jitterdebugger.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use jiff::Timestamp as Date;
use unjank_host::input::Input;
use unjank_host::sched::Priority;
use unjank_host::{Bytes, Error, Nanos};
use unjank_jitter::import::{self, Imported};
use unjank_measure::RunRecord;

use crate::commands::imported::ImportedRun;
use crate::commands::measured::{self, OutputArgs, Settings};
use crate::{interrupt, values};

/// Neither tool writes larger files.
const LARGEST: Bytes = Bytes(64 << 20);

/// Arguments of `unjank jitter import`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("seed", |seed| seed.hide(true)), after_help = "Examples:
  cyclictest -m -S -p90 -i200 -h400 -D60 -q --json=out.json; unjank jitter import out.json
  jitterdebugger -D 60 -p 80 -o out; unjank jitter import out/results.json --priority 80
  ssh board cat out.json | unjank jitter import - --html board.html
  unjank jitter import out.json --no-store --json > before.json
  unjank runs compare before.json last

The run has the same series as jitter native, so runs compare can compare the
two. cyclictest has a distribution only with --histogram, and truncates
latencies to whole microseconds. Periods that it skipped count as missed.
Wake-ups beyond its histogram count as late as the latest one.")]
pub(crate) struct Args {
    /// File written by cyclictest --json or jitterdebugger; - is stdin
    #[arg(value_name = "FILE")]
    file: String,
    /// Real-time priority of the threads, if the file does not have it
    #[arg(long, value_name = "1-99", value_parser = values::priority)]
    priority: Option<Priority>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Reads, prints and keeps.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let outputs = measured::Outputs::open(&args.output, &[])?;
    let text = read(&args.file)?;
    let mut imported = import::read(&text, &args.file)?;
    if let Some(priority) = args.priority {
        imported.set_priority(priority)?;
    }
    let record = record(imported, &args.file, &text);
    measured::deliver(&record, outputs)?;
    Ok(measured::code(&record.findings).into())
}

fn read(name: &str) -> Result<String> {
    let input = Input::named(Path::new(name), &interrupt::stop());
    let bytes =
        input.and_then(|input| input.bytes(LARGEST)).map_err(|error| match error.kind() {
            io::ErrorKind::FileTooLarge => Error::Invalid(format!("{name} is larger than 64 MiB")),
            _ => Error::file("read", name, error).of_named_file(),
        })?;
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.split(|byte| *byte == b'\n').count();
        Error::parse(name, line, "not valid UTF-8").into()
    })
}

/// The record of the imported run.
fn record(imported: Imported, file: &str, text: &str) -> RunRecord {
    let mut findings = imported.findings();
    findings.verdicts.push(imported.verdict(&findings));
    let seconds = |[start, end]: [Date; 2]| {
        let seconds = u64::try_from(end.as_second() - start.as_second()).unwrap_or(0);
        (start, Nanos(seconds.saturating_mul(1_000_000_000)))
    };
    let settings = Settings::default()
        .with("file", file)
        .with("tool", imported.tool)
        .with("tool_version", imported.version.clone())
        .with("command_line", imported.command_line.clone())
        .with("policy", vec![imported.scheduling().into_owned()])
        .with("threads", imported.threads())
        .with("period", imported.period.map(Nanos::get));
    let priority = imported.priority.map(Priority::get);
    let run = ImportedRun {
        command: "jitter import".to_owned(),
        ran: imported.ran.map(seconds),
        machine: imported.machine,
        settings,
        findings,
    };
    run.record((text, priority))
}
