//! Builds a history: applies each event, in order of time, to its thread, request or work item.

mod after_gaps;
mod lives;
mod schedule;

use std::collections::{BTreeMap, HashMap, HashSet};

use foldhash::fast::RandomState;
use unjank_host::Timestamp;
use unjank_host::input::Stop;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{
    Comm, Context, Event, EventKind, StorageEvent, SystemCall, Trace, in_order,
};

use super::by_id::ById;
use super::gaps::Gaps;
use super::interrupt_names::{InterruptNames, is_own};
use super::interrupts::Interrupts;
use super::life::Life;
use super::machine::History;
use super::messages::{Message, Messages};
use super::origin::{Armed, Cause, InterruptId, Origin};
use super::packets::Packets;
use super::requests::InFlight;
use super::thread::Thread;
use super::timers::Timers;
use super::wait::{Asleep, Wait, awaits_thread, woken_futex};
use super::work::Queues;

impl History {
    /// Builds the history of a trace, which needs `sched_switch` and
    /// `sched_waking`. Each other event makes it more precise.
    pub fn of(trace: &Trace) -> Self {
        Self::of_running(trace, &[])
    }

    /// As `of`, for programs that ran before the recording. `asleep` are threads that were seen
    /// asleep during the recording, in order of time: the trace itself does not have the call of a
    /// sleep that began before it.
    pub fn of_running(trace: &Trace, asleep: &[Asleep]) -> Self {
        Self::built(trace, asleep, &Stop::default()).unwrap_or_default()
    }

    /// As `of`; `None` after a stop request.
    pub fn until(trace: &Trace, stop: &Stop) -> Option<Self> {
        Self::built(trace, &[], stop)
    }

    fn built(trace: &Trace, asleep: &[Asleep], stop: &Stop) -> Option<Self> {
        let kernel = trace.kernel_threads.iter().copied().collect();
        let (begin, end) = (begin(trace), end(trace));
        let gaps = Gaps::of(trace, (begin, end), |cpu| &cpu.gaps);
        let call_gaps = Gaps::of(trace, (begin, end), |cpu| &cpu.call_gaps);
        let cpus = trace.cpus.iter().map(|cpu| Cpu::new(cpu.cpu)).collect();
        let builder = Builder { begin, end, gaps, call_gaps, ..Builder::default() };
        let mut builder = Builder { kernel, cpus, names: trace.names.clone(), ..builder };
        let mut asleep = asleep.iter().peekable();
        for (place, event) in in_order(&trace.cpus) {
            if stop.is_requested() {
                return None;
            }
            while let Some(seen) = asleep.next_if(|seen| seen.at <= event.at) {
                builder.is_asleep(seen);
            }
            builder.apply(place, &event);
        }
        asleep.for_each(|seen| builder.is_asleep(seen));
        builder.finish(stop)
    }
}

/// `kthreadd`, which starts all other kernel threads.
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

/// `restart_syscall(2)`, which programs do not call themselves.
#[allow(clippy::unnecessary_cast, reason = "c_long has 32 bits on some machines")]
const RESTART: i64 = libc::SYS_restart_syscall as i64;

/// The beginning of the gap before a recording, and the end of the gap after it.
const BEGINNING: Timestamp = Timestamp::from_nanos(0);
const END: Timestamp = Timestamp::from_nanos(u64::MAX);

#[derive(Debug, Default)]
struct Builder {
    begin: Timestamp,
    end: Timestamp,
    gaps: Gaps,
    /// Times in which only calls of threads may be missing.
    call_gaps: Gaps,
    /// Threads of the kernel that the recorder has listed.
    kernel: HashSet<ThreadId, RandomState>,
    /// Names that the recorder noted beside the events.
    names: BTreeMap<ThreadId, Comm>,
    threads: ById<Thread>,
    /// Threads that have ended, and whose ids were used again.
    former: Vec<(ThreadId, Life)>,
    /// In the order of the trace.
    cpus: Vec<Cpu>,
    requests: InFlight,
    queues: Queues,
    packets: Packets,
    messages: Messages,
    timers: Timers,
    interrupt_names: InterruptNames,
    storage: HashSet<InterruptId>,
    clocks: BTreeMap<usize, Vec<(Timestamp, u64)>>,
}

/// The state of a CPU after an event.
#[derive(Debug)]
struct Cpu {
    number: usize,
    interrupts: Interrupts,
    /// The time of its last event, and the thread that had it then.
    last: Timestamp,
    thread: Option<ThreadId>,
    /// The thread that it is waking up.
    wakes: Option<ThreadId>,
    /// The request that its thread has just finished.
    completes: Option<Cause>,
    /// The thread that its last event switches away from, if that is a switch.
    leaves: Option<ThreadId>,
}

impl Cpu {
    fn new(number: usize) -> Self {
        let (interrupts, last) = (Interrupts::default(), Timestamp::default());
        Self { number, interrupts, last, thread: None, wakes: None, completes: None, leaves: None }
    }
}

impl Cpu {
    /// Whether the kernel takes a lock between the event of a switch and the switch itself, under
    /// the name of the thread that leaves (`prepare_task_switch` of `kernel/sched/core.c` leaves
    /// that thread's perf events, for instance). This is no sign that it still runs.
    fn is_within_switch(&mut self, event: &Event) -> bool {
        let is_lock =
            matches!(event.kind, EventKind::LockContended { .. } | EventKind::LockAcquired { .. });
        if is_lock && self.leaves == Some(event.current) {
            return true;
        }
        self.leaves = match event.kind {
            EventKind::Switch { prev, .. } => Some(prev.tid),
            _ => None,
        };
        false
    }
}

impl Builder {
    /// Applies an event of the CPU with this index in the trace.
    fn apply(&mut self, place: usize, event: &Event) {
        let Event { at, current, context, kind } = *event;
        if self.cpus[place].is_within_switch(event) {
            return;
        }
        self.resumes(place, event);
        let Cpu { number: cpu, interrupts, .. } = &mut self.cpus[place];
        let cpu = *cpu;
        if let EventKind::Storage(StorageEvent::Completed(done)) = kind {
            // An interrupt whose handler completes a request is that of a block device.
            self.storage.extend(interrupts.handler(context));
            let request = self.requests.complete(&done);
            let cause = request.map_or(Cause::StorageOfOld, Cause::Storage);
            interrupts.is_about(at, context, cause);
            let by_thread = context == Context::Thread && self.works_for_kernel(current);
            self.cpus[place].completes = by_thread.then_some(cause);
            return;
        }
        self.follow_interrupts(place, event);
        let origin = self.cpus[place].interrupts.origin(at, context, current);
        let goes_on = matches!(
            kind,
            EventKind::Switch { .. }
                | EventKind::WorkBegins { .. }
                | EventKind::Storage(StorageEvent::Issued(_))
        );
        if goes_on && context == Context::Thread {
            self.cpus[place].completes = None;
        }
        if let EventKind::Storage(StorageEvent::Executed { process, before, .. }) = kind
            && process != before
        {
            self.takes_over(process, before, cpu, at);
        } else if context == Context::Thread && !matches!(kind, EventKind::Switch { .. }) {
            self.runs(current, cpu, at);
        }
        match kind {
            EventKind::Storage(event) => self.storage(event, at, (current, context), origin),
            EventKind::PacketQueued { packet } => self.packets.queue(packet, at, origin),
            EventKind::BinderSent { transaction, .. } => {
                self.messages.send(transaction, Message { sent: at, by: current });
            }
            EventKind::BinderReceived { transaction } => {
                if let Some(message) = self.messages.receive(transaction) {
                    self.thread(current).receives(message);
                }
            }
            EventKind::SystemCall(SystemCall::Begins { number, arguments }) => {
                let [first, second, ..] = arguments;
                let thread = self.thread(current);
                // After a stop, the kernel continues the call before.
                if number != RESTART || !matches!(thread.wait, Wait::Call { .. }) {
                    thread.enters(Wait::Call { number, arguments: [first, second] }, at);
                    thread.awaits_end = awaits_thread(number, &arguments);
                    if let Some(futex) = woken_futex(number, &arguments) {
                        thread.life.futex_wakes.push((at, futex));
                    }
                }
            }
            EventKind::SystemCall(SystemCall::Ends { .. }) => {
                self.thread(current).does(Wait::Unknown);
            }
            EventKind::PageFault { address } => {
                self.thread(current).enters(Wait::Fault { address, file: None }, at);
            }
            EventKind::ReclaimBegins if context == Context::Thread => {
                self.thread(current).begins_reclaim(at);
            }
            EventKind::ReclaimEnds if context == Context::Thread => {
                self.thread(current).ends_reclaim(at);
            }
            EventKind::LockContended { lock, flags }
                if context == Context::Thread && !flags.is_spin_lock() =>
            {
                self.thread(current).contends(lock, flags);
            }
            EventKind::LockAcquired { lock } if context == Context::Thread => {
                self.thread(current).acquires(lock);
            }
            EventKind::Inherits { thread, from, to } => {
                self.thread(thread).inherits(current, at, from, to);
            }
            EventKind::TimerArmed { timer } => match context {
                Context::Thread => self.timers.arm(timer, Armed { by: current, at }),
                _ => self.timers.forget(timer),
            },
            EventKind::WorkQueued { item, .. } => self.queues.queue(item, at, origin),
            EventKind::WorkBegins { item, function } if context == Context::Thread => {
                self.queues.begin(current, item, function, at);
            }
            EventKind::Frequency { cpu, frequency } => {
                self.clocks.entry(cpu).or_default().push((at, frequency.0 / 1_000));
            }
            _ => self.schedules(place, event, origin),
        }
    }

    /// Notes what the interrupts of a CPU are about.
    fn follow_interrupts(&mut self, place: usize, event: &Event) {
        let Event { at, context, kind, .. } = *event;
        let interrupts = &mut self.cpus[place].interrupts;
        match kind {
            EventKind::IrqEntry(irq) if is_own(irq.name) => interrupts.enter_own(),
            EventKind::IrqEntry(irq) => {
                interrupts.enter(at, self.interrupt_names.number(irq.name));
            }
            EventKind::PacketTaken { packet } => {
                interrupts.takes(at, context, self.packets.take(packet));
            }
            EventKind::TimerExpires { timer } => {
                // After the end of a thread, its timers' memory may have been reused.
                let lives = |armed: &Armed| {
                    self.threads.get(&armed.by).is_some_and(|thread| !thread.exiting)
                };
                let armed = self.timers.expire(timer).filter(lives);
                interrupts.is_about(at, context, Cause::Timer(armed));
            }
            // A softirq executes the item (`WQ_BH` of Linux 6.9), not the interrupted thread.
            EventKind::WorkBegins { item, .. } if context != Context::Thread => {
                if let Some(queued) = self.queues.take(item) {
                    let cause = match queued.by {
                        Origin::Interrupt(cause) => cause,
                        Origin::Thread(_) => Cause::Unknown,
                    };
                    interrupts.is_about(at, context, cause);
                }
            }
            _ => interrupts.apply(event),
        }
    }

    fn thread(&mut self, thread: ThreadId) -> &mut Thread {
        self.threads.entry(thread).or_default()
    }

    /// The history; `None` after a stop request.
    fn finish(self, stop: &Stop) -> Option<History> {
        let mut lives: ById<Vec<Life>> = HashMap::default();
        let last = self.threads.into_iter().map(|(id, thread)| (id, thread.finish(self.end)));
        for (id, mut life) in self.former.into_iter().chain(last) {
            if stop.is_requested() {
                return None;
            }
            life.spans = self.gaps.cut(life.spans);
            lives.entry(id).or_default().push(life);
        }
        let last_name = |lives: &[Life]| {
            let mut names = lives.iter().rev().map(|life| life.name);
            names.find(|name| !name.as_bytes().is_empty())
        };
        let names = lives.iter().filter_map(|(id, lives)| Some((*id, last_name(lives)?)));
        // A name of an event comes after one that the recorder noted.
        let names = self.names.into_iter().chain(names).collect();
        let born = lives.iter().filter(|(_, lives)| {
            lives.iter().any(|life| life.birth.is_some_and(|birth| birth.parent == KTHREADD))
        });
        let kernel_is_listed = !self.kernel.is_empty();
        let mut kernel = self.kernel;
        kernel.extend(born.map(|(id, _)| *id));
        Some(History {
            kernel,
            kernel_is_listed,
            interrupt_names: self.interrupt_names,
            storage: self.storage,
            lives,
            names,
            requests: self.requests.finish(),
            work: self.queues.finish(),
            clocks: self.clocks,
            processes: BTreeMap::new(),
        })
    }
}
