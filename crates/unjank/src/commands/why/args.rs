//! Arguments of `unjank why`.

use std::ffi::OsString;
use std::path::PathBuf;

use unjank_host::{Bytes, Nanos};
use unjank_launch::bench::Ready;

use super::export::ExportArgs;
use super::file::FileArgs;
use super::file::KEPT;
use super::prove::{self, TriedChange};
use super::window::WindowArgs;
use crate::commands::measured::OutputArgs;
use crate::values;

/// Defaults of options that the next commands leave out.
pub(super) const GAP: &str = "500ms";
pub(super) const TIMEOUT: &str = "60s";
pub(super) const MEMORY: &str = "256MiB";

/// Arguments of `unjank why`.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "unjank why [OPTIONS] <-- COMMAND... | --pid PID | FILE | --last | --calibration>"
)]
#[command(group = clap::ArgGroup::new("subject").required(true).args(["file", "pid", "command", "calibration", "last", "incident"]))]
#[command(group = clap::ArgGroup::new("kept").args(["file", "last", "incident"]))]
#[command(after_help = "Examples:
  sudo unjank why -- git status
  sudo unjank why -n 5 --ready window --html why.html -- xterm
  sudo unjank why --ready port:8080 -- ./server
  sudo unjank why --pid 4711 --thread render --for 10s
  sudo unjank why --perfetto git.pftrace -- git status
  sudo unjank why --trace-file launch.dat -- ./app    # keep the recording
  unjank why launch.dat                               # explain it again
  unjank why trace.dat --process app                  # a recording of trace-cmd
  unjank why phone.perfetto-trace                     # launches and late frames of apps
  sudo unjank why --last                              # the stutter that unjank watch kept
  sudo unjank why --prove -- make -C project          # try the change that saves most
  sudo unjank why --prove=cache -- ./app              # cold files against files in memory
  sudo unjank why --prove=clock --by boost -- ./app   # by other means
  unjank why --calibration                            # how good the predictions were
  sudo unjank why -n 20 --cost -- git status

From exec until the program is ready, every nanosecond gets one cause. The path
goes backwards from the last step that made the program ready. While a thread on
the path slept, the path follows the thread or interrupt that woke it. Each row of
the split is a way in which the path first left the program's own thread (a lock, a
message, a child, a thread of the kernel); each column is an activity. The saving
of a change is predicted by replaying all recorded wake-ups with shorter waits.
--prove applies one change and measures the saving:

  cpu       the program starts with nice value -20 (autogroups are off meanwhile)
  servers   the process that answered the program has nice value -20
  cache     its files are in memory; without it, they are dropped from memory
  swap      its memory is evicted after all other (needs control groups of version 2)
  clock     every CPU at its highest clock
  sections  half as much computing under locks that others wait for; only with --by

--by applies another condition of unjank launch bench instead: --prove=cpu --by
rt=fifo:10. Launches without the change are as above.

Without root nothing is recorded; the output has the resources that the program used.")]
pub(crate) struct Args {
    /// When a launch is over: exit, stdout:REGEX, notify, port:N or window
    #[arg(long, value_name = "WAY", default_value = "exit", value_parser = Ready::of_process, conflicts_with_all = KEPT)]
    pub(super) ready: Ready,
    /// Number of launches; the one of median length is shown [default: 1; with --prove 6]
    #[arg(long = "count", short = 'n', value_name = "N", conflicts_with_all = KEPT, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(super) launches: Option<u32>,
    /// Measure what a change saves, in alternating pairs of launches, and compare it
    /// with the prediction: cpu, servers, cache, swap, clock, sections, or the best of them
    #[arg(
        long,
        value_name = "CHANGE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "best",
        conflicts_with_all = KEPT,
        conflicts_with_all = ["pid", "cost", "calibration", "trace_file"]
    )]
    pub(super) prove: Option<TriedChange>,
    /// With --prove=CHANGE: the condition that stands for the change instead of unjank's own,
    /// as for unjank launch bench
    #[arg(long, value_name = "CONDITION", requires = "prove")]
    pub(super) by: Option<String>,
    /// With --prove: pairs of launches with and without the change
    #[arg(long, value_name = "N", default_value_t = 10, requires = "prove", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) pairs: u32,
    /// Show how accurate the predictions of stored runs with --prove were
    #[arg(long, conflicts_with_all = KEPT, conflicts_with_all = ["pid", "command", "cost"])]
    pub(super) calibration: bool,
    /// Idle time before each launch but the first
    #[arg(long, value_name = "TIME", default_value = GAP, conflicts_with_all = KEPT, value_parser = values::duration_or_zero)]
    pub(super) gap: Nanos,
    /// Longest time of a launch
    #[arg(long, value_name = "TIME", default_value = TIMEOUT, conflicts_with_all = KEPT, value_parser = values::duration)]
    pub(super) timeout: Nanos,
    /// Maximum memory for recorded events, in the kernel's form; when it is full, the
    /// recording ends
    #[arg(long = "max-memory", value_name = "SIZE", default_value = MEMORY, conflicts_with_all = KEPT, value_parser = values::bytes)]
    pub(super) memory: Bytes,
    /// Do not record stacks, which name the functions in which threads wait and compute
    #[arg(long, conflicts_with_all = KEPT)]
    pub(super) no_stacks: bool,
    /// Measure what the recording costs: launches with and without it, in
    /// alternating pairs
    #[arg(long, conflicts_with_all = KEPT)]
    pub(super) cost: bool,
    /// Keep the recording as a trace.dat, for trace-cmd and for unjank why FILE
    #[arg(long, value_name = "FILE", requires = "command", conflicts_with_all = KEPT, conflicts_with_all = ["pid", "cost"])]
    pub(super) trace_file: Option<PathBuf>,
    /// Thread to explain, of a running process or a recording [default: the first]
    #[arg(long, value_name = "NAME|TID", conflicts_with = "command")]
    pub(super) thread: Option<String>,
    #[command(flatten)]
    pub(super) recording: FileArgs,
    /// The program and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub(super) command: Vec<OsString>,
    #[command(flatten)]
    pub(super) window: WindowArgs,
    #[command(flatten)]
    pub(super) export: ExportArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

impl Args {
    /// Whether files are named that only a recording fills.
    pub(super) fn writes_files(&self) -> bool {
        let [perfetto, folded] = self.export.files();
        [perfetto.1, folded.1, self.trace_file.as_deref()].iter().any(Option::is_some)
    }

    /// The number of recorded launches.
    pub(super) fn launches(&self) -> u32 {
        self.launches.unwrap_or(if self.prove.is_some() { prove::RECORDED } else { 1 })
    }
}
