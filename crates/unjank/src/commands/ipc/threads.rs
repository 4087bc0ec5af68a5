//! Prints CPU, policy and priority of each pair's threads on stderr.

use unjank_ipc::latency::Measurements;

use crate::output;

/// A line for each thread.
pub(crate) fn print(measurements: &Measurements) {
    for measured in &measurements.by_transport {
        for (number, pair) in measured.pairs.iter().enumerate() {
            for thread in pair.iter().flat_map(unjank_ipc::latency::PairReport::threads) {
                output::remark(&format!("{} P{number} {thread}", measured.transport));
            }
        }
    }
}
