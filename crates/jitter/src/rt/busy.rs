//! Detects real-time threads that use a CPU without ever sleeping.

use std::collections::HashMap;

use unjank_host::Nanos;
use unjank_host::sched::ThreadId;

/// Counters of a thread, read at one check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watched {
    /// CPU time since the thread began.
    pub cpu_time: Nanos,
    /// Number of voluntary context switches since then.
    pub sleeps: u64,
}

/// Tracks how long each thread has computed without a sleep.
#[derive(Debug, Clone)]
pub struct Busy {
    longest: Nanos,
    since: HashMap<ThreadId, Watched>,
}

impl Busy {
    /// Allows threads to compute for `longest` without a sleep.
    pub fn new(longest: Nanos) -> Self {
        Self { longest, since: HashMap::new() }
    }

    /// Checks a thread. Returns the CPU time that it has used at least without
    /// a sleep, if that exceeds the limit. CPU time counts rather than elapsed
    /// time, so a preempted thread is not blamed.
    pub fn look(&mut self, thread: ThreadId, now: Watched) -> Option<Nanos> {
        let since = self.since.entry(thread).or_insert(now);
        if since.sleeps != now.sleeps || now.cpu_time < since.cpu_time {
            *since = now;
        }
        let busy = now.cpu_time - since.cpu_time;
        (busy > self.longest).then_some(busy)
    }

    /// Stops tracking a thread.
    pub fn forget(&mut self, thread: ThreadId) {
        self.since.remove(&thread);
    }

    /// Time between two checks: short enough that a thread exceeds the limit by
    /// at most a quarter.
    pub fn interval(&self) -> Nanos {
        Nanos((self.longest.get() / 4).max(1_000_000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREAD: ThreadId = ThreadId(7);

    fn seen(millis: u64, sleeps: u64) -> Watched {
        Watched { cpu_time: Nanos::from_millis(millis), sleeps }
    }

    #[test]
    fn a_thread_that_never_sleeps_is_seen() {
        let mut busy = Busy::new(Nanos::from_millis(200));
        for millis in [0, 50, 100, 150, 200] {
            assert_eq!(busy.look(THREAD, seen(millis, 3)), None, "{millis}");
        }
        assert_eq!(busy.look(THREAD, seen(250, 3)), Some(Nanos::from_millis(250)));
        busy.forget(THREAD);
        assert_eq!(busy.look(THREAD, seen(900, 3)), None);
    }

    #[test]
    fn a_sleep_restarts_the_count() {
        let mut busy = Busy::new(Nanos::from_millis(200));
        assert_eq!(busy.look(THREAD, seen(0, 1)), None);
        assert_eq!(busy.look(THREAD, seen(190, 1)), None);
        assert_eq!(busy.look(THREAD, seen(380, 2)), None);
        assert_eq!(busy.look(THREAD, seen(570, 2)), None);
        assert_eq!(busy.look(THREAD, seen(590, 2)), Some(Nanos::from_millis(210)));
    }

    #[test]
    fn a_reused_thread_id_starts_over() {
        let mut busy = Busy::new(Nanos::from_millis(200));
        assert_eq!(busy.look(THREAD, seen(1_000, 0)), None);
        assert_eq!(busy.look(THREAD, seen(10, 0)), None);
        assert_eq!(busy.look(THREAD, seen(100, 0)), None);
    }

    #[test]
    fn the_interval_is_a_quarter_of_the_limit() {
        assert_eq!(Busy::new(Nanos::from_millis(200)).interval(), Nanos::from_millis(50));
        assert_eq!(Busy::new(Nanos(1)).interval(), Nanos::from_millis(1));
    }
}
