//! Policies of a tier on the command line.

use std::sync::Arc;

use unjank_cachesim::tier::TierPolicy;

/// The policies of one value of `--policy`.
pub(super) type Policies = Arc<[TierPolicy]>;

/// Parses one policy, or `all`.
pub(super) fn policies(typed: &str) -> Result<Policies, String> {
    if typed == "all" {
        return Ok(TierPolicy::all().into());
    }
    let policy = typed.parse::<TierPolicy>().map_err(|unknown| unknown.to_string())?;
    Ok([policy].into())
}

/// The default policies: first the one for this cost of a write of the tier.
pub(super) fn usual(write_cost: Option<f64>) -> Policies {
    let named = ["refault", "paper", "always/lru", "gate/lru"];
    let others = named.iter().filter_map(|name| name.parse().ok());
    write_cost.map(TierPolicy::for_write_cost).into_iter().chain(others).collect()
}

/// Each policy once, in the order of the command line.
pub(super) fn flatten(typed: &[Policies]) -> Vec<TierPolicy> {
    let mut policies: Vec<TierPolicy> = Vec::new();
    for policy in typed.iter().flat_map(|some| some.iter()) {
        if !policies.contains(policy) {
            policies.push(*policy);
        }
    }
    policies
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_for_the_cost_comes_first_and_once() {
        let names = |cost| {
            let policies = flatten(&[usual(cost)]);
            policies.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(None), "refault paper always/lru gate=4/lru");
        assert_eq!(names(Some(0.001)), "always/lru refault paper gate=4/lru");
        assert_eq!(names(Some(0.1)), "paper refault always/lru gate=4/lru");
    }
}
