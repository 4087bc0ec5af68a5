//! Policies, priorities and CPUs of a pair's threads, for debugging.

use std::fmt;

use unjank_host::sched::ThreadId;

use super::report::{PairReport, PriorityCheck};
use crate::transport::{ExaminedThread, ReportedPolicy};

/// A thread of a pair while it called, or served a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadSeen {
    /// `fifo-caller`, `other-caller` or `server`.
    pub role: &'static str,
    /// Its process.
    pub process: u32,
    /// Its number.
    pub thread: ThreadId,
    /// Its CPU.
    pub cpu: u32,
    policy: ReportedPolicy,
    effective: i8,
}

/// `server: pid 77, tid 78, cpu 1, SCHED_OTHER 0, effective priority -81`.
impl fmt::Display for ThreadSeen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { role, process, thread, cpu, policy, effective } = self;
        write!(f, "{role}: pid {process}, tid {}, cpu {cpu}, {policy}, ", thread.0)?;
        write!(f, "effective priority {effective}")
    }
}

impl PairReport {
    /// Client and server in a real-time call, and in an ordinary one.
    pub fn threads(&self) -> Vec<ThreadSeen> {
        let called_at =
            |wanted: fn(&PriorityCheck) -> bool| self.checks.iter().find(|check| wanted(check));
        let fifo = called_at(|check| matches!(check.caller.policy, ReportedPolicy::Fifo(_)));
        let other = called_at(|check| {
            !check.at_nice && matches!(check.caller.policy, ReportedPolicy::Fair(_))
        });
        let both = |role, check: &PriorityCheck| {
            let seen = |role, process: Option<u32>, examined: ExaminedThread, cpu| ThreadSeen {
                role,
                process: process.unwrap_or(examined.thread.0),
                thread: examined.thread,
                cpu,
                policy: examined.policy,
                effective: examined.effective,
            };
            [
                seen(role, Some(self.client), check.caller, check.caller_cpu),
                seen("server", self.server, check.server, check.server_cpu),
            ]
        };
        let of = |role, check: Option<&PriorityCheck>| check.map(|check| both(role, check));
        [of("fifo-caller", fifo), of("other-caller", other)]
            .into_iter()
            .flatten()
            .flatten()
            .collect()
    }
}
