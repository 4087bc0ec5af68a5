//! Options of the service.

use std::path::PathBuf;

use unjank_host::thread_pattern::ThreadPattern;
use unjank_host::{Bytes, Nanos};
use unjank_watch::launches::{LaunchLimit, LaunchRule};
use unjank_watch::rule::Rule;

use crate::commands::incidents::KeptArgs;
use crate::values;

/// The default control socket.
pub(super) const SOCKET: &str = "/run/unjank-watch/watch.sock";

/// Options of the service.
#[derive(Debug, clap::Args)]
pub(super) struct ServiceArgs {
    /// Memory of the kernel's buffers, half of which is in use at a time; the busier the machine,
    /// the fewer seconds it holds
    #[arg(long, value_name = "SIZE", default_value = "32MiB", value_parser = values::bytes)]
    pub(super) buffers: Bytes,
    /// Begin with an eighth of the buffers, and enlarge them when they hold less than this time
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(super) keep: Option<Nanos>,
    /// Also record the system calls and page faults of these programs, in additional buffers of the
    /// same size: 'firefox'; may be repeated
    #[arg(long, value_name = "NAME", value_parser = values::thread_pattern)]
    pub(super) calls_of: Vec<ThreadPattern>,
    /// Threads that must not wait for a CPU longer than this after a wake-up: 'pipewire*=5ms'; may
    /// be repeated
    #[arg(long, value_name = "NAME=TIME", value_parser = rule)]
    pub(super) late: Vec<Rule>,
    /// Programs that must not start slower than usual ('firefox=2x', after three launches) or than
    /// this time ('code=3s'); may be repeated
    #[arg(long, value_name = "NAME=LIMIT", value_parser = launch_rule)]
    pub(super) slow_launch: Vec<LaunchRule>,
    /// Servers that must not leave a Unix socket unread for longer than this: 'Xorg=2s'; may be
    /// repeated
    #[arg(long, value_name = "NAME=TIME", value_parser = silence_rule)]
    pub(super) silent: Vec<Rule>,
    /// Explain when tasks waited for a CPU longer than this within a second; 0: never
    #[arg(long, value_name = "TIME", default_value = "900ms", value_parser = pressure)]
    pub(super) cpu_pressure: Nanos,
    /// Explain when tasks waited for memory longer than this within a second; 0: never
    #[arg(long, value_name = "TIME", default_value = "150ms", value_parser = pressure)]
    pub(super) memory_pressure: Nanos,
    /// Explain when tasks waited for I/O longer than this within a second; 0: never
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = pressure)]
    pub(super) io_pressure: Nanos,
    /// Maximum number of incidents that are explained in an hour, half of them for marks
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub(super) per_hour: u32,
    /// Maximum size of all kept incidents; the oldest are removed
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = values::bytes)]
    pub(super) most_kept: Bytes,
    /// Replace names of threads and programs by hashes, in everything that is kept; not with
    /// --calls-of, which reveals paths of files
    #[arg(long, conflicts_with = "calls_of")]
    pub(super) redact: bool,
    /// End after this time [default: at Ctrl-C or SIGTERM]
    #[arg(long = "for", value_name = "TIME", value_parser = values::duration)]
    pub(super) length: Option<Nanos>,
    /// Write the state to this file, for Prometheus' textfile collector
    #[arg(long, value_name = "FILE")]
    pub(super) metrics_file: Option<PathBuf>,
    /// Directory of the journal of changed knobs
    #[arg(long, value_name = "DIR")]
    pub(super) state_dir: Option<PathBuf>,
    /// Where to listen for status, pause, resume and marks
    #[arg(long, value_name = "PATH", default_value = SOCKET)]
    pub(super) socket: PathBuf,
    #[command(flatten)]
    pub(super) kept: KeptArgs,
}

/// Parses `pipewire*=5ms`.
pub(super) fn rule(text: &str) -> Result<Rule, String> {
    let wrong = || "a rule looks like pipewire*=5ms".to_owned();
    let (name, limit) = text.rsplit_once('=').ok_or_else(wrong)?;
    Rule::new(name, values::duration(limit)?)
}

/// Parses `firefox=2x` and `code=3s`.
pub(super) fn launch_rule(text: &str) -> Result<LaunchRule, String> {
    let wrong = || "a rule looks like firefox=2x or code=3s".to_owned();
    let (name, limit) = text.rsplit_once('=').ok_or_else(wrong)?;
    let limit = match limit.strip_suffix('x') {
        Some(factor) => LaunchLimit::Times(factor.parse().map_err(|_| wrong())?),
        None => LaunchLimit::Time(values::duration(limit)?),
    };
    LaunchRule::new(name, limit)
}

/// Parses `Xorg=2s`.
pub(super) fn silence_rule(text: &str) -> Result<Rule, String> {
    let rule = rule(text)?;
    if rule.limit < Nanos::from_millis(1_000) {
        return Err("sockets are looked at once a second: at least 1s".to_owned());
    }
    Ok(rule)
}

/// Parses a limit of pressure within a second.
fn pressure(text: &str) -> Result<Nanos, String> {
    let limit = values::duration_or_zero(text)?;
    if limit > Nanos::from_millis(1_000) {
        return Err("it is a time within a second: at most 1s".to_owned());
    }
    Ok(limit)
}
