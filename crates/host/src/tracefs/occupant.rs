//! The occupant of a CPU.

use std::fmt;

use super::event::{Irq, Softirq, Task};
use super::name::Label;
use crate::clock::Timestamp;
use unjank_units::Nanos;

/// A span in which one occupant had a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// When the occupant got the CPU, or the start of the window.
    pub from: Timestamp,
    /// When another occupant got the CPU, or the end of the window.
    pub to: Timestamp,
    /// The thread, interrupt or idle state that had the CPU.
    pub who: Occupant,
}

/// A thread, interrupt or idle state that has a CPU at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Occupant {
    /// A thread other than the CPU's idle task.
    Thread(Task),
    /// Nothing: the CPU is idle, in this idle state if the trace has it.
    Idle(Option<u32>),
    /// A handler of an interrupt.
    Irq(Irq),
    /// One of the processor's own interrupts, such as `local_timer`.
    Vector(Label),
    /// A soft interrupt: `irq/softirq_entry`.
    Softirq(Softirq),
}

impl Stretch {
    /// The time from start to end.
    pub fn length(&self) -> Nanos {
        self.to.since(self.from)
    }
}

impl Occupant {
    /// Whether both are the same thread or interrupt, regardless of the
    /// thread's name and priority at the time.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Thread(one), Self::Thread(two)) => one.tid == two.tid,
            _ => self == other,
        }
    }
}

/// `kworker/0:1`, `idle`, `irq 24 (virtio0-input)`, `local_timer interrupt`,
/// `softirq NET_RX`.
impl fmt::Display for Occupant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Thread(task) => write!(f, "{task}"),
            Self::Idle(None) => write!(f, "idle"),
            Self::Idle(Some(state)) => write!(f, "idle state {state}"),
            Self::Irq(irq) => write!(f, "{irq}"),
            Self::Vector(name) => write!(f, "{name} interrupt"),
            Self::Softirq(softirq) => write!(f, "{softirq}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sched::ThreadId;

    #[test]
    fn a_thread_stays_the_same_when_its_name_and_priority_change() {
        let thread = |tid, name: &str, prio| {
            Occupant::Thread(Task { tid: ThreadId(tid), comm: name.into(), prio })
        };
        assert!(thread(7, "sh", 120).is_same(&thread(7, "make", 110)));
        assert!(!thread(7, "sh", 120).is_same(&thread(8, "sh", 120)));
        assert!(!Occupant::Idle(None).is_same(&Occupant::Idle(Some(1))));
    }

    #[test]
    fn each_has_a_readable_name() {
        let timer = Occupant::Vector("local_timer".into());
        assert_eq!(timer.to_string(), "local_timer interrupt");
        assert_eq!(Occupant::Idle(Some(2)).to_string(), "idle state 2");
        let nameless = Task { tid: ThreadId(7), comm: "".into(), prio: 0 };
        assert_eq!(Occupant::Thread(nameless).to_string(), "thread 7");
    }
}
