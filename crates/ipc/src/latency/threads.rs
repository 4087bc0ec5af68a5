//! How the threads of a pair ran, for people who debug.

use std::fmt;

use unjank_host::sched::ThreadId;

use super::report::{Look, PairReport};
use crate::transport::{Examined, SeenPolicy};

/// A thread of a pair while it called, or served a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadSeen {
    /// What it did: `fifo-caller`, `other-caller` or `server`.
    pub role: &'static str,
    /// Its process.
    pub process: u32,
    /// Its number.
    pub thread: ThreadId,
    /// Where it ran.
    pub cpu: u32,
    policy: SeenPolicy,
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
    /// Client and server in a call at real-time priority, and in one without.
    pub fn threads(&self) -> Vec<ThreadSeen> {
        let called_at = |wanted: fn(&Look) -> bool| self.looks.iter().find(|look| wanted(look));
        let fifo = called_at(|look| matches!(look.caller.policy, SeenPolicy::Fifo(_)));
        let other =
            called_at(|look| !look.at_nice && matches!(look.caller.policy, SeenPolicy::Fair(_)));
        let both = |role, look: &Look| {
            let seen = |role, process: Option<u32>, examined: Examined, cpu| ThreadSeen {
                role,
                process: process.unwrap_or(examined.thread.0),
                thread: examined.thread,
                cpu,
                policy: examined.policy,
                effective: examined.effective,
            };
            [
                seen(role, Some(self.client), look.caller, look.caller_cpu),
                seen("server", self.server, look.server, look.server_cpu),
            ]
        };
        let of = |role, look: Option<&Look>| look.map(|look| both(role, look));
        [of("fifo-caller", fifo), of("other-caller", other)]
            .into_iter()
            .flatten()
            .flatten()
            .collect()
    }
}
