//! One combination of a sweep and its result.

use serde::{Deserialize, Serialize};

use crate::simulate::Latency;
use unjank_cachesim::paged::Paged;
use unjank_cachesim::tier::Replayed;

/// One combination of a trace, sizes and a policy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Combination {
    /// The name of the trace.
    pub trace: String,
    /// The size of memory in bytes; 0 if the trace is replayed through the tier unchanged.
    pub memory: u64,
    /// The size of the tier in bytes.
    pub tier: u64,
    /// The policy of the tier.
    pub policy: String,
}

/// The result of a combination. Counts are pages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The trace, the sizes and the policy that were simulated.
    #[serde(flatten)]
    pub combination: Combination,
    /// Pages that memory brought in.
    pub page_ins: u64,
    /// Dirty pages that memory evicted.
    pub page_outs: u64,
    /// Clean pages that memory dropped.
    pub clean_drops: u64,
    /// Reads from storage.
    pub storage_reads: u64,
    /// Writes to storage.
    pub storage_writes: u64,
    /// Reads from the tier.
    pub tier_reads: u64,
    /// Writes to the tier.
    pub tier_writes: u64,
    /// Pages that only the tier has at the end: writes still to come.
    pub left_dirty: u64,
    /// Reads and writes of storage without a tier.
    pub without_tier: u64,
    /// Pages that the rule admitted and the write budget rejected.
    pub over_budget: u64,
    /// Memory of the tier's metadata, in bytes.
    pub metadata: u64,
    /// Mean time of all launches of an app but its first, in nanoseconds; `None` without any.
    pub launch_again: Option<f64>,
}

impl Cell {
    pub(super) fn new(
        combination: Combination,
        paged: &Paged,
        replayed: &Replayed,
        latency: Latency,
    ) -> Self {
        let traffic = replayed.traffic;
        let launches = paged.launches.iter().zip(&replayed.waits);
        let again = launches.filter(|(launch, _)| launch.round > 0);
        let times = again.map(|(launch, waits)| latency.of(launch.starts, *waits).0 as f64);
        let (count, sum) = times.fold((0_u32, 0.0), |(count, sum), time| (count + 1, sum + time));
        Self {
            combination,
            page_ins: traffic.page_ins,
            page_outs: traffic.page_outs,
            clean_drops: traffic.clean_drops,
            storage_reads: traffic.storage_reads,
            storage_writes: traffic.storage_writes,
            tier_reads: traffic.tier_reads,
            tier_writes: traffic.tier_writes,
            left_dirty: traffic.left_dirty,
            without_tier: traffic.page_ins + traffic.page_outs + paged.written.len() as u64,
            over_budget: replayed.over_budget,
            metadata: replayed.bytes as u64,
            launch_again: (count > 0).then(|| sum / f64::from(count)),
        }
    }

    /// Pages read from storage and written to it.
    pub fn storage_ios(&self) -> u64 {
        self.storage_reads + self.storage_writes
    }

    /// Storage I/O with the writes that are still to come. Cells are compared by it, because a
    /// larger tier can leave more such writes.
    pub fn settled_ios(&self) -> u64 {
        self.storage_ios() + self.left_dirty
    }

    /// Settled storage I/O plus `of_write` for each write of the tier.
    pub fn cost(&self, of_write: f64) -> f64 {
        self.settled_ios() as f64 + of_write * self.tier_writes as f64
    }

    /// Settled storage I/O relative to no tier; `None` without storage I/O.
    pub fn relative_ios(&self) -> Option<f64> {
        (self.without_tier > 0).then(|| self.settled_ios() as f64 / self.without_tier as f64)
    }

    /// Writes of the tier for each page that memory evicts, dirty or clean; `None` without
    /// evictions.
    pub fn relative_writes(&self) -> Option<f64> {
        self.by_eviction(self.tier_writes)
    }

    /// Pages that the budget kept out for each page that memory evicts; `None` without evictions.
    pub fn relative_over_budget(&self) -> Option<f64> {
        self.by_eviction(self.over_budget)
    }

    fn by_eviction(&self, pages: u64) -> Option<f64> {
        let evicted = self.page_outs + self.clean_drops;
        (evicted > 0).then(|| pages as f64 / evicted as f64)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::sweep) fn cell(policy: &str, tier: u64, ios: u64, writes: u64) -> Cell {
        let combination = Combination { trace: "t".into(), memory: 0, tier, policy: policy.into() };
        Cell {
            combination,
            page_ins: 0,
            page_outs: 0,
            clean_drops: 0,
            storage_reads: ios,
            storage_writes: 0,
            tier_reads: 0,
            tier_writes: writes,
            left_dirty: 0,
            without_tier: ios,
            over_budget: 0,
            metadata: 0,
            launch_again: None,
        }
    }
}
