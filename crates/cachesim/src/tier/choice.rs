//! The policy of a tier by what its writes cost.
//!
//! No policy suits every tier: one that lets fewer pages in saves writes of the
//! tier and costs reads of storage. Only the tier's owner knows what a write is worth: the
//! wear of flash, power, or nothing at all. The bounds are rounded from the costs at
//! which the next policy becomes cheaper (`docs/method/swap.md`, *Which policy*).

use super::{Rule, TierPolicy};
use crate::replacement::Policy;

/// Up to this cost every page may enter.
pub const CHEAP_WRITE: f64 = 0.05;
/// Up to this cost the paper's rule decides.
pub const FAIR_WRITE: f64 = 0.25;

impl TierPolicy {
    /// The policy for a tier of which a write costs as much as so many reads of
    /// storage.
    pub fn for_write_cost(cost: f64) -> Self {
        if cost <= CHEAP_WRITE {
            Self { admission: Rule::Always, replacement: Policy::Lru }
        } else if cost <= FAIR_WRITE {
            Self::PAPER
        } else {
            Self::REFAULT
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dearer_writes_let_fewer_pages_in() {
        let chosen = [0.0, 0.001, 0.1, 1.0, 64.0].map(|cost| {
            let policy = TierPolicy::for_write_cost(cost);
            policy.to_string()
        });
        assert_eq!(chosen, ["always/lru", "always/lru", "paper", "refault", "refault"]);
    }
}
