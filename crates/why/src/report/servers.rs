//! The other programs that answered messages.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use unjank_host::sched::ThreadId;
use unjank_units::Nanos;

use super::explained::{Explained, Server};
use super::names::thread_name;
use crate::path::{Activity, Way};

impl Explained {
    /// Threads of other programs on the path whose messages it waited for, without kernel
    /// threads. Those that waited longest for a CPU meanwhile come first.
    pub fn servers(&self) -> Vec<ThreadId> {
        let mut delayed: BTreeMap<ThreadId, Nanos> = BTreeMap::new();
        let of_messages = self.path.segments.iter().filter(|segment| segment.way == Way::Ipc);
        let is_server = |thread| !self.family.contains(&thread) && !self.history.is_kernel(thread);
        for segment in of_messages.filter(|it| is_server(it.thread)) {
            let delay = delayed.entry(segment.thread).or_default();
            if matches!(segment.activity, Activity::RunQueue | Activity::Waking) {
                *delay = *delay + segment.to.since(segment.from);
            }
        }
        let mut servers: Vec<(ThreadId, Nanos)> = delayed.into_iter().collect();
        servers.sort_by_key(|(_, delay)| Reverse(*delay));
        servers.into_iter().map(|(server, _)| server).collect()
    }

    /// Sets the process that can be given a CPU before other programs: that of the first of
    /// [`servers`](Self::servers) that still runs.
    pub fn served_by(&mut self, server: Server) {
        self.server = Some(server);
    }

    /// The process of the server that can be given a CPU before other programs.
    pub fn server(&self) -> Option<u32> {
        self.server.as_ref().map(|server| server.process)
    }

    /// The threads of that process. If the process is not known: the threads of
    /// [`servers`](Self::servers) that are of one process with the first of them, by the births
    /// in the trace.
    pub(super) fn threads_of_server(&self) -> BTreeSet<ThreadId> {
        if let Some(server) = &self.server {
            return server.threads.clone();
        }
        let process = |thread: &ThreadId| self.history.first_of_process(*thread, self.to);
        let servers = self.servers();
        let of_first = servers.first().map(process);
        servers.into_iter().filter(|thread| Some(process(thread)) == of_first).collect()
    }

    /// The name of the thread of that process that waited longest for a CPU.
    pub(super) fn server_name(&self) -> Option<String> {
        let threads = self.threads_of_server();
        let first = self.servers().into_iter().find(|thread| threads.contains(thread))?;
        Some(thread_name(&self.history, first))
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::tracefs::script::{Script, at};
    use unjank_host::tracefs::{Context, EventKind, SystemCall, Trace};

    use super::*;
    use crate::report::Clocks;

    fn calls(number: i64) -> EventKind {
        EventKind::SystemCall(SystemCall::Begins { number, arguments: [0; 6] })
    }

    /// 7 waits for a message of 9, which waits for 4, which waits 100 ns for a CPU; then for
    /// one of 11, which waits 30 ns for a CPU.
    fn asks() -> Explained {
        let read = || calls(libc::SYS_read);
        let write = || calls(libc::SYS_write);
        let script = Script::new()
            .runs(0, 0, 0, 7)
            .runs(1, 0, 0, 9)
            .runs(2, 0, 0, 4)
            .happens(0, 90, Context::Thread, read())
            .sleeps(0, 100, 7, 0)
            .sleeps(1, 110, 9, 0)
            .runs(2, 150, 4, 5)
            .runs(2, 250, 5, 4)
            .wakes(2, 300, 9, 1)
            .runs(1, 310, 0, 9)
            .happens(1, 390, Context::Thread, write())
            .wakes(1, 400, 7, 0)
            .runs(0, 400, 0, 7)
            .happens(0, 410, Context::Thread, read())
            .sleeps(0, 420, 7, 0)
            .wakes(1, 450, 11, 2)
            .runs(2, 480, 4, 11)
            .happens(2, 490, Context::Thread, write())
            .wakes(2, 500, 7, 0)
            .runs(0, 500, 0, 7)
            .sleeps(0, 600, 7, 0);
        let trace = Trace { kernel_threads: vec![ThreadId(4)], ..script.trace() };
        Explained::new(trace, ThreadId(7), (at(0), at(600)), Clocks::default())
    }

    #[test]
    fn a_thread_of_the_kernel_is_no_server() {
        assert_eq!(asks().servers(), [11, 9].map(ThreadId));
    }

    #[test]
    fn one_process_is_the_server() {
        let mut launch = asks();
        assert_eq!(launch.threads_of_server(), [ThreadId(11)].into());
        let threads = BTreeSet::from([9, 10].map(ThreadId));
        launch.served_by(Server { process: 9, threads: threads.clone() });
        assert_eq!((launch.server(), launch.threads_of_server()), (Some(9), threads));
        assert_eq!(launch.server_name().as_deref(), Some("hog (9)"));
    }
}
