//! Reads once a second what the kernel does not report by itself: the delays of threads, unread
//! sockets, and new processes of programs whose system calls are recorded.

use unjank_host::{Nanos, Root, Timestamp};
use unjank_watch::lateness::Lateness;
use unjank_watch::programs::Programs;
use unjank_watch::recorder::Recorder;
use unjank_watch::silence::Silence;
use unjank_watch::trigger::Trigger;

use super::args::ServiceArgs;
use crate::output;

/// The polling interval.
const INTERVAL: Nanos = Nanos::from_millis(1_000);

/// The rules that need polling.
pub(super) struct Polling {
    lateness: Lateness,
    silence: Silence,
    programs: Programs,
    /// The next poll; `None` without rules.
    next: Option<Timestamp>,
}

impl Polling {
    pub(super) fn new(args: &ServiceArgs, root: &Root) -> Self {
        let lateness = Lateness::new(root, args.late.clone());
        let silence = Silence::new(root, args.silent.clone());
        let programs = Programs::new(root, args.calls_of.clone());
        let is_needed = lateness.is_needed() || silence.is_needed() || programs.is_needed();
        let next = is_needed.then(Timestamp::now);
        Self { lateness, silence, programs, next }
    }

    /// When to poll next; `None` without rules.
    pub(super) fn next(&self) -> Option<Timestamp> {
        self.next
    }

    /// The number of watched threads and servers.
    pub(super) fn watched(&self) -> u64 {
        (self.lateness.len() + self.silence.len()) as u64
    }

    /// Polls if it is time to. Returns the rules that were broken, and adds new threads to the
    /// recorder.
    pub(super) fn poll(&mut self, recorder: &Recorder) -> Vec<Trigger> {
        let now = Timestamp::now();
        if self.next.is_none_or(|next| now < next) {
            return Vec::new();
        }
        self.next = Some(now + INTERVAL);
        let new = self.programs.poll(now);
        if !new.is_empty()
            && let Err(error) = recorder.record_calls_of(&new)
        {
            output::remark(&format!("system calls of new threads are not recorded: {error}"));
        }
        let late = self.lateness.poll(now);
        let silent = self.silence.poll(now).unwrap_or_else(|error| {
            output::remark(&format!("sockets are no longer watched: {error}"));
            self.silence.stop();
            None
        });
        let late = late.map(|(thread, limit)| Trigger::Late { thread, limit });
        late.into_iter().chain(silent.map(Trigger::Silence)).collect()
    }
}
