//! How the threads of each pair ran, on stderr.

use unjank_ipc::latency::Outcome;

use crate::output;

/// Tells it.
pub(crate) fn tell(outcome: &Outcome) {
    for measured in &outcome.measured {
        for (number, pair) in measured.pairs.iter().enumerate() {
            for thread in pair.iter().flat_map(unjank_ipc::latency::PairReport::threads) {
                output::remark(&format!("{} P{number} {thread}", measured.transport));
            }
        }
    }
}
