//! Sums up the causes of many late wake-ups.

use std::cmp::Reverse;

use unjank_host::Nanos;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::Occupant;

use super::cause::{Cause, Phase};

/// The parts of many delays, and the threads and interrupts that had the CPU.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Blame {
    /// Number of wake-ups.
    pub wakeups: u64,
    /// Sum of the time for which timers were late.
    pub timer_late: Nanos,
    /// Sum of the time for which threads were ready without a CPU.
    pub waited: Nanos,
    /// Sum of the time for which threads had a CPU and were not back in user space.
    pub ran_late: Nanos,
    /// The culprits, longest first.
    pub culprits: Vec<CulpritTotal>,
}

/// The share of one culprit in one part of the delays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CulpritTotal {
    /// An interrupt, an idle state, or the first thread of this name.
    pub who: Occupant,
    /// The part of the delays.
    pub phase: Phase,
    /// CPU time over all wake-ups.
    pub held: Nanos,
    /// Number of wake-ups that it delayed.
    pub wakeups: u64,
    /// The threads of this name and how long each held the CPU, longest first.
    pub threads: Vec<(ThreadId, Nanos)>,
}

impl Blame {
    /// Sums up causes. Threads of one name are one culprit, such as the many
    /// short processes of a build; so is an interrupt on several CPUs.
    pub fn of<'a>(causes: impl IntoIterator<Item = &'a Cause>) -> Self {
        let mut blame = Self::default();
        for cause in causes {
            blame.wakeups += 1;
            blame.timer_late = blame.timer_late + cause.timer_late;
            blame.waited = blame.waited + cause.waited;
            blame.ran_late = blame.ran_late + cause.ran_late;
            blame.add_culprits(cause);
        }
        blame.culprits.sort_by_key(|total| (Reverse(total.held), total.phase));
        for total in &mut blame.culprits {
            total.threads.sort_by_key(|(_, held)| Reverse(*held));
        }
        blame
    }

    /// The sum of the delays.
    pub fn late(&self) -> Nanos {
        self.timer_late + self.waited + self.ran_late
    }

    /// The share (0–1) of `part` in all delays.
    pub fn share(&self, part: Nanos) -> f64 {
        part.get() as f64 / self.late().get().max(1) as f64
    }

    fn add_culprits(&mut self, cause: &Cause) {
        // On two CPUs, one wake-up may have the same culprit twice.
        let mut counted: Vec<usize> = Vec::new();
        for culprit in &cause.culprits {
            let same = |total: &CulpritTotal| {
                total.phase == culprit.phase && alike(&total.who, &culprit.who)
            };
            let place = self.culprits.iter().position(same).unwrap_or_else(|| {
                let (who, phase) = (culprit.who, culprit.phase);
                let (held, wakeups, threads) = (Nanos::ZERO, 0, Vec::new());
                self.culprits.push(CulpritTotal { who, phase, held, wakeups, threads });
                self.culprits.len() - 1
            });
            let total = &mut self.culprits[place];
            total.held = total.held + culprit.held;
            if let Occupant::Thread(task) = culprit.who {
                match total.threads.iter_mut().find(|(tid, _)| *tid == task.tid) {
                    Some((_, held)) => *held = *held + culprit.held,
                    None => total.threads.push((task.tid, culprit.held)),
                }
            }
            if !counted.contains(&place) {
                counted.push(place);
                total.wakeups += 1;
            }
        }
    }
}

impl CulpritTotal {
    /// The numbers of its threads, in the order of their CPU time:
    /// `4711, 4712, 4713 and 40 more`. `None` for interrupts and idle states.
    pub fn thread_numbers(&self) -> Option<String> {
        const LISTED: usize = 3;
        let numbers: Vec<String> =
            self.threads.iter().take(LISTED).map(|(tid, _)| tid.0.to_string()).collect();
        match self.threads.len().saturating_sub(LISTED) {
            _ if numbers.is_empty() => None,
            0 => Some(numbers.join(", ")),
            more => Some(format!("{} and {more} more", numbers.join(", "))),
        }
    }
}

/// Whether both are the same culprit: the same thread name, interrupt or idle state.
fn alike(one: &Occupant, other: &Occupant) -> bool {
    match (one, other) {
        (Occupant::Thread(a), Occupant::Thread(b)) if a.tid != b.tid => {
            !a.comm.as_bytes().is_empty() && a.comm == b.comm
        }
        _ => one.is_same(other),
    }
}

impl Phase {
    /// Label of the part in a record: `timer late`, `ready`, `running`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Timer => "timer late",
            Self::Wait => "ready",
            Self::Run => "running",
        }
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::sched::ThreadId;
    use unjank_host::tracefs::Task;
    use unjank_host::tracefs::script::{Script, at};

    use super::*;
    use crate::explain::{Culprit, LateWakeUp, cause_of};

    fn cause(script: &Script, due: u64, ran: u64) -> Cause {
        let timer_slack = Nanos::ZERO;
        let late = LateWakeUp { thread: ThreadId(7), due: at(due), ran: at(ran), timer_slack };
        cause_of(&script.trace(), &late).yes().unwrap()
    }

    #[test]
    fn the_same_hog_of_two_wake_ups_is_one_culprit() {
        let script = Script::new()
            .sleeps(1, 10, 7, 9)
            .wakes(1, 100, 7, 1)
            .interrupts(1, 200, 250)
            .runs(1, 400, 9, 7)
            .sleeps(1, 420, 7, 9)
            .wakes(1, 500, 7, 1)
            .runs(1, 600, 9, 7);
        let causes = [cause(&script, 90, 410), cause(&script, 500, 610)];
        let blame = Blame::of(&causes);
        assert_eq!((blame.wakeups, blame.late()), (2, Nanos(430)));
        let parts = (blame.timer_late, blame.waited, blame.ran_late);
        assert_eq!(parts, (Nanos(10), Nanos(400), Nanos(20)));
        let culprits: Vec<_> = blame
            .culprits
            .iter()
            .map(|total| (total.who.to_string(), total.phase, total.held.get(), total.wakeups))
            .collect();
        assert_eq!(
            culprits,
            [
                ("hog".to_owned(), Phase::Wait, 350, 2),
                ("irq 24 (disk)".to_owned(), Phase::Wait, 50, 1),
                ("hog".to_owned(), Phase::Timer, 10, 1),
            ]
        );
        assert!((blame.share(blame.waited) - 400.0 / 430.0).abs() < 1e-9);
        let numbers: Vec<_> = blame.culprits.iter().map(CulpritTotal::thread_numbers).collect();
        assert_eq!(numbers, [Some("9".to_owned()), None, Some("9".to_owned())]);
    }

    #[test]
    fn the_longest_threads_of_a_name_are_listed_and_the_others_counted() {
        let named = |tid| Task { tid: ThreadId(tid), comm: "cc1".into(), prio: 120 };
        let culprit = |tid, held| Culprit {
            who: Occupant::Thread(named(tid)),
            cpu: 1,
            phase: Phase::Wait,
            held: Nanos(held),
        };
        let cause = |culprits| Cause {
            timer_late: Nanos::ZERO,
            within_slack: Nanos::ZERO,
            since_expiry: None,
            waited: Nanos(1_000),
            ran_late: Nanos::ZERO,
            was_busy: false,
            culprits,
            switch_seen: true,
        };
        let one = cause(vec![culprit(21, 400), culprit(22, 300), culprit(23, 200)]);
        let other = cause(vec![culprit(24, 350), culprit(22, 150), culprit(25, 10)]);
        let blame = Blame::of([&one, &other]);
        let [only] = blame.culprits.as_slice() else { panic!("{blame:?}") };
        assert_eq!((only.held, only.wakeups), (Nanos(1_410), 2));
        assert_eq!(only.thread_numbers().as_deref(), Some("22, 21, 24 and 2 more"));
    }

    #[test]
    fn threads_of_one_name_are_one_culprit() {
        let thread = |tid, name: &str| {
            Occupant::Thread(Task { tid: ThreadId(tid), comm: name.into(), prio: 120 })
        };
        assert!(alike(&thread(7, "cc1"), &thread(8, "cc1")));
        assert!(alike(&thread(7, "sh"), &thread(7, "make")));
        assert!(!alike(&thread(7, ""), &thread(8, "")));
        assert!(!alike(&thread(7, "idle"), &Occupant::Idle(None)));
    }

    #[test]
    fn no_causes_give_no_culprits() {
        let nothing = Blame::of(&[]);
        assert_eq!(nothing, Blame::default());
        assert!(nothing.share(Nanos::ZERO).abs() < 1e-9);
    }
}
