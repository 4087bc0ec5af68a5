//! Policies of a tier, as they are typed.

use std::sync::Arc;

use unjank_swap::model::tier::TierPolicy;

/// One policy, or all.
pub(super) type Policies = Arc<[TierPolicy]>;

/// One policy, or all of them.
pub(super) fn policies(typed: &str) -> Result<Policies, String> {
    if typed == "all" {
        return Ok(TierPolicy::all().into());
    }
    let policy = typed.parse::<TierPolicy>().map_err(|unknown| unknown.to_string())?;
    Ok([policy].into())
}

/// Each policy once, in the order they were typed.
pub(super) fn flatten(typed: &[Policies]) -> Vec<TierPolicy> {
    let mut policies: Vec<TierPolicy> = Vec::new();
    for policy in typed.iter().flat_map(|some| some.iter()) {
        if !policies.contains(policy) {
            policies.push(*policy);
        }
    }
    policies
}
