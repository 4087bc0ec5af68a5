//! `unjank swap mrc`: miss-ratio curves.

mod csv;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use unjank_cachesim::mrc::{Algorithm, Algorithms};
use unjank_host::files::Destination;
use unjank_measure::{Findings, Monitor};
use unjank_swap::mrc::{self, Curve, Requests, Sizes};

use super::algorithms::{self, flatten};
use super::reading::{self, ReadingArgs};
use super::requests::RequestArgs;
use crate::commands::measured::{self, OutputArgs, Settings};
use crate::output;

/// Arguments of `unjank swap mrc`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank swap mrc game.parquet                                  # LRU, exact, in one pass
  unjank swap mrc game.parquet --policy all --sizes 8 --html curves.html
  unjank swap mrc trace.txt --swap-device 254,0 --operations page-in,page-out
  unjank swap mrc hm_1.csv --policy lru,2q:kin=0.1:kout=1,s3-fifo --sizes 64MiB,256MiB,10%
  unjank swap mrc web.oracleGeneral.zst --policy sieve,arc --sample 0.01 --csv curve.csv

Policies and their parameters, with the values of their papers:
  fifo, lru, clock-pro, sieve, arc, larc, car, lfu, lfu-da
  clock:bits=1
  slru:segments=2
  s3-fifo:small=0.1:ghost=0.9:moves=2    queues as shares of the cache
  2q:kin=0.25:kout=0.5
  lirs:hir=0.01:stack=2                  the stack as a multiple of the cache
  w-tinylfu:window=0.01:protected=0.8    and w-tinylfu-exact, with exact counters
  mq:queues=8:life=4:history=4           life and history for each page that fits
  lecar:history=0.5:seed=0               chooses at random
  hyperbolic:sample=64:seed=0            the same
  lhd:sample=32:period=8:seed=0          the same
  belady, belady-bypass                  the fewest misses possible, without or with bypass
  exec:COMMAND                           a program of your own (docs/reference/swap/mrc.md)

Every page event but a clean drop is a request. All requests are simulated, so numbers are
exact. With --sample only the requests for a share of the pages are simulated, and numbers
have intervals. All numbers are modelled: nothing is measured.")]
pub(crate) struct Args {
    /// The trace, compressed or not, or - for stdin; several files are merged by time
    #[arg(value_name = "TRACE", required = true)]
    trace: Vec<PathBuf>,
    /// Replacement policies with parameters, all of them, or belady
    #[arg(long, value_name = "POLICY,…", value_delimiter = ',', default_value = "lru",
          value_parser = algorithms::parse)]
    policy: Vec<Algorithms>,
    /// Sizes of the cache: 64MiB, 10% (of the trace's different pages), 5000p (pages); or a number
    /// of sizes, each half of the next, up to all pages
    #[arg(long, value_name = "SIZE,…|N", default_value = "8")]
    sizes: Sizes,
    /// Write the curves as comma-separated values; - is stdout
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
    reading::check_stdin(&args.trace)?;
    args.requests.check()?;
    let policies = flatten(&args.policy);
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
        if let Some(warning) = args.requests.warning(requests.sample.rate()) {
            findings.warn(warning);
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
    policies: &[Algorithm],
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<Option<(Requests, Vec<Curve>)>> {
    let read = args.requests.read(&args.trace, &args.reading, policies, seed, monitor)?;
    let Some(requests) = read else { return Ok(None) };
    let sample = &requests.sample;
    if sample.pages().is_empty() {
        return Ok(Some((requests, Vec::new())));
    }
    let capacities = args.sizes.capacities(sample.whole_footprint())?;
    let curves =
        mrc::sweep(sample, policies, &capacities, monitor).context("while simulating caches")?;
    Ok(Some((requests, curves)))
}

fn settings(args: &Args, policies: &[Algorithm]) -> Settings {
    let traces: Vec<String> = args.trace.iter().map(|path| path.display().to_string()).collect();
    let policies: Vec<String> = policies.iter().map(ToString::to_string).collect();
    let settings = Settings::modelled()
        .with("traces", traces)
        .with("policy", policies)
        .with("sizes", args.sizes.to_string());
    args.requests.add_to(settings)
}
