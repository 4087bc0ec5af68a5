//! `unjank swap mrc`: miss-ratio curves.

mod csv;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use unjank_cachesim::Policy;
use unjank_cachesim::replacement::Policies;
use unjank_host::files::Destination;
use unjank_host::{Bytes, Error};
use unjank_measure::{Findings, Monitor};
use unjank_swap::mrc::{self, Curve, Requests, Sizes};
use unjank_swap::trace::{Operation, Trace};

use super::reading::{self, ReadingArgs};
use crate::commands::measured::{self, OutputArgs, Settings};
use crate::{output, values};

/// Arguments of `unjank swap mrc`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank swap mrc game.parquet                                  # LRU, exact, in one pass
  unjank swap mrc game.parquet --policy all --sizes 8 --html curves.html
  unjank swap mrc trace.txt --swap-device 254,0 --operations page-in,page-out
  unjank swap mrc hm_1.csv --policy lru,2q:kin=0.1:kout=1,s3-fifo --sizes 64MiB,256MiB,10%
  unjank swap mrc web.oracleGeneral.zst --policy sieve,arc --sample 0.01 --csv curve.csv

Policies and their parameters, with the values of their papers:
  fifo, lru, sieve, arc, larc
  clock:bits=1
  s3-fifo:small=0.1:ghost=0.9:moves=2    queues as shares of the cache
  2q:kin=0.25:kout=0.5
  lirs:hir=0.01:stack=2                  the stack as a multiple of the cache
  w-tinylfu:window=0.01:protected=0.8    and w-tinylfu-exact, with exact counters
  mq:queues=8:life=4:history=4           life and history for each page that fits

Every page event but a clean drop is a request. All requests are simulated, so numbers are
exact. With --sample only the requests for a share of the pages are simulated, and numbers
have intervals. All numbers are modelled: nothing is measured.")]
pub(crate) struct Args {
    /// The trace, compressed or not, or - for stdin; several files are merged by time
    #[arg(value_name = "TRACE", required = true)]
    trace: Vec<PathBuf>,
    /// Replacement policies with parameters, or all
    #[arg(long, value_name = "POLICY,…", value_delimiter = ',', default_value = "lru")]
    policy: Vec<Policies>,
    /// Sizes of the cache: 64MiB, 10% (of the trace's different pages), 5000p (pages); or a number
    /// of sizes, each half of the next, up to all pages
    #[arg(long, value_name = "SIZE,…|N", default_value = "8")]
    sizes: Sizes,
    /// The share of the pages to simulate, selected by a hash with --seed
    #[arg(long, value_name = "SHARE", default_value = "1", value_parser = values::share_of_whole)]
    sample: f64,
    /// The most memory that requests take; if they need more, the share of pages is halved until
    /// they fit
    #[arg(long = "max-memory", value_name = "SIZE", default_value = "2GiB", value_parser = values::bytes)]
    memory: Bytes,
    /// Which operations count as requests
    #[arg(long = "operations", value_name = "OPERATION,…", value_delimiter = ',', value_parser = reading::operation,
          default_value = "read,write,page-in,page-out,first-touch")]
    only: Vec<Operation>,
    /// Write the curves as comma-separated values; - is stdout
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    reading::check_stdin(&args.trace)?;
    if args.memory.get() < 4096 {
        bail!(Error::Invalid("--max-memory must be at least 4 KiB".to_owned()));
    }
    let policies = policies(&args.policy);
    let command = measured::Command {
        name: "swap mrc",
        output: &args.output,
        settings: settings(args, &policies),
    };
    let place = args.csv.as_deref().map(Destination::open).transpose()?;
    let own = [("--csv", args.csv.as_deref())];
    command.run_beside(&own, |_, seed, monitor| {
        let Some((requests, curves)) = curves(args, &policies, seed, monitor)? else {
            return Ok(Findings::default());
        };
        let mut findings = mrc::findings(&requests, &curves);
        if requests.sample.rate() < args.sample {
            findings.warn(format!(
                "only {:.3} % of the pages are simulated, because the requests for more do not \
                 fit into {} (--max-memory)",
                requests.sample.rate() * 100.0,
                args.memory
            ));
        }
        if let Some(place) = place {
            output::unless_reader_left(place.write(&csv::text(&requests, &curves)?))?;
        }
        Ok(findings)
    })
}

/// Reads the trace and computes the curves; `None` if the user interrupted the reading.
fn curves(
    args: &Args,
    policies: &[Policy],
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<Option<(Requests, Vec<Curve>)>> {
    let options = mrc::Options {
        only: args.only.clone(),
        rate: args.sample,
        most: usize::try_from(args.memory.get() / 4).unwrap_or(usize::MAX),
        seed,
    };
    let mut trace = Trace::open(&args.trace, &args.reading.options())?;
    let Some(requests) = mrc::read(&mut trace, &options, monitor)? else { return Ok(None) };
    let sample = &requests.sample;
    if sample.pages().is_empty() {
        if sample.requests() > 0 {
            bail!(Error::Invalid(format!(
                "none of the trace's {} requests is in the sample; give --sample a larger share",
                sample.requests()
            )));
        }
        return Ok(Some((requests, Vec::new())));
    }
    let capacities = args.sizes.capacities(sample.whole_footprint())?;
    let curves =
        mrc::sweep(sample, policies, &capacities, monitor).context("while simulating caches")?;
    Ok(Some((requests, curves)))
}

/// Each policy once, in the order of the command line.
fn policies(typed: &[Policies]) -> Vec<Policy> {
    let mut policies: Vec<Policy> = Vec::new();
    for policy in typed.iter().flat_map(|policies| &policies.0) {
        if !policies.contains(policy) {
            policies.push(*policy);
        }
    }
    policies
}

fn settings(args: &Args, policies: &[Policy]) -> Settings {
    let only: Vec<&str> = args.only.iter().map(|operation| operation.name()).collect();
    let traces: Vec<String> = args.trace.iter().map(|path| path.display().to_string()).collect();
    let policies: Vec<String> = policies.iter().map(ToString::to_string).collect();
    Settings::modelled()
        .with("traces", traces)
        .with("policy", policies)
        .with("sizes", args.sizes.to_string())
        .with("sample", args.sample)
        .with("max_memory", args.memory.get())
        .with("operations", only)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_that_is_named_twice_is_simulated_once() {
        let typed = ["2q", "all", "2q:kin=0.25"].map(|typed| typed.parse().unwrap());
        let policies = policies(&typed);
        assert_eq!(policies.len(), Policy::ALL.len());
        assert_eq!(policies[0].name(), "2q");
    }
}
