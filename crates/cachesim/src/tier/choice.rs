//! The recommended policy of a tier by the cost of its writes.
//!
//! No policy is the best for every tier: one that admits fewer pages saves writes of the tier and
//! costs reads of storage. Only the tier's owner knows the cost of a write: wear of flash, power,
//! or nothing. The limits are rounded from the costs at which the next policy becomes cheaper
//! (`docs/method/swap.md`, *Choosing a policy*).

use super::{AdmissionRule, TierPolicy};
use crate::replacement::Policy;

/// Up to this cost of a write, `always/lru` is recommended.
pub const CHEAP_WRITE: f64 = 0.05;
/// Up to this cost of a write, the paper's rule is recommended.
pub const FAIR_WRITE: f64 = 0.25;

impl TierPolicy {
    /// The policy for a tier whose write costs as much as `cost` reads of storage.
    pub fn for_write_cost(cost: f64) -> Self {
        if cost <= CHEAP_WRITE {
            Self { admission: AdmissionRule::Always, replacement: Policy::Lru }
        } else if cost <= FAIR_WRITE {
            Self::PAPER
        } else {
            Self::REFAULT
        }
    }

    /// The policies that are compared unless others are named: first the one for this cost of a
    /// write.
    pub fn usual(write_cost: Option<f64>) -> Vec<Self> {
        let named = ["refault", "paper", "always/lru", "gate/lru"];
        let others = named.iter().filter_map(|name| name.parse().ok());
        let mut policies = Vec::new();
        for policy in write_cost.map(Self::for_write_cost).into_iter().chain(others) {
            if !policies.contains(&policy) {
                policies.push(policy);
            }
        }
        policies
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_expensive_writes_select_a_stricter_rule() {
        let chosen = [0.0, 0.001, 0.1, 1.0, 64.0].map(|cost| {
            let policy = TierPolicy::for_write_cost(cost);
            policy.to_string()
        });
        assert_eq!(chosen, ["always/lru", "always/lru", "paper", "refault", "refault"]);
    }

    #[test]
    fn the_policy_for_the_cost_comes_first_and_once() {
        let names = |cost| {
            let policies = TierPolicy::usual(cost);
            policies.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(None), "refault paper always/lru gate=4/lru");
        assert_eq!(names(Some(0.001)), "always/lru refault paper gate=4/lru");
        assert_eq!(names(Some(0.1)), "paper refault always/lru gate=4/lru");
    }
}
