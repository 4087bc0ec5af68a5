//! Options of `ipc inversion`, and their limits.

use unjank_host::sched::{CpuSet, Priority};
use unjank_host::{Error, Nanos, Result};

use crate::starts;
use crate::transport::Transport;

/// Options of `ipc inversion`.
#[derive(Debug, Clone)]
pub struct Options {
    /// Transports, measured in alternation.
    pub transports: Vec<Transport>,
    /// Calls over each transport, without the hog and again beside it.
    pub calls: u64,
    /// The independent starts of each transport, which share its calls. Each has a new
    /// server process, and new threads for client and hog.
    pub starts: usize,
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

/// The fewest calls of a start, without the hog and again beside it.
const FEWEST_CALLS: u64 = 20;
/// The longest burst: far below the second after which the kernel throttles
/// real-time threads, and the limit of the guard.
const LONGEST_BURST: Nanos = Nanos::from_millis(200);
/// Short bursts are lost among the wake-up latencies.
const SHORTEST_BURST: Nanos = Nanos::from_millis(1);

impl Options {
    /// The number of starts for `calls`: ten, or as many as have 20 calls each; one for
    /// fewer than 80 calls, which cannot show how starts differ.
    pub fn usual_starts(calls: u64) -> usize {
        starts::number(calls, FEWEST_CALLS)
    }

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
