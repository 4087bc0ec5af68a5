//! `unjank schd-dbg`: the options and the output of AOSP's binder latency test.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use unjank_host::Nanos;
use unjank_host::files::Destination;
use unjank_host::sched::{HIGHEST_UNFORCED, Priority};
use unjank_ipc::explain::Inheritance;
use unjank_ipc::latency::{self, Caller, Measured, Options};

use super::ipc::transport_name::TransportName;
use super::ipc::{caller, peer};
use super::measured::{self, Outcome, OutputArgs, Settings};
use crate::exit;

/// Arguments of `unjank schd-dbg`. The options of AOSP's tool are accepted
/// with one dash or two.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank schd-dbg -i 5000 -pair 3
  sudo unjank schd-dbg -i 5000 -pair 3 -deadline_us 2500 -v -trace
  sudo unjank schd-dbg -m PASSTHROUGH -raw_data
  sudo unjank schd-dbg -transport hwbinder | jq .P0.fifo_ms

S counts the calls during which the client was on one CPU before and after, and
the server served it there; R is their share of I. The figures are those of
warm callers (see unjank ipc latency for cold ones), in milliseconds.

inheritance: PASS, FAIL, UNSUPPORTED (the node asks for it, but this kernel does
not do it) or UNTESTED (no permission for SCHED_FIFO). The reason is on stderr.
Exit codes: 0 PASS, 5 FAIL or stopped by -trace, 3 UNSUPPORTED, 4 UNTESTED, 1 a
pair was not measured to its end, or the trace was not kept.")]
pub(crate) struct Args {
    /// Iterations: two calls each
    #[arg(
        short = 'i',
        long = "iterations",
        value_name = "N",
        default_value_t = 100,
        allow_negative_numbers = true
    )]
    iterations: i64,
    /// Pairs of a client and a server process
    #[arg(long, short = 'w', value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    pair: i64,
    /// Deadline in microseconds; a call that takes longer misses it
    #[arg(
        long = "deadline_us",
        value_name = "N",
        default_value_t = 2_500,
        allow_negative_numbers = true
    )]
    deadline_us: i64,
    /// Print CPU, policy and priority of client and server threads on stderr
    #[arg(short = 'v', long)]
    verbose: bool,
    /// Trace the scheduler, and stop at the first missed deadline
    #[arg(long)]
    trace: bool,
    /// Where -trace keeps the trace
    #[arg(long = "trace_file", value_name = "FILE", default_value = "unjank-trace.txt")]
    trace_file: PathBuf,
    /// PASSTHROUGH calls within one process
    #[arg(short = 'm', value_name = "MODE", value_parser = ["PASSTHROUGH"])]
    mode: Option<String>,
    /// Add every sample, in nanoseconds
    #[arg(long = "raw_data")]
    raw_data: bool,
    /// Transport of the calls
    #[arg(long, value_enum, value_name = "TRANSPORT", default_value = "binder")]
    transport: TransportName,
    #[command(flatten)]
    output: OutputArgs,
}

/// Options of AOSP's tools have one dash: `-pair 3` becomes `--pair 3`.
pub(crate) fn with_two_dashes(argument: String) -> String {
    let is_long = argument.len() > 2
        && argument
            .strip_prefix('-')
            .is_some_and(|name| name.starts_with(|first: char| first.is_ascii_alphabetic()));
    if is_long { format!("-{argument}") } else { argument }
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let count = |number: i64| u64::try_from(number).unwrap_or(0);
    let transport = match args.mode {
        Some(_) => TransportName::Passthrough,
        None => args.transport,
    };
    let options = Options {
        transports: vec![transport.into()],
        pairs: count(args.pair) as usize,
        iterations: count(args.iterations),
        starts: 1,
        deadline: Nanos::from_micros(count(args.deadline_us)),
        callers: vec![Caller::Warm],
        priority: Priority::new(HIGHEST_UNFORCED)?,
        force: false,
        inherit_rt: true,
        trace: args.trace.then(|| args.trace_file.clone()),
        raw: args.raw_data,
    };
    if let Some(path) = &options.trace {
        // The kernel writes the names of threads as they are.
        Destination::open_binary(path)?;
    }
    let settings = Settings::default()
        .with("transport", options.transports[0].name())
        .with("pairs", options.pairs)
        .with("iterations", options.iterations)
        .with("deadline", options.deadline.get())
        .with("trace", args.trace);
    let command = measured::Command { name: "schd-dbg", output: &args.output, settings };
    let own = [("--trace_file", options.trace.as_deref())];
    command.run_beside(&own, |root, _, monitor| {
        let (client, server) = (caller::command(), peer::command());
        let measurements = latency::run(&options, &client, &server, root, monitor)?;
        let mut findings = measurements.findings()?;
        if args.verbose {
            findings.tables.push(measurements.threads());
        }
        latency::schd_dbg::note(&measurements, &mut findings);
        let code = measurements.by_transport.first().map_or(exit::UNSUPPORTED, exit_code);
        Ok(Outcome::from(findings).ending(Ok(code)))
    })
}

fn exit_code(measured: &Measured) -> u8 {
    if measured.has_failures() {
        return exit::FAILURE;
    }
    if measured.missed().is_some() {
        return exit::GATE;
    }
    match measured.inheritance.answer {
        Inheritance::Inherited => exit::FINE,
        Inheritance::NotInherited | Inheritance::NodeNotOptedIn | Inheritance::CappedByRlimit => {
            exit::GATE
        }
        Inheritance::NiceOnly | Inheritance::KernelUnsupported => exit::UNSUPPORTED,
        Inheritance::NotTestable => exit::PERMISSION,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_with_one_dash_get_a_second_one() {
        let translated = |arguments: &[&str]| -> Vec<String> {
            arguments.iter().map(|argument| with_two_dashes((*argument).to_owned())).collect()
        };
        assert_eq!(
            translated(&["-i", "5000", "-pair", "3", "-deadline_us", "-5", "-v", "--trace", "x"]),
            ["-i", "5000", "--pair", "3", "--deadline_us", "-5", "-v", "--trace", "x"]
        );
    }
}
