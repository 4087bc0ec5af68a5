//! Scheduling: policy and priority, affinity, and guards that restore both.

mod affinity;
mod attributes;
mod effective;
mod fair;
mod former;
mod inherited;
mod lasting;
mod nice;
mod policy;
mod policy_text;
mod realtime;
mod rights;
mod run_limit;
mod slack;
mod typed;

pub use affinity::{AffinityGuard, CpuSet, current_cpu};
pub use attributes::{be_ordinary, policy_of, set_policy};
pub use effective::{effective_priority, standing};
pub use fair::Fair;
pub use inherited::InheritedPolicy;
pub use lasting::{Grant, give_realtime, take_realtime};
pub use nice::NiceGuard;
pub use policy::{Policy, Priority, ThreadId};
pub use realtime::{
    HIGHEST_UNFORCED, Realtime, RealtimeGuard, check_policy, is_throttled, rtprio_limit,
};
pub use rights::{PolicyAndNice, SchedulingRights};
pub use run_limit::{RunLimit, run_limit, set_run_limit};
pub use slack::{ExactTimers, timer_slack};
