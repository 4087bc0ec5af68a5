//! Finds launches of programs behind wrappers. A pure state machine.
//!
//! A user often starts a wrapper. It becomes the intended program by execve(2) (`env`, `nice`,
//! `setsid`, a script's `exec`), or starts it and waits (`timeout`, `sudo`). So the mark of a
//! launch is held back until its program has not changed for a while.

use std::collections::HashMap;

use unjank_host::tracefs::Comm;
use unjank_host::{Nanos, Timestamp};

/// A program that has not changed for this time is the intended one.
const HELD: Nanos = Nanos::from_millis(2_000);
/// The maximum number of events that are held back for a mark.
const MAX_HELD: usize = 1 << 18;
/// Wrappers that start the intended program as their child and do nothing else.
const STARTERS: [&[u8]; 10] = [
    b"timeout", b"time", b"setsid", b"sudo", b"doas", b"runuser", b"unshare", b"nsenter", b"flock",
    b"strace",
];

/// Launched programs that have not ended.
#[derive(Debug, Default)]
pub(super) struct Launches {
    roles: HashMap<u32, Role>,
    pending: Vec<Pending>,
}

/// The role of a process in a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Launched,
    /// A wrapper whose child has taken over the launch.
    Starter,
}

/// A launch whose program may still change.
#[derive(Debug)]
struct Pending {
    /// The index of the mark among the events that are not written yet.
    index: usize,
    process: u32,
    program: Comm,
    since: Timestamp,
    /// Children of a wrapper that have not executed another program yet.
    children: Vec<u32>,
}

impl Pending {
    fn is_starter(&self) -> bool {
        STARTERS.contains(&self.program.as_bytes())
    }
}

/// The meaning of an execve(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Execution {
    /// A new launch; its mark goes to the given index.
    Launch,
    /// The launch with the mark at this index becomes a launch of this program.
    Becomes(usize),
    /// Neither.
    Other,
}

impl Launches {
    /// Process `parent` started process `child`.
    pub(super) fn started(&mut self, parent: u32, child: u32) {
        self.roles.remove(&child);
        let is_one = |one: &&mut Pending| {
            one.is_starter() && (one.process == parent || one.children.contains(&parent))
        };
        if let Some(pending) = self.pending.iter_mut().find(is_one) {
            pending.children.push(child);
        }
    }

    /// Whether any mark is held back, so that [`started`](Self::started) matters.
    pub(super) fn is_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// `process` executed `program`. `leads` says whether it leads a process group. A mark for a
    /// new launch would be at `index`.
    pub(super) fn executed(
        &mut self,
        at: Timestamp,
        process: u32,
        program: Comm,
        index: usize,
        leads: impl FnOnce(u32) -> bool,
    ) -> Execution {
        let of = |one: &&mut Pending| one.process == process || one.children.contains(&process);
        if let Some(pending) = self.pending.iter_mut().find(of) {
            if pending.process != process {
                self.roles.insert(pending.process, Role::Starter);
                self.roles.insert(process, Role::Launched);
            }
            pending.children.clear();
            (pending.process, pending.program, pending.since) = (process, program, at);
            return Execution::Becomes(pending.index);
        }
        if self.roles.contains_key(&process) || !leads(process) {
            return Execution::Other;
        }
        self.roles.insert(process, Role::Launched);
        self.pending.push(Pending { index, process, program, since: at, children: Vec::new() });
        Execution::Launch
    }

    /// `process` ended. Returns whether it was a launched program.
    pub(super) fn ended(&mut self, process: u32) -> bool {
        for pending in &mut self.pending {
            pending.children.retain(|heir| *heir != process);
        }
        let launched = self.roles.remove(&process) == Some(Role::Launched);
        // The child of a wrapper may be about to execute the intended program.
        let has_children =
            |one: &Pending| one.process == process && one.is_starter() && !one.children.is_empty();
        let hands_over = self.pending.iter().any(has_children);
        if !hands_over {
            self.pending.retain(|pending| pending.process != process);
        }
        launched && !hands_over
    }

    /// How many of `events` events can be written at `now`. Indices no longer count these.
    pub(super) fn settle(&mut self, now: Timestamp, events: usize) -> usize {
        if events > MAX_HELD {
            self.pending.clear();
        }
        self.pending.retain(|pending| now.since(pending.since) < HELD);
        let done = self.pending.iter().map(|pending| pending.index).min().unwrap_or(events);
        for pending in &mut self.pending {
            pending.index -= done;
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    fn exec(launches: &mut Launches, millis: u64, process: u32, program: &str) -> Execution {
        launches.executed(at(millis), process, program.into(), 7, |process| process < 10)
    }

    #[test]
    fn a_mark_is_held_back_until_its_program_is_stable() {
        let mut launches = Launches::default();
        assert_eq!(exec(&mut launches, 1000, 1, "env"), Execution::Launch);
        assert_eq!(launches.settle(at(2000), 20), 7);
        assert_eq!(exec(&mut launches, 2500, 1, "java"), Execution::Becomes(0));
        assert_eq!(launches.settle(at(4499), 13), 0);
        assert_eq!(launches.settle(at(4500), 13), 13);
        assert_eq!(exec(&mut launches, 9000, 1, "sleep"), Execution::Other, "a script's last line");
        assert!(launches.ended(1));
        assert!(!launches.ended(1));
        assert_eq!(exec(&mut launches, 9000, 11, "date"), Execution::Other, "leads no group");
    }

    #[test]
    fn the_child_of_a_wrapper_takes_over_its_launch() {
        let mut launches = Launches::default();
        assert_eq!(exec(&mut launches, 0, 1, "sudo"), Execution::Launch);
        // A monitor between sudo and the command, and beside it something that only ends.
        launches.started(1, 20);
        launches.started(20, 21);
        launches.started(20, 22);
        assert!(!launches.ended(22));
        assert_eq!(exec(&mut launches, 5, 21, "timeout"), Execution::Becomes(7));
        assert_eq!(
            exec(&mut launches, 6, 20, "date"),
            Execution::Other,
            "its child has taken over"
        );
        launches.started(21, 5);
        assert_eq!(exec(&mut launches, 9, 5, "app"), Execution::Becomes(7));
        launches.started(5, 30);
        assert_eq!(exec(&mut launches, 10, 30, "helper"), Execution::Other);
        assert!(launches.ended(5));
        assert!(!launches.ended(21) && !launches.ended(1), "their child has taken over");
        assert!(!launches.is_pending());
    }

    #[test]
    fn a_wrapper_may_end_before_its_child_executes_the_program() {
        let mut launches = Launches::default();
        assert_eq!(exec(&mut launches, 0, 1, "setsid"), Execution::Launch);
        launches.started(1, 2);
        assert!(!launches.ended(1));
        assert_eq!(exec(&mut launches, 3, 2, "app"), Execution::Becomes(7));
        assert!(launches.ended(2));
        // The child of any other program is no launch.
        assert_eq!(exec(&mut launches, 5, 3, "sh"), Execution::Launch);
        launches.started(3, 40);
        assert_eq!(exec(&mut launches, 6, 40, "ls"), Execution::Other);
        assert!(launches.ended(3));
    }

    #[test]
    fn the_number_of_events_held_back_is_bounded() {
        let mut launches = Launches::default();
        assert_eq!(exec(&mut launches, 0, 1, "app"), Execution::Launch);
        assert_eq!(launches.settle(at(0), MAX_HELD), 7);
        assert_eq!(launches.settle(at(0), MAX_HELD + 1), MAX_HELD + 1);
        assert!(launches.ended(1));
    }
}
