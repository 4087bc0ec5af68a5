//! Arguments of `unjank lock bench`.

use unjank_host::Nanos;
use unjank_lock::bench::Environment;

use crate::commands::lock::meter::MeterArgs;
use crate::commands::measured::OutputArgs;
use crate::values;

/// Arguments of `unjank lock bench`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank lock bench --quick
  unjank lock bench --strategies all --html locks.html
  unjank lock bench --threads 2,8 --section 0,1us --outside 2us --strategies spin,crossbeam
  sudo unjank lock bench --environment idle,load,quota,priorities,pinned
  unjank lock bench --pool --gap 200us,5ms

Strategies: std, parking_lot, unjank (unjank-backoff's mutex), spin, crossbeam (Backoff),
pthread, pthread-adaptive, pthread-pi, and the paper's: busy, sleep0 (sched_yield), sleep1,
pause-yield. std and parking_lot are always measured; the others are compared with the
better of the two. unjank and pause-yield are measured unless --strategies names others.

Environments: idle; load (a busy thread for each CPU, in another process); quota (half of
the CPUs' time, in a control group); priorities (every second thread nicer by 10); pinned
(all threads on one CPU). --pool measures thread pools: how soon work begins, and the CPU time
used. The paper's experiment is unjank reproduce locks.
docs/reference/lock.md explains the tables.")]
pub(crate) struct Args {
    /// Ways to wait, or all [default: see below]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub(super) strategies: Vec<String>,
    /// Numbers of threads that take the lock [default: 1,2,4,8,16,32]
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub(super) threads: Vec<usize>,
    /// How long they hold it [default: 0,100ns,1us,20us]
    #[arg(long, value_name = "TIME,…", value_delimiter = ',', value_parser = values::duration_or_zero)]
    pub(super) section: Vec<Nanos>,
    /// How long they work without it [default: 0,2us]
    #[arg(long, value_name = "TIME,…", value_delimiter = ',', value_parser = values::duration_or_zero)]
    pub(super) outside: Vec<Nanos>,
    /// What else runs: idle, load, quota, priorities, pinned [default: idle]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = environment)]
    pub(super) environment: Vec<Environment>,
    /// Trials of each strategy in each cell; fewer than 6 give no verdict [default: 6]
    #[arg(long, value_name = "N")]
    pub(super) rounds: Option<usize>,
    /// Length of the phase that counts operations, and of the one that times waits, with few
    /// threads [default: 100ms]
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(super) trial: Option<Nanos>,
    /// Fewer and shorter cells: less than a minute
    #[arg(long)]
    pub(super) quick: bool,
    /// Compare thread pools instead: unjank, rayon, threadpool, tokio's threads for blocking work
    #[arg(long, conflicts_with_all = ["strategies", "threads", "section", "outside", "environment"])]
    pub(super) pool: bool,
    /// With --pool: time from one piece of work to the next [default: 0,50us,1ms,10ms]
    #[arg(long, value_name = "TIME,…", value_delimiter = ',', value_parser = values::duration_or_zero, requires = "pool")]
    pub(super) gap: Vec<Nanos>,
    #[command(flatten)]
    pub(super) meter: MeterArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

fn environment(text: &str) -> Result<Environment, String> {
    text.parse().map_err(|error: unjank_host::Error| error.to_string())
}

/// Replaces the preset by the typed values, each once; without any, it stays.
pub(super) fn replace<T: Copy + PartialEq>(preset: &mut Vec<T>, typed: &[T]) {
    if typed.is_empty() {
        return;
    }
    preset.clear();
    for value in typed {
        if !preset.contains(value) {
            preset.push(*value);
        }
    }
}
