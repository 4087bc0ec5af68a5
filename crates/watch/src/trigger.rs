//! What freezes a recording, and which delays it is about.

use serde::{Deserialize, Serialize};
use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;
use unjank_units::Nanos;
use unjank_why::late::{Delay, HeldUp, NOTICEABLE};

use crate::launches::SlowLaunch;
use crate::pressure::Resource;
use crate::silence::SilentServer;

/// What freezes a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trigger {
    /// The user, or another program: `unjank mark`, SIGUSR1. It may be about a process, by its name
    /// or number.
    Mark(Option<String>),
    /// Tasks waited for a resource longer than its limit.
    Pressure(Resource),
    /// A thread with a rule waited for a CPU longer than its limit.
    Late {
        /// The thread.
        thread: ThreadId,
        /// The rule's limit.
        limit: Nanos,
    },
    /// A launch took longer than its limit.
    Launch(SlowLaunch),
    /// A server did not read a socket for longer than its limit.
    Silence(SilentServer),
}

/// The kind of a trigger, in records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TriggerKind {
    /// [`Trigger::Mark`].
    Mark,
    /// [`Trigger::Pressure`] of a CPU.
    Cpu,
    /// [`Trigger::Pressure`] of memory.
    Memory,
    /// [`Trigger::Pressure`] of I/O.
    Io,
    /// [`Trigger::Late`].
    Late,
    /// [`Trigger::Launch`].
    Launch,
    /// [`Trigger::Silence`].
    Silence,
}

impl TriggerKind {
    /// The name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mark => "mark",
            Self::Cpu => "cpu pressure",
            Self::Memory => "memory pressure",
            Self::Io => "io pressure",
            Self::Late => "late thread",
            Self::Launch => "slow launch",
            Self::Silence => "silent server",
        }
    }
}

impl Trigger {
    /// Its kind.
    pub fn kind(&self) -> TriggerKind {
        match self {
            Self::Mark(_) => TriggerKind::Mark,
            Self::Pressure(Resource::Cpu) => TriggerKind::Cpu,
            Self::Pressure(Resource::Memory) => TriggerKind::Memory,
            Self::Pressure(Resource::Io) => TriggerKind::Io,
            Self::Late { .. } => TriggerKind::Late,
            Self::Launch(_) => TriggerKind::Launch,
            Self::Silence(_) => TriggerKind::Silence,
        }
    }

    /// How long before the trigger a delay may have ended. A user takes up to two seconds to press a
    /// key; pressure is counted in windows of a second, and lateness once a second.
    pub fn reaches_back(&self, now: Timestamp) -> Nanos {
        let second = Nanos::from_millis(1_000);
        match self {
            Self::Mark(_) => MARK_REACHES_BACK,
            Self::Pressure(_) | Self::Late { .. } => second + second,
            Self::Launch(launch) => now.since(launch.began) + second,
            Self::Silence(server) => now.since(server.since) + second,
        }
    }

    /// The delays that may have caused the trigger, the likeliest first: the longest of `delays`, which
    /// begin with the longest, that are of its kind and thread. For a launch, it is the launch as a
    /// whole; for a silent server, the silent time comes after the delays of its threads. `threads`
    /// are those of the server, or of the process of a mark; `recorded` is the time of the recording.
    pub fn fitting(
        &self,
        delays: &[Delay],
        threads: &[ThreadId],
        recorded: (Timestamp, Timestamp),
    ) -> Vec<Delay> {
        let whole = |process: u32, (from, to): (Timestamp, Timestamp), by| {
            let time = (from.max(recorded.0), to.min(recorded.1));
            (time.0 < time.1).then(|| Delay::new(ThreadId(process), time, by))
        };
        let all = match self {
            Self::Launch(launch) => {
                whole(launch.process, (launch.began, launch.ready), HeldUp::Launch)
            }
            Self::Silence(server) => {
                whole(server.process, (server.since, recorded.1), HeldUp::Silence)
            }
            _ => None,
        };
        let fits = |delay: &&Delay| match self {
            Self::Launch(_) => false,
            Self::Silence(_) | Self::Mark(Some(_)) => {
                delay.length() >= NOTICEABLE && threads.contains(&delay.thread)
            }
            Self::Mark(None) => delay.length() >= NOTICEABLE,
            Self::Pressure(Resource::Cpu) => {
                delay.by == HeldUp::RunQueue && delay.length() >= NOTICEABLE
            }
            Self::Pressure(Resource::Memory | Resource::Io) => {
                delay.by == HeldUp::Blocked && delay.length() >= NOTICEABLE
            }
            Self::Late { thread, limit } => {
                let is_one = delay.by == HeldUp::RunQueue && delay.waits == 1;
                delay.thread == *thread && is_one && delay.length() >= *limit
            }
        };
        delays.iter().filter(fits).take(CANDIDATES).copied().chain(all).collect()
    }
}

/// How long before a mark a delay may have ended.
pub const MARK_REACHES_BACK: Nanos = Nanos::from_millis(3_000);

/// The most delays that are tried until one has a cause that the recording shows.
const CANDIDATES: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_nanos(seconds * 1_000_000_000)
    }

    fn delay(thread: u32, millis: u64, by: HeldUp) -> Delay {
        let from = Timestamp::from_nanos(1_000);
        Delay::new(ThreadId(thread), (from, from + Nanos::from_millis(millis)), by)
    }

    #[test]
    fn a_trigger_is_about_the_longest_delay_that_fits() {
        let delays = [
            delay(1, 90, HeldUp::Blocked),
            delay(2, 80, HeldUp::RunQueue),
            delay(3, 6, HeldUp::RunQueue),
        ];
        let chosen = |trigger: Trigger| {
            trigger.fitting(&delays, &[], (at(0), at(9))).first().map(|it| it.thread.0)
        };
        assert_eq!(chosen(Trigger::Mark(None)), Some(1));
        assert_eq!(chosen(Trigger::Pressure(Resource::Cpu)), Some(2));
        assert_eq!(chosen(Trigger::Pressure(Resource::Io)), Some(1));
        let late = |thread, millis| Trigger::Late {
            thread: ThreadId(thread),
            limit: Nanos::from_millis(millis),
        };
        assert_eq!(chosen(late(3, 5)), Some(3), "its rule has its own limit");
        assert_eq!(chosen(late(3, 7)), None);
        assert_eq!(chosen(late(1, 5)), None, "it did not wait for a CPU");
        assert_eq!(Trigger::Mark(None).fitting(&delays[2..], &[], (at(0), at(9))), [], "too short");
        let about = Trigger::Mark(Some("2".to_owned()));
        let own = about.fitting(&delays, &[ThreadId(2)], (at(0), at(9)));
        assert_eq!(own, delays[1..2], "the longest one is of another process");
    }

    #[test]
    fn a_launch_is_explained_as_a_whole_as_far_as_it_is_recorded() {
        let launch = SlowLaunch { process: 40, began: at(1), ready: at(5), usual: None };
        let trigger = Trigger::Launch(launch);
        assert_eq!(trigger.reaches_back(at(6)), Nanos::from_millis(6_000));
        let delays = [delay(40, 90, HeldUp::Blocked)];
        let whole = |from, to| vec![Delay::new(ThreadId(40), (at(from), at(to)), HeldUp::Launch)];
        assert_eq!(trigger.fitting(&delays, &[], (at(0), at(6))), whole(1, 5));
        assert_eq!(trigger.fitting(&delays, &[], (at(3), at(6))), whole(3, 5));
        assert_eq!(trigger.fitting(&delays, &[], (at(5), at(6))), []);
    }

    #[test]
    fn a_silent_server_was_held_up_itself_or_did_something_else() {
        let trigger = Trigger::Silence(SilentServer { process: 40, since: at(1) });
        let delays = [delay(7, 90, HeldUp::Blocked), delay(41, 80, HeldUp::Stopped)];
        let threads = [ThreadId(40), ThreadId(41)];
        let fitting = trigger.fitting(&delays, &threads, (at(0), at(4)));
        let found: Vec<_> = fitting.iter().map(|it| (it.thread.0, it.by)).collect();
        assert_eq!(found, [(41, HeldUp::Stopped), (40, HeldUp::Silence)]);
        assert_eq!(fitting[1].length(), Nanos::from_millis(3_000));
    }
}
