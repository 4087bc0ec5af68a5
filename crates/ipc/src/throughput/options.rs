//! Options of `ipc throughput`, and their limits.

use unjank_host::sched::CpuSet;
use unjank_host::{Bytes, Error, Nanos, Result};

use crate::probe::Placement;
use crate::transport::Transport;

/// Options of `ipc throughput`.
#[derive(Debug, Clone)]
pub struct Options {
    /// Transports, measured in alternation.
    pub transports: Vec<Transport>,
    /// The smallest payload; each further one is twice the one before.
    pub smallest: Bytes,
    /// The largest payload, inclusive.
    pub largest: Bytes,
    /// Placement of client and server on CPUs.
    pub placement: Placement,
    /// Measuring time for all transports and payloads together.
    pub duration: Nanos,
    /// Turns of each transport at each payload.
    pub rounds: usize,
}

impl Options {
    /// The largest payload that may be requested.
    pub const LARGEST: Bytes = Bytes(512 << 10);

    /// The payloads, in ascending order.
    ///
    /// # Errors
    /// `Invalid` for an empty range or a payload out of it.
    pub fn payloads(&self) -> Result<Vec<usize>> {
        let (smallest, largest) = (self.smallest.get(), self.largest.get());
        if smallest == 0 || smallest > largest || largest > Self::LARGEST.get() {
            return Err(Error::Invalid(format!(
                "payloads from {smallest} to {largest} bytes are out of range (1 to {})",
                Self::LARGEST.get()
            )));
        }
        let doubled = |size: &u64| Some(size * 2).filter(|&size| size <= largest);
        Ok(std::iter::successors(Some(smallest), doubled).map(|size| size as usize).collect())
    }

    /// CPUs of client and server in a round; `None` if they are not pinned.
    pub(super) fn cpus(&self, allowed: &CpuSet, round: usize) -> Result<Option<(usize, usize)>> {
        match (self.placement, self.placement.cpus_of_start(allowed, round)) {
            (Placement::TwoCpus, None) => {
                Err(Error::Invalid("this process may use one CPU only".to_owned()))
            }
            (_, cpus) => Ok(cpus),
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.transports.is_empty() || self.rounds == 0 {
            return Err(Error::Invalid(
                "at least one transport and one round are needed".to_owned(),
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payloads(smallest: u64, largest: u64) -> Result<Vec<usize>> {
        let options = Options {
            transports: vec![Transport::Unix],
            smallest: Bytes(smallest),
            largest: Bytes(largest),
            placement: Placement::Free,
            duration: Nanos::from_millis(1),
            rounds: 1,
        };
        options.payloads()
    }

    #[test]
    fn payloads_double() {
        let usual = payloads(4, 64 << 10).unwrap();
        assert_eq!((usual.len(), usual[0], usual[14]), (15, 4, 65_536));
        assert_eq!(payloads(3, 10).unwrap(), [3, 6]);
        assert_eq!(payloads(4, 512 << 10).unwrap().len(), 18);
        for (smallest, largest) in [(0, 4), (8, 4), (4, 1 << 20)] {
            assert!(payloads(smallest, largest).is_err());
        }
    }
}
