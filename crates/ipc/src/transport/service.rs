//! The services of a peer: echo, or a report about its own thread.

use std::fmt;

use serde::{Deserialize, Serialize};
use unjank_host::sched::{Policy, ThreadId, current_cpu, effective_priority, policy_of, standing};
use unjank_host::{Nanos, Root, Timestamp};

/// What a peer does with a request. The reply is as long as the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Service {
    /// Sends back what it gets.
    Echo,
    /// Reports the CPU on which it runs; on request also its priority.
    Report,
}

impl Service {
    /// The name as a label.
    pub fn name(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::Report => "report",
        }
    }

    /// Turns a request into its reply, in place.
    #[inline]
    pub(crate) fn answer(self, message: &mut [u8]) {
        match self {
            Self::Echo => {}
            Self::Report => report(message),
        }
    }
}

/// Bytes of a [`SelfReport`] in a message.
pub(crate) const REPORT_BYTES: usize = 16;

/// The first byte of a request to [`Service::Report`].
const CPU_ONLY: u8 = 0;
const CPU_AND_THREAD: u8 = 1;

/// How long a peer computes before it reads its own priority: longer than any
/// transport spins before its client sleeps and its priority is inherited.
const UNTIL_THE_CLIENT_SLEEPS: Nanos = Nanos::from_micros(500);

/// How long it computes at most until it runs at its client's priority: on a
/// virtual machine the client's CPU may itself not be running.
const AT_MOST: Nanos = Nanos::from_millis(20);

/// A request for the peer's CPU only.
pub(crate) fn cpu_request() -> [u8; REPORT_BYTES] {
    request(CPU_ONLY)
}

/// A request for the peer's CPU and thread, from a client of this real-time
/// priority; 0 if it has none.
pub(crate) fn thread_request(real_time: u8) -> [u8; REPORT_BYTES] {
    let mut request = request(CPU_AND_THREAD);
    request[1] = real_time;
    request
}

fn request(kind: u8) -> [u8; REPORT_BYTES] {
    let mut request = [0; REPORT_BYTES];
    request[0] = kind;
    request
}

fn report(message: &mut [u8]) {
    let Some(message) = message.first_chunk_mut::<REPORT_BYTES>() else { return };
    let report = match message[0] {
        CPU_AND_THREAD => SelfReport::once_at(message[1]),
        _ => SelfReport::of_this_cpu(),
    };
    *message = report.to_bytes();
}

fn compute_for(time: Nanos) {
    let end = Timestamp::now() + time;
    while Timestamp::now() < end {
        std::hint::spin_loop();
    }
}

/// A peer's CPU and thread while it served a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SelfReport {
    pub(crate) cpu: u32,
    /// Its thread, if the request asked for it.
    pub(crate) thread: Option<ExaminedThread>,
}

/// A peer's thread while it served a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ExaminedThread {
    pub(crate) thread: ThreadId,
    /// Its scheduling policy as `sched_getattr(2)` shows it.
    pub(crate) policy: ReportedPolicy,
    /// The priority that the kernel ran it at: see [`effective_priority`].
    pub(crate) effective: i8,
}

impl ExaminedThread {
    /// Any thread, and the CPU that it last ran on; `None` if it has ended.
    pub(crate) fn standing(root: &Root, thread: ThreadId) -> Option<(Self, u32)> {
        let (policy, _) = policy_of(thread).ok()?;
        let (effective, cpu) = standing(root, thread)?;
        Some((Self { thread, policy: policy.into(), effective: effective as i8 }, cpu))
    }

    /// The real-time priority that it ran at; 0 for none.
    pub(crate) fn real_time(self) -> u8 {
        let effective = self.effective.saturating_add(1).saturating_neg().max(0).unsigned_abs();
        match self.policy {
            // Without procfs only the policy is known.
            ReportedPolicy::Fifo(priority) | ReportedPolicy::RoundRobin(priority) => {
                effective.max(priority)
            }
            ReportedPolicy::Fair(_) | ReportedPolicy::Other => effective,
        }
    }
}

/// A scheduling policy as a peer reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReportedPolicy {
    /// `SCHED_OTHER` or `SCHED_BATCH`, with the nice value.
    Fair(i8),
    /// `SCHED_FIFO` with the priority.
    Fifo(u8),
    /// `SCHED_RR` with the priority.
    RoundRobin(u8),
    /// Another policy.
    Other,
}

/// As AOSP's `schd-dbg` prints it.
impl fmt::Display for ReportedPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fair(nice) => write!(f, "SCHED_OTHER {nice}"),
            Self::Fifo(priority) => write!(f, "SCHED_FIFO {priority}"),
            Self::RoundRobin(priority) => write!(f, "SCHED_RR {priority}"),
            Self::Other => write!(f, "???"),
        }
    }
}

impl From<Policy> for ReportedPolicy {
    fn from(policy: Policy) -> Self {
        match policy {
            Policy::Other(fair) | Policy::Batch(fair) => Self::Fair(fair.nice as i8),
            Policy::Fifo(priority) => Self::Fifo(priority.get()),
            Policy::RoundRobin(priority) => Self::RoundRobin(priority.get()),
            Policy::Idle | Policy::Deadline { .. } => Self::Other,
        }
    }
}

impl SelfReport {
    fn of_this_cpu() -> Self {
        Self { cpu: current_cpu() as u32, thread: None }
    }

    /// Computes until this thread runs at the priority, or [`AT_MOST`] has passed.
    fn once_at(real_time: u8) -> Self {
        let give_up = Timestamp::now() + AT_MOST;
        loop {
            compute_for(UNTIL_THE_CLIENT_SLEEPS);
            let report = Self::of_this_thread();
            let is_there = report.thread.is_none_or(|thread| thread.real_time() >= real_time);
            if is_there || Timestamp::now() >= give_up {
                return report;
            }
        }
    }

    pub(crate) fn of_this_thread() -> Self {
        let thread = ThreadId::current();
        let policy = policy_of(thread).map_or(ReportedPolicy::Other, |(policy, _)| policy.into());
        // Without procfs only the policy is known.
        let effective = effective_priority(&Root::system()).map_or(0, |priority| priority as i8);
        let examined = ExaminedThread { thread, policy, effective };
        Self { thread: Some(examined), ..Self::of_this_cpu() }
    }

    /// | bytes | hold |
    /// |---|---|
    /// | 0–3 | CPU |
    /// | 4–7 | thread number, 0 if not requested |
    /// | 8 | policy: 0 fair, 1 FIFO, 2 round robin, 3 another |
    /// | 9 | nice value or real-time priority |
    /// | 10 | effective priority |
    fn to_bytes(self) -> [u8; REPORT_BYTES] {
        let mut bytes = [0; REPORT_BYTES];
        bytes[..4].copy_from_slice(&self.cpu.to_le_bytes());
        if let Some(ExaminedThread { thread, policy, effective }) = self.thread {
            bytes[4..8].copy_from_slice(&thread.0.to_le_bytes());
            (bytes[8], bytes[9]) = match policy {
                ReportedPolicy::Fair(nice) => (0, nice as u8),
                ReportedPolicy::Fifo(priority) => (1, priority),
                ReportedPolicy::RoundRobin(priority) => (2, priority),
                ReportedPolicy::Other => (3, 0),
            };
            bytes[10] = effective as u8;
        }
        bytes
    }

    /// Reads a reply. Any bytes are valid.
    #[inline]
    pub(crate) fn from_bytes(reply: &[u8; REPORT_BYTES]) -> Self {
        let word =
            |at: usize| reply[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let (thread, number) = (ThreadId(word(4)), reply[9]);
        let policy = match reply[8] {
            0 => ReportedPolicy::Fair(number as i8),
            1 => ReportedPolicy::Fifo(number),
            2 => ReportedPolicy::RoundRobin(number),
            _ => ReportedPolicy::Other,
        };
        let examined = ExaminedThread { thread, policy, effective: reply[10] as i8 };
        Self { cpu: word(0), thread: (thread.0 != 0).then_some(examined) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(mut message: [u8; REPORT_BYTES]) -> SelfReport {
        Service::Report.answer(&mut message);
        SelfReport::from_bytes(&message)
    }

    #[test]
    fn the_thread_is_reported_on_request_only() {
        assert_eq!(answer(cpu_request()).thread, None);
        let seen = answer(thread_request(0)).thread.unwrap();
        assert_eq!(seen.thread, ThreadId::current());
        let (policy, _) = policy_of(ThreadId::current()).unwrap();
        assert_eq!(seen.policy, policy.into());
    }

    #[test]
    fn a_message_too_short_for_a_report_comes_back_unchanged() {
        let mut short = [7; REPORT_BYTES - 1];
        Service::Report.answer(&mut short);
        assert_eq!(short, [7; REPORT_BYTES - 1]);
    }

    proptest::proptest! {
        #[test]
        fn any_reply_is_valid_and_survives(reply: [u8; REPORT_BYTES]) {
            let report = SelfReport::from_bytes(&reply);
            proptest::prop_assert_eq!(SelfReport::from_bytes(&report.to_bytes()), report);
        }
    }
}
