//! What a peer does with a request before it sends it back as the reply.

use std::fmt;

use serde::{Deserialize, Serialize};
use unjank_host::sched::{Policy, ThreadId, current_cpu, effective_priority, policy_of};
use unjank_host::{Nanos, Root, Timestamp};

/// What a peer does with a request. The reply is as long as the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Service {
    /// Sends back what it gets.
    Echo,
    /// Says where it runs; asked to examine itself, also at which priority.
    Witness,
}

impl Service {
    /// The name as a label.
    pub fn name(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::Witness => "witness",
        }
    }

    /// Turns a request into its reply, in place.
    #[inline]
    pub(crate) fn answer(self, message: &mut [u8]) {
        match self {
            Self::Echo => {}
            Self::Witness => witness(message),
        }
    }
}

/// The smallest payload that a [`Sight`] fits into.
pub(crate) const SIGHT: usize = 16;

/// The first byte of a request to [`Service::Witness`].
const LOOK_AROUND: u8 = 0;
const EXAMINE: u8 = 1;

/// How long a witness computes before it examines itself: longer than any
/// transport spins before its client sleeps and its priority is inherited.
const UNTIL_THE_CLIENT_SLEEPS: Nanos = Nanos::from_micros(500);

/// How long it computes at most where that was not enough: on a virtual
/// machine the client's CPU may itself not be running.
const AT_MOST: Nanos = Nanos::from_millis(20);

/// A request of [`SIGHT`] bytes for the CPU and nothing else.
pub(crate) fn look_around() -> [u8; SIGHT] {
    request(LOOK_AROUND)
}

/// A request of [`SIGHT`] bytes for everything about the peer's thread, from a
/// client of this real-time priority; 0 if it has none.
pub(crate) fn examine(real_time: u8) -> [u8; SIGHT] {
    let mut request = request(EXAMINE);
    request[1] = real_time;
    request
}

fn request(what: u8) -> [u8; SIGHT] {
    let mut request = [0; SIGHT];
    request[0] = what;
    request
}

fn witness(message: &mut [u8]) {
    let Some(message) = message.first_chunk_mut::<SIGHT>() else { return };
    let sight = match message[0] {
        EXAMINE => Sight::once_at(message[1]),
        _ => Sight::of_this_cpu(),
    };
    *message = sight.to_bytes();
}

fn compute_for(time: Nanos) {
    let end = Timestamp::now() + time;
    while Timestamp::now() < end {
        std::hint::spin_loop();
    }
}

/// What a peer saw of itself while it served a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sight {
    /// Where it ran.
    pub(crate) cpu: u32,
    /// The rest, if it was asked.
    pub(crate) thread: Option<Examined>,
}

/// The peer's thread while it served a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Examined {
    /// Which thread it was.
    pub(crate) thread: ThreadId,
    /// Its scheduling policy as `sched_getattr(2)` shows it.
    pub(crate) policy: SeenPolicy,
    /// The priority that the kernel ran it at: see [`effective_priority`].
    pub(crate) effective: i8,
}

impl Examined {
    /// The real-time priority that it ran at; 0 for none.
    pub(crate) fn real_time(self) -> u8 {
        let effective = self.effective.saturating_add(1).saturating_neg().max(0).unsigned_abs();
        match self.policy {
            // Without procfs only the policy is known.
            SeenPolicy::Fifo(priority) | SeenPolicy::RoundRobin(priority) => {
                effective.max(priority)
            }
            SeenPolicy::Fair(_) | SeenPolicy::Other => effective,
        }
    }
}

/// A scheduling policy as a witness reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SeenPolicy {
    /// `SCHED_OTHER` or `SCHED_BATCH`, with the nice value.
    Fair(i8),
    /// `SCHED_FIFO` with the priority.
    Fifo(u8),
    /// `SCHED_RR` with the priority.
    RoundRobin(u8),
    /// Another one.
    Other,
}

/// As in `schd-dbg`.
impl fmt::Display for SeenPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fair(nice) => write!(f, "SCHED_OTHER {nice}"),
            Self::Fifo(priority) => write!(f, "SCHED_FIFO {priority}"),
            Self::RoundRobin(priority) => write!(f, "SCHED_RR {priority}"),
            Self::Other => write!(f, "???"),
        }
    }
}

impl From<Policy> for SeenPolicy {
    fn from(policy: Policy) -> Self {
        match policy {
            Policy::Other(fair) | Policy::Batch(fair) => Self::Fair(fair.nice as i8),
            Policy::Fifo(priority) => Self::Fifo(priority.get()),
            Policy::RoundRobin(priority) => Self::RoundRobin(priority.get()),
            Policy::Idle | Policy::Deadline { .. } => Self::Other,
        }
    }
}

impl Sight {
    fn of_this_cpu() -> Self {
        Self { cpu: current_cpu() as u32, thread: None }
    }

    /// Once this thread runs at the priority, or does not for too long.
    fn once_at(real_time: u8) -> Self {
        let give_up = Timestamp::now() + AT_MOST;
        loop {
            compute_for(UNTIL_THE_CLIENT_SLEEPS);
            let sight = Self::of_this_thread();
            let is_there = sight.thread.is_none_or(|thread| thread.real_time() >= real_time);
            if is_there || Timestamp::now() >= give_up {
                return sight;
            }
        }
    }

    pub(crate) fn of_this_thread() -> Self {
        let thread = ThreadId::current();
        let policy = policy_of(thread).map_or(SeenPolicy::Other, |(policy, _)| policy.into());
        // Without procfs the policy says all there is to know.
        let effective = effective_priority(&Root::system()).map_or(0, |priority| priority as i8);
        let examined = Examined { thread, policy, effective };
        Self { thread: Some(examined), ..Self::of_this_cpu() }
    }

    /// | bytes | hold |
    /// |---|---|
    /// | 0–3 | CPU |
    /// | 4–7 | thread number, 0 if not asked |
    /// | 8 | policy: 0 fair, 1 FIFO, 2 round robin, 3 another |
    /// | 9 | nice value or real-time priority |
    /// | 10 | effective priority |
    fn to_bytes(self) -> [u8; SIGHT] {
        let mut bytes = [0; SIGHT];
        bytes[..4].copy_from_slice(&self.cpu.to_le_bytes());
        if let Some(Examined { thread, policy, effective }) = self.thread {
            bytes[4..8].copy_from_slice(&thread.0.to_le_bytes());
            (bytes[8], bytes[9]) = match policy {
                SeenPolicy::Fair(nice) => (0, nice as u8),
                SeenPolicy::Fifo(priority) => (1, priority),
                SeenPolicy::RoundRobin(priority) => (2, priority),
                SeenPolicy::Other => (3, 0),
            };
            bytes[10] = effective as u8;
        }
        bytes
    }

    /// What the reply says; any bytes mean something.
    #[inline]
    pub(crate) fn from_bytes(reply: &[u8; SIGHT]) -> Self {
        let word =
            |at: usize| reply[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let (thread, number) = (ThreadId(word(4)), reply[9]);
        let policy = match reply[8] {
            0 => SeenPolicy::Fair(number as i8),
            1 => SeenPolicy::Fifo(number),
            2 => SeenPolicy::RoundRobin(number),
            _ => SeenPolicy::Other,
        };
        let examined = Examined { thread, policy, effective: reply[10] as i8 };
        Self { cpu: word(0), thread: (thread.0 != 0).then_some(examined) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(mut message: [u8; SIGHT]) -> Sight {
        Service::Witness.answer(&mut message);
        Sight::from_bytes(&message)
    }

    #[test]
    fn a_witness_says_no_more_than_it_is_asked() {
        assert_eq!(answer(look_around()).thread, None);
        let seen = answer(examine(0)).thread.unwrap();
        assert_eq!(seen.thread, ThreadId::current());
        let (policy, _) = policy_of(ThreadId::current()).unwrap();
        assert_eq!(seen.policy, policy.into());
    }

    #[test]
    fn a_message_too_short_for_a_sight_comes_back_as_it_is() {
        let mut short = [7; SIGHT - 1];
        Service::Witness.answer(&mut short);
        assert_eq!(short, [7; SIGHT - 1]);
    }

    proptest::proptest! {
        #[test]
        fn any_reply_means_something_and_survives(reply: [u8; SIGHT]) {
            let sight = Sight::from_bytes(&reply);
            proptest::prop_assert_eq!(Sight::from_bytes(&sight.to_bytes()), sight);
        }
    }
}
