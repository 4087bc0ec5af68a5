//! What can be typed behind `unjank lock bench`.

use unjank_host::Nanos;
use unjank_lock::bench::Environment;

use crate::commands::measured::OutputArgs;
use crate::values;

/// Arguments of `unjank lock bench`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank lock bench --quick
  unjank lock bench --strategies all --html locks.html
  unjank lock bench --threads 2,8 --section 0,1us --outside 2us --strategies spin,crossbeam
  sudo unjank lock bench --environment idle,load,quota,priorities,pinned
  unjank lock bench --paper
  unjank lock bench --pool --gap 200us,5ms

Strategies: std, parking_lot, unjank, spin, crossbeam (Backoff), pthread, pthread-adaptive,
pthread-pi, and the paper's: busy, sleep0 (sched_yield), sleep1, pause-yield. std and
parking_lot are always measured: the others are compared with the better of them. unjank
(unjank-backoff's mutex) and pause-yield are measured unless others are named.

Environments: idle; load (a busy thread for each CPU in another process); quota (half of
the CPUs' time, in a control group); priorities (every second thread nicer by 10); pinned
(all threads on one CPU). --paper is the paper's experiment: threads take tasks from one
queue that a lock protects, and the others are compared with sleep0. --pool is about thread
pools: how soon work begins, and how much CPU time that takes. docs/reference/lock.md")]
pub(crate) struct Args {
    /// Ways to wait, or all [default: some of them, see below]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub(super) strategies: Vec<String>,
    /// Threads that take the lock [default: 1,2,4,8,16,32]
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub(super) threads: Vec<usize>,
    /// How long they hold it [default: 0,100ns,1us,20us]
    #[arg(long, value_name = "TIME,…", value_delimiter = ',', value_parser = values::duration_or_zero)]
    pub(super) section: Vec<Nanos>,
    /// How long they leave it alone [default: 0,2us]
    #[arg(long, value_name = "TIME,…", value_delimiter = ',', value_parser = values::duration_or_zero)]
    pub(super) outside: Vec<Nanos>,
    /// What else goes on: idle, load, quota, priorities, pinned [default: idle]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = environment)]
    pub(super) environment: Vec<Environment>,
    /// How often each strategy visits each cell; fewer than 6 decide nothing [default: 6]
    #[arg(long, value_name = "N")]
    pub(super) rounds: Option<usize>,
    /// How long operations are counted, and then waits timed, with few threads [default: 100ms]
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(super) visit: Option<Nanos>,
    /// Fewer and shorter cells: less than a minute
    #[arg(long)]
    pub(super) quick: bool,
    /// The paper's experiment: a pool that takes tasks of three grains from one queue
    #[arg(long)]
    pub(super) paper: bool,
    /// Thread pools instead: unjank, rayon, threadpool, tokio's threads for blocking work
    #[arg(long, conflicts_with_all = ["strategies", "threads", "section", "outside", "environment", "paper"])]
    pub(super) pool: bool,
    /// With --pool: from one piece of work to the next [default: 0,50us,1ms,10ms]
    #[arg(long, value_name = "TIME,…", value_delimiter = ',', value_parser = values::duration_or_zero, requires = "pool")]
    pub(super) gap: Vec<Nanos>,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

fn environment(text: &str) -> Result<Environment, String> {
    text.parse().map_err(|error: unjank_host::Error| error.to_string())
}

/// What was typed takes the place of the preset's, each value once.
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
