//! The threads of other programs that answered messages.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use unjank_host::sched::ThreadId;
use unjank_units::Nanos;

use super::explained::Explained;
use crate::path::{Activity, Way};

impl Explained {
    /// Threads of other programs on the path whose messages it waited for: first those
    /// that waited longest for a CPU meanwhile.
    pub fn servers(&self) -> Vec<ThreadId> {
        let mut delayed: BTreeMap<ThreadId, Nanos> = BTreeMap::new();
        let of_messages = self.path.segments.iter().filter(|segment| segment.way == Way::Ipc);
        for segment in of_messages.filter(|it| !self.family.contains(&it.thread)) {
            let delay = delayed.entry(segment.thread).or_default();
            if matches!(segment.activity, Activity::RunQueue | Activity::Waking) {
                *delay = *delay + segment.to.since(segment.from);
            }
        }
        let mut servers: Vec<(ThreadId, Nanos)> = delayed.into_iter().collect();
        servers.sort_by_key(|(_, delay)| Reverse(*delay));
        servers.into_iter().map(|(server, _)| server).collect()
    }

    /// Whether a thread belongs to the kernel, as far as the recording tells.
    pub fn is_of_kernel(&self, thread: ThreadId) -> bool {
        self.trace.kernel_threads.contains(&thread)
    }
}
