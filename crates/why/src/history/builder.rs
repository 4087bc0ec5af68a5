//! Builds a history: all events in order of time, each told to the thread,
//! request or work item that it is about.

use std::collections::{BTreeMap, HashMap, HashSet};

use foldhash::fast::RandomState;
use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{Context, Event, EventKind, StorageEvent, SystemCall, Task, Trace};

use super::by_id::ById;
use super::gaps::Gaps;
use super::interrupt_names::InterruptNames;
use super::interrupts::Interrupts;
use super::life::{Birth, Life};
use super::machine::History;
use super::order::in_order;
use super::origin::{Armed, Cause, InterruptId, Origin};
use super::packets::Packets;
use super::requests::{InFlight, Request};
use super::span::State;
use super::thread::Thread;
use super::timers::Timers;
use super::wait::{Asleep, Carrier, Wait, Wake};
use super::work::Queues;

impl History {
    /// Builds the history of a trace, which needs `sched_switch` and
    /// `sched_waking`. Each other event makes it more precise.
    pub fn of(trace: &Trace) -> Self {
        Self::of_running(trace, &[])
    }

    /// As `of`, of programs that ran before. `asleep`, in order of time, are
    /// threads that slept at a moment in the trace: a trace that does not name a
    /// thread before that moment does not have what it sleeps in.
    pub fn of_running(trace: &Trace, asleep: &[Asleep]) -> Self {
        let kernel = trace.kernel_threads.iter().copied().collect();
        let (begin, end) = (begin(trace), end(trace));
        let gaps = Gaps::of(trace, (begin, end));
        let cpus = trace.cpus.iter().map(|cpu| Cpu::new(cpu.cpu)).collect();
        let mut builder = Builder { begin, end, gaps, kernel, cpus, ..Builder::default() };
        let mut asleep = asleep.iter().peekable();
        for (place, event) in in_order(&trace.cpus) {
            while let Some(seen) = asleep.next_if(|seen| seen.at <= event.at) {
                builder.is_asleep(seen);
            }
            builder.apply(place, &event);
        }
        asleep.for_each(|seen| builder.is_asleep(seen));
        builder.finish()
    }
}

/// The thread that starts all others of the kernel.
const KTHREADD: ThreadId = ThreadId(2);

/// The first moment that the trace covers.
fn begin(trace: &Trace) -> Timestamp {
    let first = trace.cpus.iter().filter_map(|cpu| cpu.events.first()).map(|event| event.at);
    let started = trace.cpus.iter().filter_map(|cpu| cpu.gaps.first());
    let started = started.filter(|gap| gap.from == BEGINNING).map(|gap| gap.to);
    first.chain(started).min().unwrap_or(BEGINNING)
}

/// The last moment that it covers.
fn end(trace: &Trace) -> Timestamp {
    let last = trace.cpus.iter().filter_map(|cpu| cpu.events.last()).map(|event| event.at);
    let stopped = trace.cpus.iter().filter_map(|cpu| cpu.gaps.last());
    let stopped = stopped.filter(|gap| gap.to == END).map(|gap| gap.from);
    last.chain(stopped).max().unwrap_or(BEGINNING)
}

/// The ends of the gaps before and after a recording.
const BEGINNING: Timestamp = Timestamp::from_nanos(0);
const END: Timestamp = Timestamp::from_nanos(u64::MAX);

#[derive(Debug, Default)]
struct Builder {
    begin: Timestamp,
    end: Timestamp,
    gaps: Gaps,
    /// Threads of the kernel that the recorder has listed.
    kernel: HashSet<ThreadId, RandomState>,
    threads: ById<Thread>,
    /// Threads that have ended, and whose ids were used again.
    former: Vec<(ThreadId, Life)>,
    /// In the order of the trace.
    cpus: Vec<Cpu>,
    requests: InFlight,
    queues: Queues,
    packets: Packets,
    timers: Timers,
    interrupt_names: InterruptNames,
    storage: HashSet<InterruptId>,
    clocks: BTreeMap<usize, Vec<(Timestamp, u64)>>,
}

/// A CPU at one event.
#[derive(Debug)]
struct Cpu {
    number: usize,
    interrupts: Interrupts,
    /// The time of its last event, and the thread that had it then.
    last: Timestamp,
    thread: Option<ThreadId>,
    /// The thread that it is waking up.
    wakes: Option<ThreadId>,
}

impl Cpu {
    fn new(number: usize) -> Self {
        let (interrupts, last) = (Interrupts::default(), Timestamp::default());
        Self { number, interrupts, last, thread: None, wakes: None }
    }
}

impl Builder {
    /// Notes an event of the CPU at a place of the trace.
    fn apply(&mut self, place: usize, event: &Event) {
        let Event { at, current, context, kind } = *event;
        self.resumes(place, event);
        let Cpu { number: cpu, interrupts, .. } = &mut self.cpus[place];
        let cpu = *cpu;
        if let EventKind::Storage(StorageEvent::Completed(done)) = kind {
            // Block devices are known by what their handlers do.
            self.storage.extend(interrupts.handler(context));
            let request = self.requests.complete(&done);
            let cause = request.map_or(Cause::StorageOfOld, Cause::Storage);
            interrupts.is_about(at, context, cause);
            return;
        }
        match kind {
            EventKind::IrqEntry(irq) => {
                interrupts.enter(at, self.interrupt_names.number(irq.name));
            }
            EventKind::PacketTaken { packet } => {
                interrupts.takes(at, context, self.packets.take(packet));
            }
            EventKind::TimerExpires { timer } => {
                // The memory of a thread that has ended may be another's by now.
                let lives = |armed: &Armed| {
                    self.threads.get(&armed.by).is_some_and(|thread| !thread.exiting)
                };
                let armed = self.timers.expire(timer).filter(lives);
                interrupts.is_about(at, context, Cause::Timer(armed));
            }
            _ => interrupts.apply(event),
        }
        let origin = interrupts.origin(at, context, current);
        if let EventKind::Storage(StorageEvent::Executed { process, before, .. }) = kind
            && process != before
        {
            self.takes_over(process, before, cpu, at);
        }
        if context == Context::Thread && !matches!(kind, EventKind::Switch { .. }) {
            self.runs(current, cpu, at);
        }
        match kind {
            EventKind::Storage(event) => self.storage(event, at, (current, context), origin),
            EventKind::PacketQueued { packet } => self.packets.queue(packet, at, origin),
            EventKind::SystemCall(SystemCall::Begins { number, arguments }) => {
                let [first, second, ..] = arguments;
                self.thread(current).does(Wait::Call { number, arguments: [first, second] });
            }
            EventKind::SystemCall(SystemCall::Ends { .. }) => {
                self.thread(current).does(Wait::Unknown);
            }
            EventKind::PageFault { address } => {
                self.thread(current).does(Wait::Fault { address, file: None });
            }
            EventKind::Inherits { thread, from, to } => {
                self.thread(thread).inherits(current, at, from, to);
            }
            EventKind::TimerArmed { timer } => match context {
                Context::Thread => self.timers.arm(timer, Armed { by: current, at }),
                _ => self.timers.forget(timer),
            },
            EventKind::WorkQueued { item, .. } => self.queues.queue(item, at, origin),
            EventKind::WorkBegins { item, function } => {
                self.queues.begin(current, item, function, at);
            }
            EventKind::Frequency { cpu, frequency } => {
                self.clocks.entry(cpu).or_default().push((at, frequency.0 / 1_000));
            }
            _ => self.schedules(place, event, origin),
        }
    }

    /// Notes who runs, who is woken, and where.
    fn schedules(&mut self, place: usize, event: &Event, origin: Origin) {
        let at = event.at;
        let cpu = self.cpus[place].number;
        match event.kind {
            EventKind::Switch { prev, prev_runnable, next } => {
                self.leaves(prev, prev_runnable, cpu, at);
                self.enters(next, cpu, at);
            }
            EventKind::Waking { task, cpu: queue } => {
                let wake = self.wake(place, event, origin, task);
                self.woken(task, queue, wake, false);
                self.cpus[place].wakes = Some(task.tid);
            }
            EventKind::Wakeup { task, cpu: queue } => {
                let wake = self.wake(place, event, origin, task);
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

    /// Notes requests, the files that they are for, and the lives of threads.
    fn storage(
        &mut self,
        event: StorageEvent,
        at: Timestamp,
        (current, context): (ThreadId, Context),
        origin: Origin,
    ) {
        match event {
            StorageEvent::Issued(asked) => {
                let file = match origin {
                    Origin::Thread(by) => self.threads.get(&by).and_then(|thread| thread.reads),
                    Origin::Interrupt(_) => None,
                };
                self.requests.issue(Request { asked, issued: at, by: origin, file });
            }
            StorageEvent::Touched(pages) if context == Context::Thread => {
                self.thread(current).touches(pages.file());
            }
            StorageEvent::Cached(pages) if context == Context::Thread => {
                self.thread(current).reads(pages.file());
            }
            StorageEvent::Started { thread, same_process } => {
                self.end_of_id(thread, at);
                self.thread(thread).life.birth = Some(Birth { at, parent: current, same_process });
            }
            StorageEvent::Executed { process, program, .. } => {
                self.thread(process).life.name = program;
            }
            StorageEvent::Ended { thread, .. } => {
                let thread = self.thread(thread);
                thread.exiting = true;
                thread.life.end = Some(at);
            }
            _ => {}
        }
    }

    /// A CPU has an event. If others were lost before, the threads are where this
    /// one has them.
    fn resumes(&mut self, place: usize, event: &Event) {
        let of_cpu = &mut self.cpus[place];
        let (cpu, before) = (of_cpu.number, of_cpu.thread);
        let gap = self.gaps.ended(cpu, of_cpu.last, event.at);
        of_cpu.last = event.at;
        of_cpu.thread = Some(match event.kind {
            EventKind::Switch { next, .. } => next.tid,
            _ => event.current,
        });
        let Some(gap) = gap else { return };
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
            thread.wait = Wait::Unknown;
            thread.change(since, State::Running { cpu });
        }
    }

    /// A thread runs, or is woken if it `slept`. Where it ran before, it may have
    /// done anything while events were lost; where it was ready, it may have run.
    fn settle(&mut self, thread: ThreadId, at: Timestamp, slept: bool) {
        let Some(thread) = self.threads.get_mut(&thread) else { return };
        let (cpu, since, ran) = match thread.state {
            Some((State::Running { cpu }, since)) => (cpu, since, true),
            Some((State::Woken { cpu } | State::Ready { cpu }, since)) => (cpu, since, false),
            _ => return,
        };
        match self.gaps.ended(cpu, since, at) {
            Some(gap) if ran || slept => thread.is_off_cpu(gap),
            Some(_) => thread.wait = Wait::Unknown,
            None => {}
        }
    }

    fn thread(&mut self, thread: ThreadId) -> &mut Thread {
        self.threads.entry(thread).or_default()
    }

    /// An id is free again: what happened to it until now is another life.
    fn end_of_id(&mut self, thread: ThreadId, at: Timestamp) {
        if let Some(former) = self.threads.remove(&thread) {
            self.former.push((thread, former.finish(at)));
        }
    }

    /// A thread that is not the first of its process has executed a program. The
    /// others have ended, and it has the id of the first.
    fn takes_over(&mut self, process: ThreadId, before: ThreadId, cpu: usize, at: Timestamp) {
        self.end_of_id(process, at);
        let wait = self.threads.get(&before).map(|thread| thread.wait).unwrap_or_default();
        let birth = Some(Birth { at, parent: before, same_process: true });
        if let Some(former) = self.threads.get_mut(&before) {
            former.life.end = Some(at);
            former.exiting = true;
            former.change(at, State::Asleep { wait, wake: None });
        }
        let life = Life { birth, ..Life::default() };
        self.threads.insert(process, Thread::running(life, wait, cpu, at));
    }

    fn wake(&self, place: usize, event: &Event, by: Origin, woken: Task) -> Wake {
        let interrupts = &self.cpus[place].interrupts;
        let device = interrupts.device(event.context);
        let by = match device {
            Some(device) if self.handles_interrupts(woken) => {
                Origin::Interrupt(Cause::Device(device))
            }
            _ => by,
        };
        let sent = interrupts.packet(event.context).and_then(|packet| packet.sent);
        let waker = match by {
            Origin::Thread(waker) => self.threads.get(&waker),
            Origin::Interrupt(_) => None,
        };
        Wake {
            at: event.at,
            by,
            during: waker.and_then(|waker| waker.wait.call()),
            exiting: waker.is_some_and(|waker| waker.exiting),
            carrier: sent.map(|sent| Carrier { sent, thread: event.current }),
        }
    }

    /// Whether it is the thread of an interrupt, by its name.
    fn handles_interrupts(&self, task: Task) -> bool {
        let is_kernel = self.kernel.is_empty() || self.kernel.contains(&task.tid);
        is_kernel && task.comm.as_bytes().starts_with(b"irq/")
    }

    /// A thread does something, so it runs.
    fn runs(&mut self, thread: ThreadId, cpu: usize, at: Timestamp) {
        if thread == ThreadId(0) {
            return;
        }
        let begin = self.begin;
        match self.thread(thread).state {
            Some((State::Running { cpu: on }, _)) if on == cpu => {}
            None => self.thread(thread).state = Some((State::Running { cpu }, begin)),
            Some(_) => {
                // The switch to it is not in the trace.
                self.settle(thread, at, false);
                let thread = self.thread(thread);
                thread.was_ready();
                thread.change(at, State::Running { cpu });
            }
        }
    }

    /// A thread was seen asleep. What the trace has of it is newer or the same.
    fn is_asleep(&mut self, seen: &Asleep) {
        let begin = self.begin;
        let thread = self.thread(seen.thread);
        let (wake, since) = match thread.state {
            None if thread.life.birth.is_none() => (None, begin),
            Some((State::Asleep { wait: Wait::Unknown, wake }, since)) => (wake, since),
            _ => return,
        };
        thread.wait = seen.wait;
        thread.state = Some((State::Asleep { wait: seen.wait, wake }, since));
    }

    fn leaves(&mut self, task: Task, runnable: bool, cpu: usize, at: Timestamp) {
        if task.is_idle() {
            return;
        }
        self.runs(task.tid, cpu, at);
        let thread = self.thread(task.tid);
        thread.name(task.comm);
        if runnable {
            thread.change(at, State::Ready { cpu });
        } else {
            let wait = thread.wait;
            thread.change(at, State::Asleep { wait, wake: None });
        }
    }

    fn enters(&mut self, task: Task, cpu: usize, at: Timestamp) {
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

    fn woken(&mut self, task: Task, queue: usize, wake: Wake, in_queue: bool) {
        let (begin, at) = (self.begin, wake.at);
        self.settle(task.tid, at, !in_queue);
        let thread = self.thread(task.tid);
        thread.name(task.comm);
        match thread.state {
            // With the kernel's second event a wake-up is over: it stays awake.
            Some((State::Running { .. }, _)) => thread.early = (!in_queue).then_some(wake),
            Some((State::Woken { .. }, _)) if !in_queue => {}
            Some((State::Woken { .. } | State::Ready { .. }, _)) => {
                thread.change(at, State::Ready { cpu: queue });
            }
            Some((State::Asleep { wait, .. }, since)) => {
                // The kernel's second event of a wake-up whose first came early.
                let wake = if in_queue { thread.early.take().unwrap_or(wake) } else { wake };
                let wake = Wake { at: wake.at.max(since), ..wake };
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

    fn finish(self) -> History {
        let mut lives: ById<Vec<Life>> = HashMap::default();
        let last = self.threads.into_iter().map(|(id, thread)| (id, thread.finish(self.end)));
        for (id, mut life) in self.former.into_iter().chain(last) {
            life.spans = self.gaps.cut(life.spans);
            lives.entry(id).or_default().push(life);
        }
        let last_name = |lives: &[Life]| {
            let mut names = lives.iter().rev().map(|life| life.name);
            names.find(|name| !name.as_bytes().is_empty())
        };
        let names = lives.iter().filter_map(|(id, lives)| Some((*id, last_name(lives)?)));
        let names = names.collect();
        let born = lives.iter().filter(|(_, lives)| {
            lives.iter().any(|life| life.birth.is_some_and(|birth| birth.parent == KTHREADD))
        });
        let kernel_is_listed = !self.kernel.is_empty();
        let mut kernel = self.kernel;
        kernel.extend(born.map(|(id, _)| *id));
        History {
            kernel,
            kernel_is_listed,
            interrupt_names: self.interrupt_names,
            storage: self.storage,
            lives,
            names,
            requests: self.requests.finish(),
            work: self.queues.finish(),
            clocks: self.clocks,
        }
    }
}
