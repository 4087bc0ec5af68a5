//! Names of threads replaced by hashes, for recordings that leave the machine.

use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;

use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{Comm, Event, EventKind, StorageEvent, Task, Trace};

/// Replaces names by hashes with a key that is new for each process, so that equal names stay equal
/// within the incidents of one start of the service, and nobody can try names.
#[derive(Debug, Clone, Default)]
pub struct Redaction(RandomState);

impl Redaction {
    /// Replaces the names of all threads but kernel threads, whose names say nothing of the user.
    pub fn apply(&self, trace: &mut Trace) {
        let kernel: HashSet<ThreadId> = trace.kernel_threads.iter().copied().collect();
        let task = |task: Task| {
            let is_public = task.is_idle() || kernel.contains(&task.tid);
            if is_public { task } else { Task { comm: self.hashed(task.comm), ..task } }
        };
        for cpu in &mut trace.cpus {
            let redacted = cpu.events.iter().map(|event| {
                let kind = match event.kind {
                    EventKind::Switch { prev, prev_state, next } => {
                        EventKind::Switch { prev: task(prev), prev_state, next: task(next) }
                    }
                    EventKind::Waking { task: woken, cpu } => {
                        EventKind::Waking { task: task(woken), cpu }
                    }
                    EventKind::Wakeup { task: woken, cpu } => {
                        EventKind::Wakeup { task: task(woken), cpu }
                    }
                    EventKind::Migrate { task: moved, from, to } => {
                        EventKind::Migrate { task: task(moved), from, to }
                    }
                    EventKind::Storage(StorageEvent::Executed { process, before, program }) => {
                        let program = self.hashed(program);
                        EventKind::Storage(StorageEvent::Executed { process, before, program })
                    }
                    other => other,
                };
                Event { kind, ..event }
            });
            cpu.events = redacted.collect();
        }
        for (_, name) in trace.names.iter_mut().filter(|(thread, _)| !kernel.contains(thread)) {
            *name = self.hashed(*name);
        }
    }

    fn hashed(&self, name: Comm) -> Comm {
        let hash = self.0.hash_one(name.as_bytes());
        Comm::from(format!("t-{:08x}", hash as u32).as_str())
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::tracefs::script::Script;

    use super::*;

    #[test]
    fn equal_names_stay_equal_and_none_is_left() {
        let mut trace = Script::new().runs(0, 0, 0, 7).runs(0, 10, 7, 9).runs(0, 20, 9, 7).trace();
        trace.kernel_threads = vec![ThreadId(9)];
        Redaction::default().apply(&mut trace);
        let names: Vec<String> = trace.cpus[0]
            .events
            .iter()
            .filter_map(|event| match event.kind {
                EventKind::Switch { next, .. } => Some(next.comm.to_string()),
                _ => None,
            })
            .collect();
        assert_eq!(names[0], names[2]);
        assert!(names[0].starts_with("t-"), "{names:?}");
        assert_eq!(names[1], "hog", "a thread of the kernel");
    }
}
