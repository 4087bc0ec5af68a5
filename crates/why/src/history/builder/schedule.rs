//! Switches, wake-ups and migrations of threads.

use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{Context, Event, EventKind, PrevState, Task};

use super::super::machine::is_kernel_name;
use super::super::origin::{Cause, Origin};
use super::super::span::State;
use super::super::thread::Thread;
use super::super::wait::{Asleep, Carrier, Wait, Wake};
use super::Builder;

impl Builder {
    /// Applies a switch, a wake-up, a reschedule interrupt or a migration.
    pub(super) fn schedules(&mut self, place: usize, event: &Event, origin: Origin) {
        let at = event.at;
        let cpu = self.cpus[place].number;
        match event.kind {
            EventKind::Switch { prev, prev_state, next } => {
                self.leaves(prev, prev_state, cpu, at);
                self.enters(next, cpu, at);
            }
            EventKind::Waking { task, cpu: queue } => {
                let wake = self.wake(place, event, origin, task);
                self.woken(task, queue, wake, false);
                self.cpus[place].wakes = Some(task.tid);
            }
            EventKind::Wakeup { task, cpu: queue } => {
                let wake = self.wake(place, event, origin, task);
                let thread = self.thread(task.tid);
                if matches!(thread.state, Some((State::Running { cpu: on }, _)) if on != cpu) {
                    thread.unneeded = Some((thread.early.unwrap_or(wake), queue));
                }
                self.woken(task, queue, wake, true);
                self.cpus[place].wakes = None;
            }
            EventKind::IpiSent { cpu: queue, reschedules: true } => {
                let wakes = self.cpus[place].wakes.take();
                if let Some(thread) = wakes.and_then(|thread| self.threads.get_mut(&thread)) {
                    thread.is_in_queue(queue, at);
                }
            }
            EventKind::Migrate { task, to, .. } => {
                if let Some(thread) = self.threads.get_mut(&task.tid) {
                    thread.moves(to, at);
                }
            }
            _ => {}
        }
    }

    pub(super) fn wake(&self, place: usize, event: &Event, by: Origin, woken: Task) -> Wake {
        let interrupts = &self.cpus[place].interrupts;
        let device = interrupts.device(event.at, event.context);
        let by = match device {
            Some(device) if self.handles_interrupts(woken) => {
                Origin::Interrupt(Cause::Device(device))
            }
            _ => by,
        };
        // A kernel thread that completes a request, as interrupts of other devices do.
        let completes = self.cpus[place].completes.filter(|_| event.context == Context::Thread);
        let by = completes.map_or(by, Origin::Interrupt);
        let sent = interrupts.packet(event.context).map(|packet| packet.sent);
        let waker = match by {
            Origin::Thread(waker) => self.threads.get(&waker),
            Origin::Interrupt(_) => None,
        };
        let exiting = waker.is_some_and(|waker| waker.exiting);
        let ends = exiting || waker.is_some_and(|waker| waker.wait.is_exit());
        let sleeper = self.threads.get(&woken.tid);
        Wake {
            at: event.at,
            by,
            during: waker.and_then(|waker| waker.wait.call()),
            exiting,
            joined: ends && sleeper.is_some_and(|sleeper| sleeper.awaits_end),
            carrier: sent.map(|sent| Carrier { sent, thread: event.current }),
        }
    }

    /// Whether a thread is that of an interrupt handler, by its name (`irq/…`).
    pub(super) fn handles_interrupts(&self, task: Task) -> bool {
        let is_kernel = self.kernel.is_empty() || self.kernel.contains(&task.tid);
        is_kernel && task.comm.as_bytes().starts_with(b"irq/")
    }

    /// Whether a thread is known to be a kernel thread at this point of the trace.
    pub(super) fn works_for_kernel(&self, thread: ThreadId) -> bool {
        let name = self.threads.get(&thread).map(|thread| thread.life.name).unwrap_or_default();
        let by_name = self.kernel.is_empty() && is_kernel_name(name.as_bytes());
        by_name || self.kernel.contains(&thread)
    }

    /// A thread does something, so it runs.
    pub(super) fn runs(&mut self, thread: ThreadId, cpu: usize, at: Timestamp) {
        if thread == ThreadId(0) {
            return;
        }
        let begin = self.begin;
        let &mut Thread { state, exiting, .. } = self.thread(thread);
        match state {
            Some((State::Running { cpu: on }, _)) if on == cpu => {}
            None => self.thread(thread).state = Some((State::Running { cpu }, begin)),
            Some((State::Asleep { wake: None, .. }, _)) if exiting => {
                self.is_another(thread, cpu, at);
            }
            Some(_) => {
                // The switch to it is not in the trace.
                self.settle(thread, at, false);
                let thread = self.thread(thread);
                thread.was_ready();
                thread.change(at, State::Running { cpu });
            }
        }
    }

    /// A thread was seen asleep in `/proc`. A call or a state in the trace takes precedence.
    pub(super) fn is_asleep(&mut self, seen: &Asleep) {
        let begin = self.begin;
        let thread = self.thread(seen.thread);
        let (wake, since) = match thread.state {
            None if thread.life.birth.is_none() => (None, begin),
            Some((State::Asleep { wait: Wait::Unknown, wake }, since)) => (wake, since),
            _ => return,
        };
        // In which call it was stopped is not known.
        thread.wait = if seen.wait == Wait::Stopped { Wait::Unknown } else { seen.wait };
        thread.state = Some((State::Asleep { wait: seen.wait, wake }, since));
    }

    pub(super) fn leaves(&mut self, task: Task, state: PrevState, cpu: usize, at: Timestamp) {
        if task.is_idle() {
            return;
        }
        self.runs(task.tid, cpu, at);
        let thread = self.thread(task.tid);
        thread.name(task.comm);
        if state.is_runnable() {
            thread.change(at, State::Ready { cpu });
        } else {
            thread.falls_asleep(state, at);
            // Within a tick of the clock, events of two CPUs may be in the wrong order. The wake-up
            // came later: after it, the thread would not have fallen asleep.
            if let Some((wake, queue)) = thread.unneeded.take().filter(|(wake, _)| wake.at == at) {
                self.woken(task, queue, wake, true);
            }
        }
    }

    pub(super) fn enters(&mut self, task: Task, cpu: usize, at: Timestamp) {
        if task.is_idle() {
            return;
        }
        let begin = self.begin;
        self.settle(task.tid, at, false);
        let thread = self.thread(task.tid);
        thread.name(task.comm);
        thread.early = None;
        if thread.state.is_none() {
            // Woken before the trace begins, or born in it.
            let since = thread.life.birth.map_or(begin, |birth| birth.at);
            thread.state = Some((State::Ready { cpu }, since));
        }
        thread.was_ready();
        thread.change(at, State::Running { cpu });
    }

    pub(super) fn woken(&mut self, task: Task, queue: usize, wake: Wake, in_queue: bool) {
        let (begin, at) = (self.begin, wake.at);
        self.settle(task.tid, at, !in_queue);
        let thread = self.thread(task.tid);
        thread.name(task.comm);
        match thread.state {
            // `sched_wakeup` completes a wake-up of a running thread: it stays awake.
            Some((State::Running { .. }, _)) => thread.early = (!in_queue).then_some(wake),
            Some((State::Woken { .. }, _)) if !in_queue => {}
            Some((State::Woken { .. } | State::Ready { .. }, _)) => {
                thread.change(at, State::Ready { cpu: queue });
            }
            Some((State::Asleep { wait, .. }, since)) => {
                let wait = if wait == Wait::Unknown { thread.wait } else { wait };
                // `sched_waking` of this wake-up came before the thread fell asleep.
                let wake = if in_queue { thread.early.take().unwrap_or(wake) } else { wake };
                let wake = Wake { at: wake.at.max(since), ..wake };
                thread.woken = Some(wake);
                thread.state = Some((State::Asleep { wait, wake: Some(wake) }, since));
                thread.change(wake.at, State::Woken { cpu: queue });
                if in_queue {
                    thread.change(at, State::Ready { cpu: queue });
                }
            }
            None if thread.life.birth.is_some() => {
                let since = thread.life.birth.map_or(begin, |birth| birth.at);
                thread.state = Some((State::Ready { cpu: queue }, since));
            }
            None => {
                let asleep = State::Asleep { wait: Wait::Unknown, wake: Some(wake) };
                thread.woken = Some(wake);
                thread.state = Some((asleep, begin));
                let awake = if in_queue {
                    State::Ready { cpu: queue }
                } else {
                    State::Woken { cpu: queue }
                };
                thread.change(at, awake);
            }
        }
    }
}
