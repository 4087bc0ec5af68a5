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
