//! The policy of the thread that watches real-time threads.

use super::rules::Rules;

/// How the watching thread gets a CPU while real-time threads burn all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watcher {
    /// An ordinary thread with the best nice value. Real-time throttling keeps
    /// CPU time for it, so watching takes nothing from the watched threads.
    Ordinary,
    /// A real-time thread of this priority, above all that it watches: nothing
    /// else is certain to run it.
    Realtime(u8),
}

impl Rules {
    /// The policy of the thread that watches the threads of these rules;
    /// `throttled`: whether the kernel limits the CPU time of real-time threads.
    pub fn watcher(&self, throttled: bool) -> Watcher {
        if throttled || !self.are_realtime() {
            return Watcher::Ordinary;
        }
        // SCHED_DEADLINE threads run before those of any priority.
        Watcher::Realtime(self.highest().unwrap_or(1).saturating_add(1).min(99))
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::sched::{Policy, Priority};

    use super::*;

    fn rules(policy: Policy) -> Rules {
        Rules::new(Vec::new(), Some(policy), None).unwrap()
    }

    #[test]
    fn the_watcher_is_real_time_only_without_throttling() {
        let fifo = |priority| rules(Policy::Fifo(Priority::new(priority).unwrap()));
        assert_eq!(fifo(80).watcher(true), Watcher::Ordinary);
        assert_eq!(fifo(80).watcher(false), Watcher::Realtime(81));
        assert_eq!(fifo(99).watcher(false), Watcher::Realtime(99), "there is no higher one");
        assert_eq!(rules(Policy::other(-5)).watcher(false), Watcher::Ordinary);
    }
}
