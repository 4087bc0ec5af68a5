//! `unjank runs import`: stores run records from elsewhere, and results of other tools.

use std::process::ExitCode;

use anyhow::Result;
use unjank_host::Unsupported;
use unjank_host::machine::Machine;
use unjank_measure::import::{self, Foreign};
use unjank_measure::store::Stored;
use unjank_measure::{Error, RunRecord};

use super::source::{StoreArgs, read};
use crate::commands::imported::ImportedRun;
use crate::commands::measured::Settings;
use crate::output;

/// Arguments of `unjank runs import`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank runs import phone.json
  adb shell unjank checkup --json --no-store | unjank runs import -
  unjank runs import runs.jsonl
  fio --output-format=json+ --output=fio.json job.fio; unjank runs import fio.json
  unjank runs import jhiccup.hlog jmh-result.json
  sudo rtla timerlat hist -d 1m | unjank runs import -

Besides unjank's own records, it reads JSON of fio (json+ has all samples) and
of JMH (-rf json), interval logs of HdrHistogram (jHiccup), and rtla's
histograms. Results of cyclictest and jitterdebugger: unjank jitter import.")]
pub(crate) struct Args {
    /// Files with one record, or one per line, or with the result of another tool; - is stdin
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    #[command(flatten)]
    store: StoreArgs,
}

/// Checks each record strictly and stores it. The first invalid one ends the
/// import; the records before it stay.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let mut store = args.store.open()?;
    for file in &args.files {
        let text = read(file)?;
        let foreign = match import::read(&text, file) {
            Some(foreign) => Some(of_other_tool(foreign?, file, &text).to_json()),
            None => None,
        };
        let text = foreign.as_deref().unwrap_or(&text);
        for (record, origin) in records(text, file) {
            let imported = store.import(record, &origin);
            let (record, stored) = imported.map_err(|error| hinted(error, text, file))?;
            let what = match stored {
                Stored::New => "imported",
                Stored::Already => "already stored",
            };
            let line = format!("{} {}, {what}", record.id, record.command);
            output::print(&unjank_report::one_line(&line))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The record of what another tool has measured, on a machine that its result does not describe.
fn of_other_tool(foreign: Foreign, file: &str, text: &str) -> RunRecord {
    let Foreign { tool, version, began, elapsed, findings } = foreign;
    let settings = Settings::default()
        .with("file", file)
        .with("tool", tool.as_str())
        .with("tool_version", version);
    let unknown = Unsupported {
        what: "machine".to_owned(),
        reason: format!("the result of {tool} does not describe it"),
    };
    let run = ImportedRun {
        command: tool,
        ran: began.map(|began| (began, elapsed)),
        machine: Machine { unsupported: vec![unknown], ..Machine::default() },
        settings,
        findings,
    };
    run.record(text)
}

/// Names the command for results that another one reads.
fn hinted(error: Error, text: &str, file: &str) -> Error {
    match error {
        Error::Record { origin, .. } if unjank_jitter::import::read(text, file).is_ok() => {
            let reason = "cyclictest or jitterdebugger wrote it: unjank jitter import reads it";
            Error::Record { origin, reason: reason.to_owned() }
        }
        other => other,
    }
}

/// The records of a file: its lines if each is a whole JSON object, else the
/// whole text.
fn records<'a>(text: &'a str, origin: &str) -> Vec<(&'a str, String)> {
    let whole = |line: &&str| line.starts_with('{') && line.trim_end().ends_with('}');
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    if lines.len() > 1 && lines.iter().all(whole) {
        lines
            .into_iter()
            .enumerate()
            .map(|(index, line)| (line, format!("{origin}, record {}", index + 1)))
            .collect()
    } else {
        vec![(text, origin.to_owned())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_record_may_have_many_lines_and_many_one_each() {
        assert_eq!(records("{\n \"a\": 1\n}\n", "f").len(), 1);
        let two = records("{\"a\": 1}\n\n{\"a\": 2}\n", "f");
        assert_eq!(two[1], ("{\"a\": 2}", "f, record 2".to_owned()));
    }
}
