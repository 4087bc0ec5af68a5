//! `unjank swap analyze`: statistics of traces.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use unjank_host::{Bytes, Error, Nanos};
use unjank_measure::Findings;
use unjank_measure::monitor::Part;
use unjank_swap::analyze::{self, Analysis, inversion, thrash};
use unjank_swap::trace::{Format, Operation, PAGE, Trace};

use super::reading::{self, ReadingArgs};
use crate::commands::measured::{self, OutputArgs, Settings};
use crate::values;

/// Arguments of `unjank swap analyze`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank swap analyze game.parquet
  unjank swap analyze swap-on.csv.gz swap-off.csv.gz --html fig1.html  # side by side
  unjank swap analyze sda.blktrace.* --merge                           # parts of one trace
  unjank swap analyze trace.txt --swap-device 254,0                    # thrashing of zram0
  unjank swap analyze trace.txt --swap-priority 254,0=100 --swap-priority 8,16=5 # LRU inversion
  unjank swap analyze phone.txt --operations page-in,page-out --json
  unjank swap analyze gimp.parquet --all-launches --limit all          # every launch

Shows how unevenly accesses are spread over the data, next to the values of Bahn & Kim; how soon
data is used again; which processes make the hottest accesses; when evicted pages come back quickly
(thrashing); whether a fast swap device holds colder pages than a slow one; and the I/O of each
launch with all processes that it started (of a recorded command, its own launches;
--all-launches shows all). A trace is read once; memory is 25 to 150 bytes for each different page.
docs/reference/swap/analyze.md explains the numbers. For traces of Perfetto: unjank swap trace.")]
pub(crate) struct Args {
    /// Traces, compressed or not, or - for stdin; each is analysed by itself
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<PathBuf>,
    /// The files are parts of one trace: merge them by time
    #[arg(long)]
    merge: bool,
    /// The names of the traces, in their order [default: the names of the files]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    label: Vec<String>,
    /// Which operations count as accesses, for skew and reuse
    #[arg(long = "operations", value_name = "OPERATION,…", value_delimiter = ',', value_parser = reading::operation,
          default_value = "read,write,page-in,page-out,first-touch")]
    only: Vec<Operation>,
    /// The share of the data that is called hot
    #[arg(long, value_name = "SHARE", default_value = "10%", value_parser = values::share_of_whole)]
    hot: f64,
    /// Thrashing: at least so many pages a second come back quickly
    #[arg(long, value_name = "N", default_value_t = 100.0, value_parser = rate)]
    thrash_rate: f64,
    /// Thrashing: a page comes back quickly if less than this was evicted in between
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = values::bytes)]
    thrash_distance: Bytes,
    /// Thrashing: the length of the windows in which the rate is measured
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = values::duration)]
    thrash_window: Nanos,
    /// A swap device by its name in the trace, with its priority as in /proc/swaps
    #[arg(long = "swap-priority", value_name = "NAME=N", value_parser = priority)]
    priority: Vec<(String, i32)>,
    /// In a trace of a recorded command: show launches of all other programs, too
    #[arg(long)]
    all_launches: bool,
    /// Rows of each table, or all
    #[arg(long, value_name = "N", default_value = "8", value_parser = values::rows)]
    limit: usize,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    check(args)?;
    let labels = labels(args)?;
    let command = measured::Command {
        name: "swap analyze",
        output: &args.output,
        settings: settings(args, &labels),
    };
    command.run(|_, _, monitor| {
        let (mut findings, mut all) = (Findings::default(), Vec::new());
        for (number, label) in labels.iter().enumerate() {
            let mut trace = Trace::open(files(args, number), &args.trace_options())?;
            let part = Part::of_equal(monitor, "", number, labels.len());
            let analysis = analyze::run(&mut trace, label, &args.options(), &part)?;
            findings.merge(analyze::findings(&analysis, args.limit));
            findings.merge(analysis.summary.findings());
            hint(args, &analysis, &mut findings);
            all.push(analysis);
            if monitor.stop_requested() {
                break;
            }
        }
        if findings.unsupported.len() < labels.len() {
            findings.merge(analyze::papers());
        }
        findings.tables.extend(analyze::tables(&all, args.limit));
        Ok(findings)
    })
}

impl Args {
    fn options(&self) -> analyze::Options {
        analyze::Options {
            only: self.only.clone(),
            hot: self.hot,
            thrash: thrash::Limits {
                distance: self.thrash_distance.get() / PAGE,
                rate: self.thrash_rate,
                window: self.thrash_window,
            },
            priorities: self.priority.clone(),
            all_launches: self.all_launches,
            ..analyze::Options::default()
        }
    }

    /// A device with a priority is a swap device.
    fn trace_options(&self) -> unjank_swap::trace::Options {
        let mut options = self.reading.options();
        options.swap_devices.extend(self.priority.iter().map(|(name, _)| name.clone()));
        options
    }
}

/// The files of the trace with this number.
fn files(args: &Args, number: usize) -> &[PathBuf] {
    if args.merge { &args.traces } else { &args.traces[number..=number] }
}

/// The name of each trace.
fn labels(args: &Args) -> Result<Vec<String>> {
    let count = if args.merge { 1 } else { args.traces.len() };
    if !args.label.is_empty() && args.label.len() != count {
        bail!(Error::Invalid(format!(
            "--label names {} traces, but there are {count}",
            args.label.len()
        )));
    }
    let short = |path: &PathBuf| match path.file_name() {
        _ if path == Path::new("-") => "stdin".to_owned(),
        Some(name) => name.to_string_lossy().into_owned(),
        None => path.display().to_string(),
    };
    let mut labels = args.label.clone();
    if labels.is_empty() {
        labels = args.traces.iter().take(count).map(short).collect();
        let alike = |label: &String| labels.iter().filter(|other| *other == label).count() > 1;
        if labels.iter().any(alike) {
            labels = args.traces.iter().map(|path| path.display().to_string()).collect();
        }
    }
    for (number, label) in labels.iter().enumerate() {
        if label.is_empty() || labels[..number].contains(label) {
            bail!(Error::Invalid(format!(
                "two traces have the name {label:?}; name them with --label"
            )));
        }
    }
    Ok(labels)
}

/// Rejects options that cannot work.
fn check(args: &Args) -> Result<()> {
    reading::check_stdin(&args.traces)?;
    if args.priority.len() == 1 || args.priority.len() > inversion::MAX_DEVICES {
        bail!(Error::Invalid(format!(
            "--swap-priority compares devices: give it for 2 to {} of them",
            inversion::MAX_DEVICES
        )));
    }
    if args.thrash_distance.get() < PAGE {
        bail!(Error::Invalid("--thrash-distance must be at least one page of 4 KiB".to_owned()));
    }
    Ok(())
}

/// Warns about likely mistakes.
fn hint(args: &Args, analysis: &Analysis, findings: &mut Findings) {
    let is_part = |input: &unjank_swap::trace::InputSummary| input.format == Format::Blktrace;
    if !args.merge && args.traces.len() > 1 && analysis.summary.inputs.iter().any(is_part) {
        findings.warn("blktrace writes one file for each CPU; --merge makes them one trace");
    }
    if args.priority.len() > 1 && analysis.inversions.is_empty() {
        findings.warn(format!(
            "{}: LRU inversion cannot be computed: no two devices of --swap-priority hold pages at \
             the same time",
            analysis.label
        ));
    }
}

fn settings(args: &Args, labels: &[String]) -> Settings {
    let only: Vec<&str> = args.only.iter().map(|operation| operation.name()).collect();
    let priorities: Vec<String> =
        args.priority.iter().map(|(name, priority)| format!("{name}={priority}")).collect();
    Settings::of_recording()
        .with("traces", labels.to_vec())
        .with("merge", args.merge)
        .with("operations", only)
        .with("hot", args.hot)
        .with("thrash_rate", args.thrash_rate)
        .with("thrash_distance", args.thrash_distance.get())
        .with("thrash_window", args.thrash_window.get())
        .with("all_launches", args.all_launches)
        .with("swap_priority", priorities)
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().map_err(|_| "a rate looks like 100 or 0.5")?;
    if rate.is_finite() && rate > 0.0 { Ok(rate) } else { Err("the rate must be above 0".into()) }
}

/// Parses `NAME=N`; the last `=` is the separator.
fn priority(text: &str) -> Result<(String, i32), String> {
    let (name, number) =
        text.rsplit_once('=').ok_or("expected DEVICE=PRIORITY, such as 254,0=100")?;
    let number = number.trim().parse().map_err(|_| "a priority is a whole number, such as -2")?;
    if name.is_empty() {
        Err("expected DEVICE=PRIORITY, such as 254,0=100".into())
    } else {
        Ok((name.to_owned(), number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_parsed() {
        assert_eq!(priority("254,0=100"), Ok(("254,0".to_owned(), 100)));
        assert_eq!(priority("a=b=-2"), Ok(("a=b".to_owned(), -2)));
        assert!(priority("zram0").is_err() && priority("=1").is_err() && priority("x=y").is_err());
        assert!(rate("0").is_err() && rate("inf").is_err());
    }
}
