//! The result of one run, as JSON. Times are in nanoseconds.

use serde::{Deserialize, Serialize};
use unjank_measure::stats::order;

use crate::Outcome;

/// One run of the comparison.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Run {
    /// The payload, in bytes.
    pub payload: usize,
    /// The CPUs of the client and of the servers.
    pub cpus: [usize; 2],
    pub rsbinder: Arm,
    pub unjank: Arm,
    /// unjank-binder with a clock read before and after each transfer.
    pub stamped: Arm,
    /// unjank's round trip over rsbinder's.
    pub ratio: Estimate,
    /// The part of the stamped round trip that is inside `BINDER_WRITE_READ`:
    /// the driver, both wake-ups, and what the server does.
    pub inside: Estimate,
    /// The time inside over rsbinder's round trip: `ratio` for a client that takes no
    /// time.
    pub floor: Estimate,
}

/// All round trips of one kind.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Arm {
    pub device: String,
    pub n: usize,
    pub p50: u64,
    pub p99: u64,
}

impl Arm {
    /// Summarises all blocks.
    pub fn of(device: &str, blocks: &[Vec<u64>]) -> Self {
        let mut samples = blocks.concat();
        samples.sort_unstable();
        let at = |percent: usize| {
            samples.get(samples.len() * percent / 100).or(samples.last()).copied().unwrap_or(0)
        };
        Self { device: device.to_owned(), n: samples.len(), p50: at(50), p99: at(99) }
    }
}

/// The median of a number over rounds, or over runs, with its 95 % interval by order
/// statistics.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Estimate {
    pub n: usize,
    pub median: f64,
    /// None for fewer than six numbers.
    pub interval: Option<[f64; 2]>,
}

impl Estimate {
    /// The median of at least one number.
    pub fn of(mut values: Vec<f64>) -> Outcome<Self> {
        let (median, interval) = order::median(&mut values).ok_or("nothing was measured")?;
        Ok(Self { n: values.len(), median, interval })
    }
}
