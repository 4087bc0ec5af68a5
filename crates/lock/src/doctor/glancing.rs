//! Glances: the system call in which a thread is blocked, read at single moments.
//! They need no privilege for the user's own programs.

use std::collections::HashMap;

use unjank_host::Root;
use unjank_host::sched::ThreadId;
use unjank_host::waiting_call::{Doing, WaitingCall, doing};

use super::observed::{Glances, ObservedThread, rate};

/// How many threads are glanced at: those that sleep most often.
const MOST: usize = 32;
/// A thread that sleeps less often per second is not glanced at.
const RESTLESS: f64 = 50.0;

/// The threads that are glanced at, with the counts of each.
#[derive(Debug, Default)]
pub(crate) struct Glancing {
    /// Each with its process.
    of: HashMap<ThreadId, (u32, Glances)>,
}

impl Glancing {
    /// Adds those of these threads that sleep most often.
    pub(crate) fn choose(&mut self, seen: impl Iterator<Item = ObservedThread>) {
        let sleeps = |it: &ObservedThread| rate(it.voluntary, it.watched);
        let mut restless: Vec<ObservedThread> =
            seen.filter(|it| sleeps(it) >= RESTLESS && !self.of.contains_key(&it.thread)).collect();
        restless.sort_by(|one, other| sleeps(other).total_cmp(&sleeps(one)));
        let room = MOST.saturating_sub(self.of.len());
        let new = restless.into_iter().take(room);
        let new = new.map(|it| (it.thread, (it.owner.process, Glances::default())));
        self.of.extend(new);
    }

    /// Glances at each of them.
    pub(crate) fn glance(&mut self, root: &Root) {
        for (thread, (process, glances)) in &mut self.of {
            let Some(doing) = doing(root, *process, *thread) else { continue };
            glances.all += 1;
            match doing {
                Doing::Waiting(WaitingCall::Sleep) => glances.sleeps += 1,
                Doing::Waiting(WaitingCall::Poll) => glances.polls += 1,
                Doing::Waiting(WaitingCall::Wait(_)) => glances.waits += 1,
                Doing::Running | Doing::Waiting(_) | Doing::Else => {}
            }
        }
    }

    /// The counts of a thread.
    pub(crate) fn of(&self, thread: ThreadId) -> Glances {
        self.of.get(&thread).map(|(_, glances)| *glances).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use unjank_host::Nanos;

    use super::super::observed::Owner;

    use super::*;

    #[test]
    fn threads_that_sleep_often_are_glanced_at() {
        let top = tempfile::tempdir().unwrap();
        let root = Root::at(top.path());
        let task = top.path().join("proc/7/task/9");
        fs::create_dir_all(&task).unwrap();
        let second = |thread, voluntary| ObservedThread {
            watched: Nanos::from_millis(1_000),
            voluntary,
            owner: Owner { process: 7, ..Owner::default() },
            ..ObservedThread::new(ThreadId(thread), "w")
        };
        let mut glancing = Glancing::default();
        glancing.choose([second(8, 49), second(9, 50), second(10, 60)].into_iter());
        for line in ["running", "-1 0x0 0x0"] {
            fs::write(task.join("syscall"), line).unwrap();
            glancing.glance(&root);
        }
        assert_eq!(glancing.of(ThreadId(9)), Glances { all: 2, ..Glances::default() });
        assert_eq!(glancing.of(ThreadId(8)), Glances::default());
        assert_eq!(glancing.of(ThreadId(10)), Glances::default(), "it has ended");
    }
}
