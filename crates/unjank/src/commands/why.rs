//! `unjank why`: where a launch loses its time, and what would give it back.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::{Result, bail};
use unjank_host::frequency::Frequencies;
use unjank_host::machine::FrequencyPolicy;
use unjank_host::process::is_root;
use unjank_host::sched::{CpuSet, ThreadId};
use unjank_host::tracefs::Tracefs;
use unjank_host::{Error, Machine, Nanos, Root, Support};
use unjank_launch::bench::{Program, Ready, Started, WaitResult};
use unjank_measure::{Findings, Monitor};
use unjank_why::record::Recording;
use unjank_why::report::{self, Clocks, Explained};

use super::launch::bench::ready_means;
use super::measured::{self, OutputArgs, Settings};
use crate::values;

/// Time for a program to end after SIGTERM.
const END_TIMEOUT: Nanos = Nanos::from_millis(2_000);

/// Arguments of `unjank why`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank why -- git status
  sudo unjank why -n 5 --ready window --html why.html -- xterm
  sudo unjank why --ready port:8080 -- ./server

From exec until the program is ready, every nanosecond gets one cause. The path
goes backwards from the end: while the program's first thread slept, it follows
the thread or interrupt that woke it, and so on. The rows of the split say how the path
first left that thread (a lock, a message, a child process, a thread of the
kernel), the columns what happened meanwhile. What a change would save is
computed by replaying all recorded wake-ups with shorter waits.")]
pub(crate) struct Args {
    /// When a launch is over: exit, stdout:REGEX, notify, port:N or window
    #[arg(long, value_name = "WAY", default_value = "exit")]
    ready: Ready,
    /// Launches; the one of median length is shown
    #[arg(long = "count", short = 'n', value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    launches: u32,
    /// Idle time before each launch but the first
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = values::duration_or_zero)]
    gap: Nanos,
    /// Longest time of a launch
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = values::duration)]
    timeout: Nanos,
    #[command(flatten)]
    output: OutputArgs,
    /// The program and its arguments
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Records, explains and prints.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let words: Vec<String> = args.command.iter().map(|word| word.display().to_string()).collect();
    let settings = Settings::default()
        .with("command", words)
        .with("ready", args.ready.to_string())
        .with("launches", args.launches)
        .with("gap", args.gap.get())
        .with("timeout", args.timeout.get());
    let command = measured::Command { name: "why", output: &args.output, settings };
    command.run(|root, _, monitor| explain(args, root, monitor))
}

fn explain(args: &Args, root: &Root, monitor: &dyn Monitor) -> Result<Findings> {
    let tracefs = match Tracefs::open(root) {
        Support::Yes(tracefs) => tracefs,
        Support::No(_) if !is_root() => {
            let what = "recording what all threads do".to_owned();
            return Err(Error::Permission { what, needs: "root".to_owned() }.into());
        }
        Support::No(reason) => return Err(Error::Unsupported(reason).into()),
    };
    let highest = highest_clocks(&Machine::read(root).frequency);
    let program = Program { command: args.command.clone(), ready: args.ready.clone() };
    let mut launches = Vec::new();
    for number in 0..args.launches {
        monitor.progress(f64::from(number) / f64::from(args.launches), "launching");
        let pause = if number == 0 { Nanos::ZERO } else { args.gap };
        (unjank_host::Timestamp::now() + pause).sleep_until_or(|| monitor.stop_requested());
        if monitor.stop_requested() {
            break;
        }
        let at_start = clocks_now(root, &highest);
        let clocks = Clocks { highest: highest.clone(), at_start };
        let recording = Recording::start(&tracefs, root, &[ThreadId::current()])?;
        let mut started = Started::begin(&program, &ready_means())?;
        let process = started.process();
        let came = started.wait(args.timeout, &|| monitor.stop_requested())?;
        let began = started.began();
        let stderr = started.last_lines();
        let trace = recording.finish()?;
        let status = started.end(END_TIMEOUT);
        match came {
            WaitResult::Ready { took, .. } => {
                let thread = ThreadId(process);
                let window = report::window(&trace, thread, began, began + took);
                launches.push(Explained::new(trace, thread, window, clocks));
            }
            WaitResult::Interrupted => break,
            WaitResult::Ended => {
                let status = status.map_or_else(String::new, |status| status.to_string());
                bail!("{} ended before it was ready: {status} {stderr}", name(args));
            }
            WaitResult::TimedOut => {
                bail!("{} was not ready within {} {stderr}", name(args), args.timeout);
            }
        }
    }
    Ok(report::findings(&launches))
}

fn name(args: &Args) -> String {
    args.command.first().map(|name| name.display().to_string()).unwrap_or_default()
}

/// The present clock of these CPUs in kHz, as far as the kernel tells.
fn clocks_now(root: &Root, cpus: &BTreeMap<usize, u64>) -> BTreeMap<usize, u64> {
    let set = CpuSet::new(cpus.keys().copied());
    let Ok(clocks) = Frequencies::open(root, &set) else { return BTreeMap::new() };
    let now = |cpu: usize| Some((cpu, clocks.now(cpu).ok()?.0 / 1_000));
    set.iter().filter_map(now).collect()
}

/// The highest clock of each CPU in kHz.
fn highest_clocks(policies: &[FrequencyPolicy]) -> BTreeMap<usize, u64> {
    let of_policy = |policy: &FrequencyPolicy| -> Vec<(usize, u64)> {
        let khz = policy.hardware_max.0 / 1_000;
        let cpus: CpuSet = policy.cpus.parse().unwrap_or_else(|_| CpuSet::new([]));
        cpus.iter().map(|cpu| (cpu, khz)).collect()
    };
    policies.iter().flat_map(of_policy).collect()
}
