//! The main reason of a late wake-up: the JVM, or the machine.

use std::fmt;

use unjank_host::tracefs::Occupant;
use unjank_host::{Nanos, Timestamp};

use super::recording::{EventKind, JvmEvent, Recording};
use crate::explain::{Cause, Phase};

/// A thread that is ready this long while its CPU is idle counts as throttled.
const THROTTLED: Nanos = Nanos::from_millis(5);

/// The main reason of a late wake-up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The JVM's stop that covers at least half of the delay, else the longest part of the delay.
    pub kind: DelayKind,
    /// The part of the delay that this reason explains.
    pub covers: Nanos,
    /// The whole delay, of which `covers` is a part.
    pub late: Nanos,
}

/// The reason of a delay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DelayKind {
    /// The collector had stopped all Java threads.
    Pause(String),
    /// The VM had stopped them for another operation.
    Safepoint(String),
    /// The thread was ready, and this one had the CPU.
    Preempted(String),
    /// The thread was ready and the CPU idle: real-time throttling
    /// (`sched_rt_runtime_us`).
    Throttled,
    /// The thread was ready and the CPU was slow to leave its idle state.
    LeavingIdle,
    /// An interrupt had the CPU.
    Interrupt(String),
    /// It was not woken: its timer was late, or a wake-up inside the JVM.
    NotWoken,
    /// The thread had the CPU and had not yet read the clock.
    OwnWork,
    /// The JVM had not stopped the thread, and there is no trace.
    NotTheJvm,
}

/// The label of a period's wake-up. If the JVM had stopped its threads for at
/// least half of the delay, the reason is that stop. Otherwise it is the longest
/// part of the delay in the trace, and its culprit.
pub fn label(recording: &Recording, period: usize, late: Nanos, cause: Option<&Cause>) -> Label {
    let due = recording.due(period);
    if let Some((covers, stop)) = stop_of(recording, due, due + late) {
        let name = stop.name.clone();
        let kind = match stop.kind {
            EventKind::Pause => DelayKind::Pause(name),
            _ => DelayKind::Safepoint(name),
        };
        return Label { kind, covers, late };
    }
    let (kind, covers) = match cause {
        Some(cause) => of_the_machine(cause),
        None => (DelayKind::NotTheJvm, Nanos::ZERO),
    };
    Label { kind, covers, late }
}

/// The event that covers at least half of a delay. Pauses of the collector take
/// precedence over the slightly longer safepoints around them.
fn stop_of(recording: &Recording, due: Timestamp, ran: Timestamp) -> Option<(Nanos, &JvmEvent)> {
    // The longest event bounds how early an event that still runs has begun.
    let longest = recording.events.iter().map(|event| event.duration).max()?;
    let after = recording.events.partition_point(|event| event.begin + longest < due);
    let stops = recording.events[after..]
        .iter()
        .take_while(|event| event.begin < ran)
        .filter(|event| event.kind != EventKind::Concurrent)
        .map(|event| (overlap(event, due, ran), event));
    stops
        .filter(|(covers, _)| covers.times(2) >= ran.since(due))
        .max_by_key(|(covers, event)| (event.kind == EventKind::Pause, *covers))
}

fn overlap(event: &JvmEvent, from: Timestamp, to: Timestamp) -> Nanos {
    let end = event.begin + event.duration;
    end.min(to).since(event.begin.max(from))
}

fn of_the_machine(cause: &Cause) -> (DelayKind, Nanos) {
    let parts = [
        (cause.waited, Phase::Wait),
        (cause.ran_late, Phase::Run),
        (cause.timer_late, Phase::Timer),
    ];
    let (length, phase) =
        parts.into_iter().max_by_key(|(length, _)| *length).expect("there are three parts");
    let culprit = cause.culprits.iter().find(|culprit| culprit.phase == phase);
    let kind = match (phase, culprit.map(|culprit| culprit.who)) {
        (_, Some(who @ (Occupant::Irq(_) | Occupant::Vector(_) | Occupant::Softirq(_)))) => {
            DelayKind::Interrupt(who.to_string())
        }
        // A CPU leaves an idle state sooner, unless a hypervisor stalls it.
        (Phase::Wait, Some(Occupant::Idle(_))) if length >= THROTTLED => DelayKind::Throttled,
        (Phase::Wait, Some(Occupant::Idle(_))) => DelayKind::LeavingIdle,
        (Phase::Wait, Some(who)) => DelayKind::Preempted(who.to_string()),
        (Phase::Wait, None) => DelayKind::NotTheJvm,
        (Phase::Run, _) => DelayKind::OwnWork,
        (Phase::Timer, _) => DelayKind::NotWoken,
    };
    (kind, length)
}

impl DelayKind {
    /// The kind without names, for the label `part` of a record.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Pause(_) => "collector pause",
            Self::Safepoint(_) => "safepoint",
            Self::Preempted(_) => "preempted",
            Self::Throttled => "throttled",
            Self::LeavingIdle => "leaving idle",
            Self::Interrupt(_) => "interrupt",
            Self::NotWoken => "not woken",
            Self::OwnWork => "own work",
            Self::NotTheJvm => "not the JVM",
        }
    }
}

/// `collector pause (G1 young), 5.10 ms of 5.61 ms`.
impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            DelayKind::Pause(name) => write!(f, "collector pause ({name})")?,
            DelayKind::Safepoint(name) => write!(f, "safepoint ({name})")?,
            DelayKind::Preempted(who) => write!(f, "preempted by {who}")?,
            DelayKind::Throttled => f.write_str("real-time throttling")?,
            DelayKind::LeavingIdle => f.write_str("leaving idle")?,
            DelayKind::Interrupt(who) => f.write_str(who)?,
            DelayKind::NotWoken => f.write_str("not woken")?,
            DelayKind::OwnWork => f.write_str("own work")?,
            DelayKind::NotTheJvm => return f.write_str("not stopped by the JVM"),
        }
        write!(f, ", {} of {}", self.covers, self.late)
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::sched::ThreadId;
    use unjank_host::tracefs::script::{Script, at};

    use super::*;
    use crate::explain::{LateWakeUp, cause_of};

    fn event(kind: EventKind, begin: u64, duration: u64, name: &str) -> JvmEvent {
        let begin = Timestamp::from_nanos(begin);
        JvmEvent { kind, begin, duration: Nanos(duration), name: name.to_owned() }
    }

    fn labelled(events: Vec<JvmEvent>, late: u64) -> DelayKind {
        let recording = Recording {
            period: Nanos(1_000),
            first_due: Timestamp::from_nanos(10_000),
            lateness: Vec::new(),
            events,
        };
        label(&recording, 2, Nanos(late), None).kind
    }

    #[test]
    fn the_stop_that_covers_most_of_the_delay_is_named() {
        // Due at 12,000.
        let young = event(EventKind::Pause, 11_500, 900, "young");
        let cleanup = event(EventKind::Safepoint, 12_450, 100, "cleanup");
        let concurrent = event(EventKind::Concurrent, 11_000, 9_000, "mark");
        let events = vec![concurrent, young, cleanup];
        assert_eq!(labelled(events.clone(), 500), DelayKind::Pause("young".into()));
        assert_eq!(labelled(events, 900), DelayKind::NotTheJvm, "400 of 900");
    }

    #[test]
    fn a_pause_takes_precedence_over_its_safepoint() {
        let events = vec![
            event(EventKind::Safepoint, 12_000, 500, "G1CollectForAllocation"),
            event(EventKind::Pause, 12_020, 460, "young"),
        ];
        assert_eq!(labelled(events, 500), DelayKind::Pause("young".into()));
    }

    #[test]
    fn a_stop_that_ended_before_is_not_blamed() {
        assert_eq!(
            labelled(vec![event(EventKind::Pause, 0, 11_999, "old")], 10),
            DelayKind::NotTheJvm
        );
        assert_eq!(labelled(Vec::new(), 10), DelayKind::NotTheJvm);
    }

    /// The label of a delay from 90 to 410 without a stop of the JVM.
    fn by_trace(script: &Script) -> String {
        let (due, ran) = (at(90), at(410));
        let late = LateWakeUp { thread: ThreadId(7), due, ran, timer_slack: Nanos::ZERO };
        let cause = cause_of(&script.trace(), &late).yes().unwrap();
        let recording = Recording {
            period: Nanos(1),
            first_due: due,
            lateness: Vec::new(),
            events: Vec::new(),
        };
        label(&recording, 0, Nanos(320), Some(&cause)).to_string()
    }

    #[test]
    fn the_trace_explains_delays_outside_the_jvm() {
        let asleep = || Script::new().sleeps(1, 10, 7, 9);
        let preempted = asleep().wakes(1, 100, 7, 1).runs(1, 400, 9, 7);
        assert_eq!(by_trace(&preempted), "preempted by hog, 300 ns of 320 ns");
        let interrupted = asleep().wakes(1, 100, 7, 1).interrupts(1, 110, 390).runs(1, 400, 9, 7);
        assert_eq!(by_trace(&interrupted), "irq 24 (disk), 300 ns of 320 ns");
        let millis = |millis: u64| millis * 1_000_000;
        let throttled = Script::new()
            .sleeps(1, 10, 7, 9)
            .wakes(1, 100, 7, 1)
            .runs(1, 110, 9, 0)
            .runs(1, millis(50), 0, 7);
        let late = LateWakeUp {
            thread: ThreadId(7),
            due: at(90),
            ran: at(millis(50)),
            timer_slack: Nanos::ZERO,
        };
        let cause = cause_of(&throttled.trace(), &late).yes().unwrap();
        assert_eq!(of_the_machine(&cause).0, DelayKind::Throttled);
        let idle = asleep().wakes(1, 100, 7, 1).runs(1, 110, 9, 0).runs(1, 400, 0, 7);
        assert_eq!(by_trace(&idle), "leaving idle, 300 ns of 320 ns");
        let not_woken = asleep().wakes(1, 390, 7, 1).runs(1, 400, 9, 7);
        assert_eq!(by_trace(&not_woken), "not woken, 300 ns of 320 ns");
        let busy = asleep().wakes(1, 100, 7, 1).runs(1, 110, 9, 7);
        assert_eq!(by_trace(&busy), "own work, 300 ns of 320 ns");
    }
}
