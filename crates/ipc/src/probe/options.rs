//! Options of `ipc probe`, and their limits.

use serde::{Deserialize, Serialize};
use unjank_host::sched::CpuSet;
use unjank_host::{Error, Nanos, Result};

use crate::transport::Transport;

/// Options of `ipc probe`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Options {
    /// Transports, measured one after the other.
    pub transports: Vec<Transport>,
    /// Placements of client and peer, measured one after the other.
    pub placements: Vec<Placement>,
    /// Bytes of a request, and of its reply.
    pub payload: usize,
    /// Measuring time for all transports and placements together.
    pub duration: Nanos,
    /// Longest round trip that meets the deadline.
    pub deadline: Nanos,
    /// Idle time between batches of calls, if any.
    pub pause: Option<Nanos>,
    /// The number of this start. Each start has another pair of CPUs and another
    /// order.
    pub turn: usize,
}

/// Placement of client and peer on CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Placement {
    /// On one CPU: each call is two context switches.
    OneCpu,
    /// On two CPUs: each call is two wake-ups across them.
    TwoCpus,
    /// On CPUs that the scheduler chooses.
    Free,
}

impl Placement {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::OneCpu, Self::TwoCpus, Self::Free];

    /// The name as a label and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::OneCpu => "one-cpu",
            Self::TwoCpus => "two-cpus",
            Self::Free => "free",
        }
    }

    /// Whether the CPUs of this process are enough for it.
    fn is_possible(self, allowed: &CpuSet) -> bool {
        self != Self::TwoCpus || allowed.len() >= 2
    }

    /// CPUs of client and peer: the first allowed ones. `None` if they are not
    /// pinned, or there are too few.
    pub fn cpus(self, allowed: &CpuSet) -> Option<(usize, usize)> {
        self.cpus_of_start(allowed, 0)
    }

    /// CPUs of client and peer in start number `turn`.
    pub(crate) fn cpus_of_start(self, allowed: &CpuSet, turn: usize) -> Option<(usize, usize)> {
        match self {
            Self::OneCpu => allowed.one(turn).map(|cpu| (cpu, cpu)),
            Self::TwoCpus => allowed.pair(turn),
            Self::Free => None,
        }
    }
}

/// One transport in one placement, and the CPUs of client and peer.
type Cell = (Transport, Placement, Option<(usize, usize)>);

impl Options {
    /// The largest payload, in bytes.
    pub const LARGEST_PAYLOAD: usize = 512 << 10;

    /// Every transport on one CPU and on two, 16 bytes, a deadline of 2.5 ms
    /// as in AOSP's binder latency test.
    pub fn usual(duration: Nanos) -> Self {
        Self {
            transports: Transport::BETWEEN_PROCESSES.to_vec(),
            placements: vec![Placement::OneCpu, Placement::TwoCpus],
            payload: 16,
            duration,
            deadline: Nanos::from_micros(2_500),
            pause: None,
            turn: 0,
        }
    }

    /// What can be measured on the `allowed` CPUs.
    pub(crate) fn cells(&self, allowed: &CpuSet) -> Result<Vec<Cell>> {
        if self.payload == 0 || self.payload > Self::LARGEST_PAYLOAD {
            return Err(Error::Invalid(format!(
                "a payload of {} bytes is out of range (1 to {})",
                self.payload,
                Self::LARGEST_PAYLOAD
            )));
        }
        let placements = || self.placements.iter().filter(|p| p.is_possible(allowed));
        let cpus = |placement: Placement| placement.cpus_of_start(allowed, self.turn);
        let mut cells: Vec<Cell> = self
            .transports
            .iter()
            .flat_map(|&transport| placements().map(move |&p| (transport, p, cpus(p))))
            .collect();
        let count = cells.len().max(1);
        cells.rotate_left(self.turn % count);
        if cells.is_empty() {
            let reason = "no transport, or no placement that this process's CPUs allow";
            return Err(Error::Invalid(reason.to_owned()));
        }
        Ok(cells)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_cpus_need_two_cpus() {
        let options = Options::usual(Nanos::from_millis(100));
        assert_eq!(
            options.cells(&CpuSet::new([3])).unwrap().len(),
            Transport::BETWEEN_PROCESSES.len()
        );
        let cells = options.cells(&CpuSet::new([1, 3])).unwrap();
        assert!(cells.contains(&(Transport::Pipe, Placement::TwoCpus, Some((1, 3)))));
    }

    #[test]
    fn an_empty_payload_is_refused() {
        let options = Options { payload: 0, ..Options::usual(Nanos::from_millis(100)) };
        let error = options.cells(&CpuSet::new([0])).unwrap_err().to_string();
        assert_eq!(error, "a payload of 0 bytes is out of range (1 to 524288)");
    }
}
