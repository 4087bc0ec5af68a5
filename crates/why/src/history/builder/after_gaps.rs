//! The state of threads after events of a CPU were lost, or where a switch is missing.

use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{Event, EventKind};

use super::super::span::State;
use super::super::wait::Wait;
use super::Builder;

impl Builder {
    /// A CPU has an event. If others were lost before it, the event's current thread has the CPU
    /// since the end of the gap, and the thread that had the CPU before has left it.
    pub(super) fn resumes(&mut self, place: usize, event: &Event) {
        let of_cpu = &mut self.cpus[place];
        let (cpu, before) = (of_cpu.number, of_cpu.thread);
        let gap = self.gaps.ended(cpu, of_cpu.last, event.at);
        let calls = self.call_gaps.are_between(cpu, of_cpu.last, event.at);
        of_cpu.last = event.at;
        of_cpu.thread = Some(match event.kind {
            EventKind::Switch { next, .. } => next.tid,
            _ => event.current,
        });
        if calls && event.current != ThreadId(0) {
            self.thread(event.current).may_have_called();
        }
        let is_other = before.is_some_and(|before| before != event.current);
        if gap.is_some() || is_other {
            let of_cpu = &mut self.cpus[place];
            (of_cpu.completes, of_cpu.wakes) = (None, None);
        }
        let Some(gap) = gap else {
            self.has_left(before.filter(|_| is_other), cpu, event.at);
            return;
        };
        let of_cpu = &mut self.cpus[place];
        of_cpu.interrupts.are_over();
        if let Some(before) = before.filter(|before| *before != event.current)
            && let Some(before) = self.threads.get_mut(&before)
            && matches!(before.state, Some((State::Running { cpu: on }, _)) if on == cpu)
        {
            before.is_off_cpu(gap);
        }
        if event.current != ThreadId(0) {
            let thread = self.thread(event.current);
            let since = thread.life.birth.map_or(gap, |birth| birth.at.max(gap));
            thread.is_lost_sight_of();
            thread.change(since, State::Running { cpu });
        }
    }

    /// A thread had a CPU until another one was seen on it, without a switch in the trace. It counts
    /// as asleep. In which call is decided by its wake-up: without one, it may have been ready.
    fn has_left(&mut self, thread: Option<ThreadId>, cpu: usize, at: Timestamp) {
        if let Some(thread) = thread.and_then(|thread| self.threads.get_mut(&thread))
            && matches!(thread.state, Some((State::Running { cpu: on }, _)) if on == cpu)
        {
            thread.change(at, State::Asleep { wait: Wait::Unknown, wake: None });
        }
    }

    /// A thread runs, or is woken (`slept`). If events of its CPU were lost since its last state
    /// began, this corrects that state: a running thread may have done anything in the gap, and a
    /// ready one may have run.
    pub(super) fn settle(&mut self, thread: ThreadId, at: Timestamp, slept: bool) {
        let Some(thread) = self.threads.get_mut(&thread) else { return };
        let (cpu, since, ran) = match thread.state {
            Some((State::Running { cpu }, since)) => (cpu, since, true),
            Some((State::Woken { cpu } | State::Ready { cpu }, since)) => (cpu, since, false),
            _ => return,
        };
        match self.gaps.ended(cpu, since, at) {
            Some(gap) if ran || slept => thread.is_off_cpu(gap),
            Some(_) => thread.is_lost_sight_of(),
            None => {}
        }
    }
}
