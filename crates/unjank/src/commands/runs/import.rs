//! `unjank runs import`: stores run records from elsewhere.

use std::process::ExitCode;

use anyhow::Result;
use unjank_measure::store::Stored;

use super::source::{StoreArgs, read};
use crate::output;

/// Arguments of `unjank runs import`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank runs import phone.json
  adb shell unjank checkup --json --no-store | unjank runs import -
  unjank runs import runs.jsonl")]
pub(crate) struct Args {
    /// Files with one record, or one per line; - is stdin
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
        for (record, origin) in records(&text, file) {
            let (record, stored) = store.import(record, &origin)?;
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
