//! Options of `ipc inversion`, and their limits.

use unjank_host::sched::{CpuSet, Priority};
use unjank_host::{Error, Nanos, Result};

use crate::transport::Transport;

/// Options of `ipc inversion`.
#[derive(Debug, Clone)]
pub struct Options {
    /// Transports, measured one after the other.
    pub transports: Vec<Transport>,
    /// Calls over each transport, without the hog and again beside it.
    pub calls: u64,
    /// The CPU on which client, server and hog run.
    pub cpu: usize,
    /// The client's real-time priority.
    pub client: Priority,
    /// The hog's real-time priority, below the client's.
    pub hog: Priority,
    /// How long the hog computes at a time; then it sleeps for a quarter of
    /// that.
    pub burst: Nanos,
    /// Allow priorities above 90, and machines without real-time throttling.
    pub force: bool,
}

/// The longest burst: far below the second after which the kernel throttles
/// real-time threads, and the limit of the guard.
const LONGEST_BURST: Nanos = Nanos::from_millis(200);
/// Short bursts are lost among the wake-up latencies.
const SHORTEST_BURST: Nanos = Nanos::from_millis(1);

impl Options {
    /// How long the hog sleeps between two bursts.
    pub(super) fn pause(&self) -> Nanos {
        Nanos(self.burst.get() / 4)
    }

    pub(super) fn check(&self) -> Result<()> {
        let wrong = |what: String| Err(Error::Invalid(what));
        if self.calls == 0 || self.transports.is_empty() {
            return wrong("at least one transport and one call are needed".to_owned());
        }
        if self.hog >= self.client {
            return wrong(format!(
                "the hog's priority {} must be below the client's {}",
                self.hog.get(),
                self.client.get()
            ));
        }
        if self.burst < SHORTEST_BURST || self.burst > LONGEST_BURST {
            return wrong(format!(
                "a burst of {} is out of range ({SHORTEST_BURST} to {LONGEST_BURST})",
                self.burst
            ));
        }
        CpuSet::new([self.cpu]).within(&CpuSet::allowed()?).map(|_allowed| ())
    }
}
