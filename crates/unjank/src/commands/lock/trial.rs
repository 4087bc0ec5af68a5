//! `unjank lock try`: whether a program is faster if its contended mutexes spin
//! before they sleep.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use unjank_host::{Nanos, Root};
use unjank_launch::bench::{self, Condition, Options, Program, Ready, Workload};
use unjank_lock::preload::{self, CountsFile};
use unjank_measure::record::Answer;
use unjank_measure::{Findings, Monitor};

use crate::commands::launch::bench::ready_means;
use crate::commands::measured::{self, Outcome, OutputArgs, Settings};
use crate::{paths, values};

/// Pairs with `--quick`: fewer have no interval.
const FEWEST_PAIRS: usize = 6;
/// Idle time before each run.
const PAUSE: Nanos = Nanos::from_millis(100);

/// Arguments of `unjank lock try`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank lock try -- ./compress big.tar
  unjank lock try --pairs 20 -- sysbench mutex --threads=4 run
  unjank lock try --ready stdout:finished -- ./server --with-own-load

Runs the program in alternating pairs, as it is and with libunjank_lock.so in its
LD_PRELOAD. That makes threads spin for a contended pthread mutex while this is
cheaper than sleeping, and changes nothing else. Says whether the program is faster,
and how often its threads waited. Programs that are linked statically, and those with
locks of their own (Go, Rust, the JVM), do not load it or have nothing to change.")]
pub(crate) struct Args {
    /// When a run is over: exit, stdout:REGEX, notify, port:N or window
    #[arg(long, value_name = "WAY", default_value = "exit", value_parser = Ready::of_process)]
    ready: Ready,
    /// Pairs of runs
    #[arg(long, value_name = "N", default_value_t = 10)]
    pairs: usize,
    /// Six pairs, the fewest that can decide: wider intervals
    #[arg(long, conflicts_with = "pairs")]
    quick: bool,
    /// Longest time a run may take
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = values::duration)]
    timeout: Nanos,
    /// The library [default: beside unjank, or in ../lib/unjank]
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// The command to run, and its arguments
    #[arg(last = true, value_name = "COMMAND", required = true)]
    command: Vec<OsString>,
    #[command(flatten)]
    output: OutputArgs,
}

impl Args {
    fn pairs(&self) -> usize {
        if self.quick { FEWEST_PAIRS } else { self.pairs }
    }
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let words: Vec<String> = args.command.iter().map(|word| word.display().to_string()).collect();
    let settings = Settings::default()
        .with("command", words)
        .with("ready", args.ready.to_string())
        .with("pairs", args.pairs())
        .with("timeout", args.timeout.get());
    let command = measured::Command { name: "lock try", output: &args.output, settings };
    command.run(|root, seed, monitor| {
        let findings = measure(args, root, seed, monitor)?;
        let failed = bench::any_condition_failed(&findings);
        Ok(Outcome::from(findings).partly_failed(failed))
    })
}

fn measure(args: &Args, root: &Root, seed: u64, monitor: &dyn Monitor) -> Result<Findings> {
    let library = match &args.library {
        Some(library) => library.canonicalize().context("while looking for the library")?,
        None => preload::library(&env::current_exe().context("while looking for the library")?)?,
    };
    let directory = paths::temporary_directory()?;
    let counts = CountsFile::create(directory.path())?;
    let others = env::var_os("LD_PRELOAD").unwrap_or_default();
    let park = preload::park();
    let environment = preload::environment(&library, park, &others)?;
    let with_counts = environment.iter().cloned().chain([counts.variable()]).collect();
    let spinning = Condition {
        name: "spinning mutexes".to_owned(),
        environment: with_counts,
        ..Condition::default()
    };
    let options = Options {
        workloads: vec![Workload {
            name: String::new(),
            program: Program::new(args.command.clone(), args.ready.clone()),
            times_itself: false,
        }],
        baseline: Condition { name: "as is".to_owned(), ..Condition::default() },
        others: vec![spinning],
        is_alone: false,
        pairs: args.pairs(),
        warm_up: 1,
        pause: PAUSE,
        wake_every: Nanos::ZERO,
        timeout: args.timeout,
        energy_window: args.timeout,
        drop_caches: false,
        means: ready_means(),
    };
    let mut findings = bench::run(&options, None, root, None, seed, monitor)?;
    counts.read()?.note(park, &mut findings);
    let next = with_library(&environment, &args.command);
    for verdict in &mut findings.verdicts {
        verdict.next = next.clone().filter(|_| verdict.answer == Answer::Better);
    }
    Ok(findings)
}

/// The command to type from then on; `None` if a word is no text, or has characters that
/// a shell would not read back.
fn with_library(environment: &[(OsString, OsString)], command: &[OsString]) -> Option<String> {
    let words = environment.iter().map(|(name, value)| {
        let value = shlex::try_quote(value.to_str()?).ok()?.into_owned();
        Some(format!("{}={value}", name.to_str()?))
    });
    let command =
        command.iter().map(|word| Some(shlex::try_quote(word.to_str()?).ok()?.into_owned()));
    let words: Option<Vec<String>> = words.chain(command).collect();
    Some(words?.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_can_be_typed() {
        let environment =
            [("LD_PRELOAD".into(), "/a/l.so:/c d.so".into()), ("N".into(), "7".into())];
        let command = ["./server".into(), "a'b".into()];
        assert_eq!(
            with_library(&environment, &command).unwrap(),
            "LD_PRELOAD='/a/l.so:/c d.so' N=7 ./server \"a'b\""
        );
        assert_eq!(with_library(&environment, &["a\0b".into()]), None);
    }
}
