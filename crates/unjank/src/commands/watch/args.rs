//! Options of the service.

use std::path::PathBuf;

use unjank_host::{Bytes, Nanos};
use unjank_watch::rule::Rule;

use crate::commands::incidents::KeptArgs;
use crate::values;

/// The default control socket.
pub(super) const SOCKET: &str = "/run/unjank-watch/watch.sock";

/// Options of the service.
#[derive(Debug, clap::Args)]
pub(super) struct ServiceArgs {
    /// Memory of the kernel's buffers, of which a half is in use; the busier the machine, the fewer
    /// seconds fit
    #[arg(long, value_name = "SIZE", default_value = "32MiB", value_parser = values::bytes)]
    pub(super) buffers: Bytes,
    /// Threads that must not wait for a CPU longer than this after a wake-up: NAME=TIME, in which *
    /// stands for any letters; may be repeated
    #[arg(long = "late", value_name = "NAME=TIME", value_parser = rule)]
    pub(super) rules: Vec<Rule>,
    /// Explain when tasks waited for a CPU longer than this within a second; 0: never
    #[arg(long, value_name = "TIME", default_value = "900ms", value_parser = pressure)]
    pub(super) cpu_pressure: Nanos,
    /// Explain when tasks waited for memory longer than this within a second; 0: never
    #[arg(long, value_name = "TIME", default_value = "150ms", value_parser = pressure)]
    pub(super) memory_pressure: Nanos,
    /// Explain when tasks waited for I/O longer than this within a second; 0: never
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = pressure)]
    pub(super) io_pressure: Nanos,
    /// The most incidents that are explained in an hour
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub(super) per_hour: u32,
    /// The most that kept incidents take; the oldest are removed
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = values::bytes)]
    pub(super) most_kept: Bytes,
    /// Replace names of threads and programs by hashes, in everything that is kept
    #[arg(long)]
    pub(super) redact: bool,
    /// End after this time [default: at Ctrl-C or SIGTERM]
    #[arg(long = "for", value_name = "TIME", value_parser = values::duration)]
    pub(super) length: Option<Nanos>,
    /// Write the state to this file, for Prometheus' textfile collector
    #[arg(long, value_name = "FILE")]
    pub(super) metrics_file: Option<PathBuf>,
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

/// Parses a limit of pressure within a second.
fn pressure(text: &str) -> Result<Nanos, String> {
    let limit = values::duration_or_zero(text)?;
    if limit > Nanos::from_millis(1_000) {
        return Err("it is a time within a second: at most 1s".to_owned());
    }
    Ok(limit)
}
