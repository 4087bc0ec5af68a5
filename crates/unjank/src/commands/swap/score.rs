//! `unjank swap score`: policies by their distance from the offline optimum.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use unjank_cachesim::mrc::{Algorithm, Algorithms};
use unjank_host::Error;
use unjank_host::files::Destination;
use unjank_measure::monitor::Part;
use unjank_measure::{Findings, Monitor};
use unjank_swap::score::{self, TraceMisses};

use super::algorithms::{self, flatten};
use super::reading::{self, ReadingArgs};
use super::requests::RequestArgs;
use crate::commands::measured::{self, Outcome, OutputArgs, Settings};
use crate::{exit, output};

/// Arguments of `unjank swap score`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank swap score traces/*.parquet
  unjank swap score *.oracleGeneral.zst --policy lru,sieve,s3-fifo,arc --html score.html
  unjank swap score phone-*.csv --columns time,page,size --shares 1%,10%,50% --csv misses.csv

Each trace is simulated at each size under each policy, and under Belady's optimum with bypass,
which no policy can beat. The score is the excess of a policy's misses over the optimum's: the
geometric mean over traces, with an interval over traces. A trace that cannot be read is reported
and left out, and the exit code is 1.

Policies and their parameters are those of unjank swap mrc. All numbers are modelled.")]
pub(crate) struct Args {
    /// Traces; each is simulated by itself
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<PathBuf>,
    /// Replacement policies with parameters, or all of them
    #[arg(long, value_name = "POLICY,…", value_delimiter = ',', default_value = "all",
          value_parser = algorithms::parse)]
    policy: Vec<Algorithms>,
    /// Sizes of the cache, as shares of a trace's different pages
    #[arg(long, value_name = "PERCENT,…", value_delimiter = ',', default_value = "0.1%,1%,10%",
          value_parser = percent)]
    shares: Vec<f64>,
    /// Write the misses of each trace as comma-separated values; - is stdout
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    #[command(flatten)]
    requests: RequestArgs,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    reading::check_stdin(&args.traces)?;
    let mut paths: Vec<&PathBuf> = args.traces.iter().collect();
    paths.sort_unstable();
    if let Some([twice, _]) = paths.windows(2).find(|pair| pair[0] == pair[1]) {
        bail!(Error::Invalid(format!("{} is given twice", twice.display())));
    }
    let mut shares = args.shares.clone();
    shares.sort_by(f64::total_cmp);
    shares.dedup();
    args.requests.check()?;
    let algorithms = flatten(&args.policy);
    let names: Vec<String> = args.traces.iter().map(|path| path.display().to_string()).collect();
    let settings = Settings::modelled()
        .with("traces", names)
        .with("policy", algorithms.iter().map(ToString::to_string).collect::<Vec<_>>())
        .with("shares", shares.clone());
    let settings = args.requests.add_to(settings);
    let command = measured::Command { name: "swap score", output: &args.output, settings };
    let place = args.csv.as_deref().map(Destination::open).transpose()?;
    let own = [("--csv", args.csv.as_deref())];
    command.run_beside(&own, |_, seed, monitor| {
        let (mut scored, mut left_out) = (Vec::new(), Vec::new());
        for (number, path) in args.traces.iter().enumerate() {
            let part = Part::of_equal(monitor, "", number, args.traces.len());
            match one(args, path, &algorithms, &shares, seed, &part) {
                Ok(Some(misses)) => scored.push(misses),
                Ok(None) => break,
                // Other traces may still be readable.
                Err(error) => left_out.push(exit::sentence(&error)),
            }
        }
        if scored.is_empty() && !left_out.is_empty() {
            bail!(
                "none of {} traces could be simulated: {}",
                args.traces.len(),
                left_out.join("; ")
            );
        }
        let mut findings = Findings::default();
        if !scored.is_empty() {
            findings = score::findings(&scored, &algorithms, &shares, seed);
        }
        let lowest = scored.iter().map(|trace| trace.rate).fold(1.0, f64::min);
        if let Some(warning) = args.requests.warning(lowest) {
            findings.warn(format!("of at least one trace, {warning}"));
        }
        let failed = !left_out.is_empty();
        for why in left_out {
            findings.warn(format!("left out: {why}"));
        }
        if let Some(place) = place {
            output::unless_reader_left(place.write(&csv(&scored, &algorithms, &shares)?))?;
        }
        Ok(Outcome::from(findings).partly_failed(failed))
    })
}

/// The misses of one trace; `None` if the user interrupted it.
fn one(
    args: &Args,
    path: &Path,
    algorithms: &[Algorithm],
    shares: &[f64],
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<Option<TraceMisses>> {
    let name = path.display().to_string();
    let all = [algorithms, &[Algorithm::Offline(score::OPTIMUM)]].concat();
    let paths = [path.to_owned()];
    let read = args.requests.read(&paths, &args.reading, &all, seed, monitor)?;
    let Some(requests) = read else { return Ok(None) };
    if requests.sample.pages().is_empty() {
        bail!(Error::Invalid(format!("{name} has no requests for pages")));
    }
    score::measure(&name, &requests, algorithms, shares, monitor)
        .with_context(|| format!("while simulating {name}"))
}

/// One line for each trace, size and policy.
fn csv(traces: &[TraceMisses], algorithms: &[Algorithm], shares: &[f64]) -> Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "trace",
        "requests",
        "pages",
        "share",
        "capacity",
        "policy",
        "miss_ratio",
        "optimum_miss_ratio",
    ])?;
    for trace in traces {
        for (share, misses) in shares.iter().zip(&trace.sizes) {
            let Some(misses) = misses else { continue };
            for (algorithm, ratio) in algorithms.iter().zip(&misses.algorithms) {
                writer.write_record([
                    trace.name.clone(),
                    trace.requests.to_string(),
                    trace.footprint.to_string(),
                    share.to_string(),
                    misses.capacity.to_string(),
                    algorithm.to_string(),
                    ratio.min(1.0).to_string(),
                    misses.optimum.min(1.0).to_string(),
                ])?;
            }
        }
    }
    Ok(writer.into_inner().map_err(csv::IntoInnerError::into_error)?)
}

/// A percentage above 0 and at most 100, as a share.
fn percent(typed: &str) -> Result<f64, String> {
    let number = typed.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let share = number.map(|number| number / 100.0).filter(|share| *share > 0.0 && *share <= 1.0);
    share.ok_or_else(|| "expected a share of the trace's different pages, such as 1%".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_percentages() {
        assert_eq!(percent("0.1%").map(|share| (share * 1e6).round()), Ok(1_000.0));
        for wrong in ["1", "0%", "101%", "%", "-1%", "NaN%"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }
}
