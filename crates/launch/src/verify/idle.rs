//! Idle times of CPUs in the kernel's accounting, derived from a trace.
//!
//! An interrupt suspends the idle time that governors see until it is over,
//! softirqs included. An interrupt that wakes a task ends it for good, before the
//! switch to that task (`tick_irq_enter`, `tick_irq_exit`, `kernel/softirq.c` and
//! `kernel/time/tick-sched.c`, 6.12). A tick that wakes a task takes some 30 µs in
//! the virtual phone, half a percent of a window with a tick every 4 ms.

use unjank_host::Nanos;
use unjank_host::tracefs::EventKind;

use crate::model::simulate::replay::CpuEvent;

/// Where idle begins. The trace does not show it: some microseconds after the
/// switch to the idle task, and before its loop halts the CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum IdleBegins {
    /// As early as possible.
    #[default]
    AtSwitch,
    /// As late as possible: at the halt, also after an interrupt.
    AtHalt,
}

/// The idle state of one CPU.
#[derive(Debug, Clone, Default)]
pub(super) struct IdleTime {
    begins: IdleBegins,
    /// Whether the idle task has the CPU.
    idle: bool,
    in_softirq: bool,
    /// When an interrupt of idle was over. The next event shows whether the CPU
    /// was idle from then on.
    over: Option<Nanos>,
}

impl IdleTime {
    pub(super) fn new(idle: bool, begins: IdleBegins) -> Self {
        Self { begins, idle, ..Self::default() }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.idle
    }

    /// Translates an event for its CPU. The result may belong to an earlier
    /// moment.
    pub(super) fn on(
        &mut self,
        at: Nanos,
        event: &EventKind,
        emit: &mut impl FnMut(Nanos, CpuEvent),
    ) {
        match event {
            EventKind::Switch { prev, next, .. } => {
                emit(
                    at,
                    match (prev.is_idle(), next.is_idle()) {
                        (true, false) => CpuEvent::Runs,
                        (false, true) if self.begins == IdleBegins::AtSwitch => CpuEvent::Idles,
                        _ => CpuEvent::Switches,
                    },
                );
                // An interrupt that is over has woken the task that runs now.
                *self = Self::new(next.is_idle(), self.begins);
            }
            EventKind::VectorEntry(_) | EventKind::IrqEntry(_) if self.idle && !self.in_softirq => {
                self.resume(emit);
                emit(at, CpuEvent::Interrupted);
            }
            EventKind::VectorExit(_) | EventKind::IrqExit(_) if self.idle && !self.in_softirq => {
                self.over = Some(at);
            }
            EventKind::SoftirqEntry(_) => {
                self.in_softirq = true;
                // A softirq raised by the interrupt prolongs it.
                if self.idle && self.over.take().is_none() {
                    emit(at, CpuEvent::Interrupted);
                }
            }
            EventKind::SoftirqExit(_) => {
                self.in_softirq = false;
                self.over = self.idle.then_some(at);
            }
            EventKind::Idle(Some(_)) if self.idle => match self.begins {
                IdleBegins::AtSwitch => self.resume(emit),
                IdleBegins::AtHalt => emit(at, CpuEvent::Resumes),
            },
            _ => {}
        }
    }

    /// If an interrupt is over, the CPU was idle again since then.
    pub(super) fn resume(&mut self, emit: &mut impl FnMut(Nanos, CpuEvent)) {
        let over = self.over.take().filter(|_| self.begins == IdleBegins::AtSwitch);
        if let Some(over) = over {
            emit(over, CpuEvent::Resumes);
        }
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::tracefs::{PrevState, Softirq, script::task};

    use super::*;

    const TIMER: &str = "local_timer";

    fn switch(prev: u32, next: u32) -> EventKind {
        EventKind::Switch { prev: task(prev), prev_state: PrevState::Asleep, next: task(next) }
    }

    /// Translates events of a CPU that is idle at first.
    fn translated(events: &[(u64, EventKind)]) -> Vec<(u64, CpuEvent)> {
        translated_from(IdleBegins::AtSwitch, events)
    }

    fn translated_from(begins: IdleBegins, events: &[(u64, EventKind)]) -> Vec<(u64, CpuEvent)> {
        let mut cpu = IdleTime::new(true, begins);
        let mut translated = Vec::new();
        for (at, event) in events {
            cpu.on(Nanos(*at), event, &mut |at, cpu_event| translated.push((at.0, cpu_event)));
        }
        translated
    }

    #[test]
    fn an_interrupt_that_wakes_no_task_suspends_idle() {
        let events = [
            (10, EventKind::VectorEntry(TIMER.into())),
            (12, EventKind::VectorExit(TIMER.into())),
            (13, EventKind::Idle(Some(1))),
        ];
        assert_eq!(translated(&events), [(10, CpuEvent::Interrupted), (12, CpuEvent::Resumes)]);
        // Without events of the idle loop, the next interrupt shows it.
        let events = [events[0], events[1], (20, EventKind::VectorEntry(TIMER.into()))];
        assert_eq!(
            translated(&events),
            [(10, CpuEvent::Interrupted), (12, CpuEvent::Resumes), (20, CpuEvent::Interrupted)]
        );
    }

    #[test]
    fn softirqs_belong_to_the_interrupt_that_raised_them() {
        let events = [
            (10, EventKind::VectorEntry(TIMER.into())),
            (12, EventKind::VectorExit(TIMER.into())),
            (13, EventKind::SoftirqEntry(Softirq(1))),
            // A nested interrupt changes nothing.
            (14, EventKind::VectorEntry("irq_work".into())),
            (15, EventKind::VectorExit("irq_work".into())),
            (18, EventKind::SoftirqExit(Softirq(1))),
            (19, EventKind::SoftirqEntry(Softirq(9))),
            (25, EventKind::SoftirqExit(Softirq(9))),
            (26, EventKind::Idle(Some(1))),
        ];
        assert_eq!(translated(&events), [(10, CpuEvent::Interrupted), (25, CpuEvent::Resumes)]);
    }

    #[test]
    fn an_interrupt_that_wakes_a_task_ends_idle() {
        let events = [
            (10, EventKind::VectorEntry(TIMER.into())),
            (12, EventKind::VectorExit(TIMER.into())),
            (13, EventKind::Idle(None)),
            (40, switch(0, 7)),
            (50, EventKind::VectorEntry(TIMER.into())),
            (52, EventKind::VectorExit(TIMER.into())),
            (60, switch(7, 9)),
            (70, switch(9, 0)),
        ];
        assert_eq!(
            translated(&events),
            [
                (10, CpuEvent::Interrupted),
                (40, CpuEvent::Runs),
                (60, CpuEvent::Switches),
                (70, CpuEvent::Idles),
            ]
        );
    }

    #[test]
    fn idle_may_begin_at_the_halt() {
        let events = [
            (10, EventKind::VectorEntry(TIMER.into())),
            (12, EventKind::VectorExit(TIMER.into())),
            (15, EventKind::Idle(Some(1))),
            (30, EventKind::VectorEntry(TIMER.into())),
            (32, EventKind::VectorExit(TIMER.into())),
            (40, switch(0, 7)),
            (70, switch(7, 0)),
            (76, EventKind::Idle(Some(1))),
        ];
        assert_eq!(
            translated_from(IdleBegins::AtHalt, &events),
            [
                (10, CpuEvent::Interrupted),
                (15, CpuEvent::Resumes),
                (30, CpuEvent::Interrupted),
                (40, CpuEvent::Runs),
                (70, CpuEvent::Switches),
                (76, CpuEvent::Resumes),
            ]
        );
    }
}
