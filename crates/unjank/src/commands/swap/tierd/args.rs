//! Options of the service.

use std::path::PathBuf;

use unjank_cachesim::tier::TierPolicy;
use unjank_host::{Bytes, Nanos};
use unjank_swap::remedy::writeback::service::Options;

use crate::values;

/// The default control socket.
pub(super) const SOCKET: &str = "/run/unjank-tierd/tierd.sock";

/// Options of the service.
#[derive(Debug, clap::Args)]
pub(super) struct ServiceArgs {
    /// The zram device [default: the only one with a backing device]
    #[arg(long, value_name = "DEVICE")]
    pub(super) zram: Option<String>,
    /// Which pages stay in zram, by a name of `swap simulate --policy`; none: a sweep by age alone
    #[arg(long, value_name = "POLICY", default_value = "paper")]
    policy: TierPolicy,
    /// How much zram holds, before compression [default: half of the zram device]
    #[arg(long, value_name = "SIZE", value_parser = values::bytes)]
    room: Option<Bytes>,
    /// How long all other pages stay in zram
    #[arg(long, value_name = "TIME", default_value = "5min", value_parser = values::duration)]
    after: Nanos,
    /// How much may be written to the backing device per day
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = values::bytes)]
    pub(super) per_day: Bytes,
    /// End after this time [default: at Ctrl-C or SIGTERM]
    #[arg(long = "for", value_name = "TIME", value_parser = values::duration)]
    pub(super) length: Option<Nanos>,
    /// Write the state to this file, for Prometheus' textfile collector
    #[arg(long, value_name = "FILE")]
    pub(super) metrics_file: Option<PathBuf>,
    /// Where to listen for status, pause and resume
    #[arg(long, value_name = "PATH", default_value = SOCKET)]
    pub(super) socket: PathBuf,
    /// Do not store the remaining budget
    #[arg(long)]
    pub(super) no_store: bool,
    /// Store for the remaining budget [default: unjank/runs.sqlite in the user's data directory]
    #[arg(long, value_name = "FILE", conflicts_with = "no_store")]
    pub(super) store: Option<PathBuf>,
}

impl ServiceArgs {
    /// What the service does.
    pub(super) fn options(&self) -> Options {
        Options {
            device: self.zram.clone(),
            policy: self.policy,
            room: self.room,
            after: self.after,
            per_day: self.per_day,
        }
    }
}
