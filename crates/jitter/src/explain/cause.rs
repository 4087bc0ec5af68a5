//! The cause of one late wake-up: a pure function of a trace.

use unjank_host::sched::ThreadId;
use unjank_host::tracefs::timeline::{Span, ThreadState, Timeline, follow, follow_woken};
use unjank_host::tracefs::{Event, EventKind, Occupant, Trace, WakeUp};
use unjank_host::{Nanos, Support, Timestamp};

/// A wake-up that was late.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LateWakeUp {
    /// The thread that slept.
    pub thread: ThreadId,
    /// The moment for which it asked.
    pub due: Timestamp,
    /// The moment at which it ran, by its own clock read.
    pub ran: Timestamp,
    /// Longest delay that the kernel may add to its timer.
    pub timer_slack: Nanos,
}

/// The three parts of a delay, which add up to it, and their culprits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// Time from the moment it was due until something woke the thread.
    pub timer_late: Nanos,
    /// The part of `timer_late` that the thread's timer slack allows.
    pub within_slack: Nanos,
    /// The part of `timer_late` after the kernel found the timer expired, if the
    /// trace has `timer/hrtimer_expire_entry`. The rest of `timer_late` was spent
    /// waiting for the interrupt.
    pub since_expiry: Option<Nanos>,
    /// Time for which the thread was ready without a CPU.
    pub waited: Nanos,
    /// Time with a CPU until it was back in user space and had read
    /// the clock, including interrupts.
    pub ran_late: Nanos,
    /// The thread was not asleep when it was due: in `ran_late` it was busy with
    /// something else.
    pub was_busy: bool,
    /// Occupants of the CPU during the delay, longest first.
    pub culprits: Vec<Culprit>,
    /// Whether the trace has the switch to the thread. Without it, `waited`
    /// includes some of `ran_late`.
    pub switch_seen: bool,
}

/// A thread, interrupt or idle state that had the CPU during a delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Culprit {
    /// The occupant of the CPU.
    pub who: Occupant,
    /// The CPU; for a thread that moved, its first one.
    pub cpu: usize,
    /// The part of the delay.
    pub phase: Phase,
    /// Time for which it had the CPU in that part.
    pub held: Nanos,
}

/// A part of a delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// The timer had not fired.
    Timer,
    /// The thread was ready without a CPU.
    Wait,
    /// The thread had the CPU.
    Run,
}

/// Explains a late wake-up from the events of all CPUs, or says what the trace
/// lacks. The trace needs `sched_switch` and `sched_waking`; the other
/// [`cause_events`](super::cause_events) identify more culprits.
pub fn cause_of(trace: &Trace, late: &LateWakeUp) -> Support<Cause> {
    explained(trace, late, follow(trace, late.thread, late.due, late.ran))
}

/// Explains a wake-up that the trace itself has, from the waking to the run.
pub fn cause_of_wait(trace: &Trace, wakeup: &WakeUp) -> Support<Cause> {
    let WakeUp { thread, woken: due, ran, .. } = *wakeup;
    let late = LateWakeUp { thread, due, ran, timer_slack: Nanos::ZERO };
    explained(trace, &late, follow_woken(trace, thread, due, ran))
}

fn explained(
    trace: &Trace,
    late: &LateWakeUp,
    timeline: Result<Timeline, String>,
) -> Support<Cause> {
    let timeline = match timeline {
        Ok(timeline) => timeline,
        Err(reason) => return Support::No(reason),
    };
    if timeline.ends_asleep() {
        return Support::No(format!("the trace has no wake-up of {}", late.thread));
    }
    let mut cause = Cause {
        timer_late: Nanos::ZERO,
        within_slack: Nanos::ZERO,
        since_expiry: None,
        waited: Nanos::ZERO,
        ran_late: Nanos::ZERO,
        was_busy: matches!(
            timeline.spans.first(),
            Some(Span { state: ThreadState::Running { .. }, .. })
        ),
        culprits: Vec::new(),
        switch_seen: timeline.switch_seen,
    };
    for span in &timeline.spans {
        let length = span.length();
        let (total, phase, cpu) = match span.state {
            ThreadState::Asleep { woken_on } => (&mut cause.timer_late, Phase::Timer, woken_on),
            ThreadState::Ready { cpu } => (&mut cause.waited, Phase::Wait, Some(cpu)),
            ThreadState::Running { cpu } => (&mut cause.ran_late, Phase::Run, Some(cpu)),
        };
        *total = *total + length;
        if let ThreadState::Asleep { woken_on: Some(cpu) } = span.state {
            cause.since_expiry = expiry(trace, cpu, span).map(|at| span.to.since(at));
        }
        if let Some(cpu) = cpu {
            cause.blame(trace, late.thread, span, phase, cpu);
        }
    }
    cause.within_slack = cause.timer_late.min(late.timer_slack);
    cause.culprits.sort_by_key(|culprit| std::cmp::Reverse(culprit.held));
    Support::Yes(cause)
}

/// When the kernel found the timer that ended the span expired. A timer wakes
/// its thread in its own callback, so it is the last one that expired on that CPU.
fn expiry(trace: &Trace, cpu: usize, asleep: &Span) -> Option<Timestamp> {
    let events = trace.cpu(cpu)?.events_in(asleep.from, asleep.to);
    let expired = |event: &Event| matches!(event.kind, EventKind::TimerExpires { .. });
    events.rev().find(expired).map(|event| event.at)
}

impl Cause {
    /// The whole delay: the sum of its three parts.
    pub fn late(&self) -> Nanos {
        self.timer_late + self.waited + self.ran_late
    }

    /// Adds the occupants of the CPU during a span, except the thread itself.
    fn blame(&mut self, trace: &Trace, thread: ThreadId, span: &Span, phase: Phase, cpu: usize) {
        let Some(events) = trace.cpu(cpu) else { return };
        for stretch in events.between(span.from, span.to) {
            let who = stretch.who;
            if matches!(who, Occupant::Thread(task) if task.tid == thread) {
                continue;
            }
            // A culprit thread may move along; idle states are counted for each CPU.
            let known = self.culprits.iter_mut().find(|known| {
                let same_cpu = known.cpu == cpu || !matches!(who, Occupant::Idle(_));
                known.phase == phase && same_cpu && known.who.is_same(&who)
            });
            match known {
                Some(known) => known.held = known.held + stretch.length(),
                None => self.culprits.push(Culprit { who, cpu, phase, held: stretch.length() }),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::tracefs::script::{Script, at};

    use super::*;

    fn late(due: u64, ran: u64) -> LateWakeUp {
        LateWakeUp { thread: ThreadId(7), due: at(due), ran: at(ran), timer_slack: Nanos::ZERO }
    }

    fn cause(script: &Script, due: u64, ran: u64) -> Cause {
        let cause = cause_of(&script.trace(), &late(due, ran)).yes().unwrap();
        assert_eq!(cause.late(), Nanos(ran - due));
        cause
    }

    fn culprits(cause: &Cause) -> Vec<(String, Phase, u64)> {
        let plain =
            |culprit: &Culprit| (culprit.who.to_string(), culprit.phase, culprit.held.get());
        cause.culprits.iter().map(plain).collect()
    }

    fn culprit(name: &str, phase: Phase, held: u64) -> (String, Phase, u64) {
        (name.to_owned(), phase, held)
    }

    #[test]
    fn a_hog_is_named_and_its_interrupts_are_not_blamed_on_it() {
        let script = Script::new()
            .sleeps(1, 10, 7, 9)
            .wakes(1, 100, 7, 1)
            .interrupts(1, 200, 250)
            .runs(1, 400, 9, 7);
        let cause = cause(&script, 90, 410);
        let parts = (cause.timer_late, cause.waited, cause.ran_late);
        assert_eq!(parts, (Nanos(10), Nanos(300), Nanos(10)));
        assert_eq!(
            culprits(&cause),
            [
                culprit("hog", Phase::Wait, 250),
                culprit("irq 24 (disk)", Phase::Wait, 50),
                culprit("hog", Phase::Timer, 10),
            ]
        );
        assert!(cause.switch_seen);
    }

    #[test]
    fn each_queue_of_a_thread_that_moved_has_its_culprits() {
        let script = Script::new()
            .sleeps(1, 10, 7, 9)
            .runs(2, 10, 0, 5)
            .wakes(1, 100, 7, 1)
            .migrates(0, 160, 7, 1, 2)
            .runs(2, 200, 5, 7);
        let cause = cause(&script, 100, 200);
        assert_eq!(
            culprits(&cause),
            [culprit("hog", Phase::Wait, 60), culprit("t5", Phase::Wait, 40),]
        );
        assert_eq!([cause.culprits[0].cpu, cause.culprits[1].cpu], [1, 2]);
    }

    #[test]
    fn idleness_is_not_a_thread() {
        let script = Script::new()
            .sleeps(1, 10, 7, 0)
            .idles(1, 11, Some(2))
            .wakes(1, 190, 7, 1)
            .idles(1, 195, None)
            .runs(1, 200, 0, 7);
        let cause = cause(&script, 100, 200);
        assert_eq!(cause.timer_late, Nanos(90));
        assert_eq!(cause.culprits[0].who, Occupant::Idle(Some(2)));
        assert_eq!(cause.culprits[0].phase, Phase::Timer);
    }

    #[test]
    fn an_interrupt_delays_a_thread_that_has_the_cpu() {
        let script = Script::new()
            .sleeps(1, 10, 7, 0)
            .wakes(1, 100, 7, 1)
            .runs(1, 110, 0, 7)
            .interrupts(1, 120, 180);
        let cause = cause(&script, 100, 200);
        assert_eq!((cause.waited, cause.ran_late), (Nanos(10), Nanos(90)));
        assert_eq!(culprits(&cause)[0], culprit("irq 24 (disk)", Phase::Run, 60));
    }

    #[test]
    fn a_thread_that_did_not_sleep_was_busy() {
        let script = Script::new().runs(1, 10, 0, 7).runs(1, 150, 7, 9).runs(1, 160, 9, 7);
        let cause = cause(&script, 100, 200);
        assert!(cause.was_busy);
        assert_eq!((cause.waited, cause.ran_late), (Nanos(10), Nanos(90)));
    }

    #[test]
    fn time_after_the_expiry_is_separate_from_a_late_interrupt() {
        let script = Script::new()
            .sleeps(1, 10, 7, 0)
            .expires(1, 120)
            .expires(1, 150)
            .wakes(1, 160, 7, 1)
            .expires(1, 165)
            .runs(1, 170, 0, 7);
        let split = cause(&script, 100, 170);
        assert_eq!((split.timer_late, split.since_expiry), (Nanos(60), Some(Nanos(10))));
        let blind = Script::new().sleeps(1, 10, 7, 0).wakes(1, 160, 7, 1).runs(1, 170, 0, 7);
        assert_eq!(cause(&blind, 100, 170).since_expiry, None);
    }

    #[test]
    fn slack_is_separate_from_lateness() {
        let script = Script::new().sleeps(1, 10, 7, 0).wakes(1, 160, 7, 1).runs(1, 170, 0, 7);
        let late = LateWakeUp { timer_slack: Nanos(50), ..late(100, 170) };
        let cause = cause_of(&script.trace(), &late).yes().unwrap();
        assert_eq!((cause.timer_late, cause.within_slack), (Nanos(60), Nanos(50)));
    }

    #[test]
    fn an_insufficient_trace_gives_the_reason() {
        let lost = Script::new().wakes(1, 100, 7, 1).runs(1, 400, 9, 7).loses(2, 300, 301);
        let answer = cause_of(&lost.trace(), &late(90, 410));
        assert_eq!(answer.reason(), Some("the trace lost events here"));
        let blind = Script::new().sleeps(1, 10, 7, 9).runs(1, 400, 9, 7);
        let answer = cause_of(&blind.trace(), &late(90, 410));
        assert_eq!(answer.reason(), Some("the trace has no wake-up of thread 7"));
    }

    #[derive(Debug, Clone, Copy)]
    enum Step {
        Runs(u32, u32),
        Sleeps(u32, u32),
        Wakes(u32, usize),
        Migrates(u32, usize),
        Interrupts,
    }

    fn step() -> impl proptest::strategy::Strategy<Value = Step> {
        use proptest::prelude::*;
        let tid = || prop_oneof![Just(0_u32), Just(7), Just(9)];
        prop_oneof![
            (tid(), tid()).prop_map(|(prev, next)| Step::Runs(prev, next)),
            (tid(), tid()).prop_map(|(prev, next)| Step::Sleeps(prev, next)),
            (tid(), 0_usize..4).prop_map(|(tid, cpu)| Step::Wakes(tid, cpu)),
            (tid(), 0_usize..4).prop_map(|(tid, cpu)| Step::Migrates(tid, cpu)),
            Just(Step::Interrupts),
        ]
    }

    proptest::proptest! {
        #[test]
        fn the_parts_add_up_whatever_the_trace_says(
            events in proptest::collection::vec((0_usize..3, 1_u64..20, step()), 0..30),
            due in 0_u64..200,
            length in 0_u64..200,
        ) {
            let mut now = 0;
            let mut script = Script::new();
            for (cpu, pause, step) in events {
                now += pause;
                script = match step {
                    Step::Runs(prev, next) => script.runs(cpu, now, prev, next),
                    Step::Sleeps(prev, next) => script.sleeps(cpu, now, prev, next),
                    Step::Wakes(tid, queue) => script.wakes(cpu, now, tid, queue),
                    Step::Migrates(tid, to) => script.migrates(cpu, now, tid, cpu, to),
                    Step::Interrupts => script.interrupts(cpu, now, now + 1),
                };
            }
            if let Support::Yes(cause) = cause_of(&script.trace(), &late(due, due + length)) {
                proptest::prop_assert_eq!(cause.late(), Nanos(length));
                for phase in [Phase::Timer, Phase::Wait, Phase::Run] {
                    let total = match phase {
                        Phase::Timer => cause.timer_late,
                        Phase::Wait => cause.waited,
                        Phase::Run => cause.ran_late,
                    };
                    let blamed = cause.culprits.iter().filter(|culprit| culprit.phase == phase);
                    let blamed = blamed.fold(Nanos::ZERO, |sum, culprit| sum + culprit.held);
                    proptest::prop_assert!(blamed <= total);
                }
                proptest::prop_assert!(!cause.to_string().is_empty());
            }
        }
    }
}
