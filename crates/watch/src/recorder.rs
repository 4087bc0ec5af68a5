//! Trace instances on two sides, of which one always records. The kernel overwrites the oldest
//! events, so that recording needs no thread.

use unjank_host::sched::ThreadId;
use unjank_host::threads::of_kernel;
use unjank_host::tracefs::{Instance, InstanceOptions, RawPages, Trace, Tracefs, online_cpus};
use unjank_host::{Bytes, Nanos, Result, Root, Timestamp, Unsupported};
use unjank_why::record::PROGRAM_EVENTS;

/// The events that are recorded: those from which it is known which thread waited for what. They
/// come with switches, interrupts and requests, not with system calls, so that their number is
/// bounded. `sched_wakeup` is left out: it follows each `sched_waking`, and the time between both is
/// only that of an interrupt between CPUs.
pub const EVENTS: &[&str] = &[
    "sched/sched_switch",
    "sched/sched_waking",
    "sched/sched_wakeup_new",
    "sched/sched_process_exec",
    "sched/sched_process_exit",
    "sched/sched_pi_setprio",
    "task/task_newtask",
    "irq/irq_handler_entry",
    "irq/irq_handler_exit",
    "irq/softirq_entry",
    "irq/softirq_exit",
    "timer/hrtimer_expire_entry",
    "block/block_rq_insert",
    "block/block_rq_issue",
    "block/block_rq_complete",
    "power/cpu_frequency",
    "vmscan/mm_vmscan_direct_reclaim_begin",
    "vmscan/mm_vmscan_direct_reclaim_end",
    "tcp/tcp_retransmit_skb",
];

/// The smallest buffer of one instance and CPU.
const LEAST: Bytes = Bytes::from_kib(256);

/// The part of a buffer's size that is added as room.
const ROOM: f64 = 1.25;

/// Two pairs of trace instances, of which one always records.
#[derive(Debug)]
pub struct Recorder {
    root: Root,
    sides: [Side; 2],
    /// The one that records: an index of `sides`.
    active: usize,
    /// The number of CPUs.
    cpus: u64,
}

/// Options of [`Recorder::start`].
#[derive(Debug, Clone, Copy)]
pub struct RecorderOptions {
    /// The memory of the buffers for the events of the whole machine, of both sides together.
    pub memory: Bytes,
    /// Whether the system calls and page faults of some programs are recorded, too, in as much
    /// memory again.
    pub calls: bool,
}

/// Trace instances that record at the same time.
#[derive(Debug)]
struct Side {
    machine: Instance,
    /// For system calls and page faults of some programs.
    programs: Option<Instance>,
    /// Events that had not been recorded by the last freeze: the kernel counts them from the
    /// creation of the instances on.
    dropped: u64,
}

/// What was recorded until a freeze.
#[derive(Debug, Clone)]
pub struct Frozen {
    /// The events.
    pub trace: Trace,
    /// When it was frozen.
    pub at: Timestamp,
}

impl Frozen {
    /// This recording and the one that began when it was frozen.
    #[must_use]
    pub fn followed_by(self, next: Self) -> Self {
        Self { trace: self.trace.followed_by(next.trace), at: next.at }
    }
}

impl Recorder {
    /// Creates all instances, and starts one side.
    ///
    /// # Errors
    /// A trace instance cannot be created or started.
    pub fn start(tracefs: &Tracefs, root: &Root, wanted: &RecorderOptions) -> Result<Self> {
        tracefs.remove_leftovers()?;
        let cpus = online_cpus(root);
        let buffer = per_cpu(wanted.memory, cpus);
        let side = || Side::create(tracefs, buffer, wanted.calls);
        let sides = [side()?, side()?];
        // Opens the buffers of both now, so that a freeze needs no new file.
        for side in &sides {
            side.take_pages()?;
        }
        sides[0].start()?;
        Ok(Self { root: root.clone(), sides, active: 0, cpus })
    }

    /// Events that this kernel does not have.
    pub fn notes(&self) -> impl Iterator<Item = &Unsupported> {
        self.sides[0].instances().flat_map(Instance::notes)
    }

    /// The memory of the kernel's buffers.
    pub fn memory(&self) -> Bytes {
        let buffers = self.sides.iter().flat_map(Side::instances).map(|it| it.buffer().get());
        Bytes(buffers.sum::<u64>().saturating_mul(self.cpus.max(1)))
    }

    /// Enlarges all buffers, if a full one holds less than this time, so that it will hold it, but
    /// at most to `most` for the events of the whole machine. The kernel does not record into a buffer
    /// while it enlarges it. So the other side takes over, and what was recorded is returned.
    ///
    /// # Errors
    /// A file of an instance cannot be read or written; the memory is not available.
    pub fn hold(&mut self, time: Nanos, most: Bytes) -> Result<Option<Frozen>> {
        let active = &self.sides[self.active];
        let held = active.instances().filter_map(|it| it.held().transpose());
        let held = held.collect::<Result<Vec<Nanos>>>()?.into_iter().min();
        let now = active.instances().map(Instance::buffer).min().unwrap_or_default();
        let size = enlarged(now, held, time, per_cpu(most, self.cpus));
        let Some(size) = size else { return Ok(None) };
        self.sides[1 - self.active].resize(size)?;
        let frozen = self.freeze()?;
        self.sides[1 - self.active].resize(size)?;
        Ok(Some(frozen))
    }

    /// Also records the system calls and page faults of these threads, and of those that they
    /// start, if [calls](RecorderOptions::calls) are recorded.
    ///
    /// # Errors
    /// A file of an instance cannot be written.
    pub fn record_calls_of(&self, threads: &[ThreadId]) -> Result<()> {
        self.sides.iter().flat_map(|side| &side.programs).try_for_each(|it| it.record_also(threads))
    }

    /// Freezes the recording, and returns it. From the same moment on, the other side records: no
    /// event is in neither of them.
    ///
    /// # Errors
    /// A file of an instance cannot be written or read.
    pub fn freeze(&mut self) -> Result<Frozen> {
        let active = self.active;
        self.sides[1 - active].start()?;
        self.sides[active].stop()?;
        let at = Timestamp::now();
        self.active = 1 - active;
        let mut trace = self.sides[active].read()?;
        trace.kernel_threads = of_kernel(&self.root);
        Ok(Frozen { trace, at })
    }

    /// Stops the recording, or starts it again.
    ///
    /// # Errors
    /// A file of the instance cannot be written or read.
    pub fn pause(&mut self, paused: bool) -> Result<()> {
        let active = &self.sides[self.active];
        if paused {
            active.stop()?;
            // What was recorded is not kept.
            return active.take_pages().map(drop);
        }
        active.start()
    }

    /// Ends the recording and removes the instances.
    ///
    /// # Errors
    /// Another program holds a file of an instance open.
    pub fn remove(self) -> Result<()> {
        let [one, other] = self.sides;
        one.remove().and(other.remove())
    }
}

impl Side {
    fn create(tracefs: &Tracefs, buffer: Bytes, calls: bool) -> Result<Self> {
        let names = |events: &[&str]| events.iter().map(|&event| event.to_owned()).collect();
        let machine = tracefs.instance(&InstanceOptions {
            buffer,
            events: names(EVENTS),
            ..InstanceOptions::default()
        })?;
        let programs = || {
            tracefs.instance(&InstanceOptions {
                buffer,
                events: names(PROGRAM_EVENTS),
                // An empty list would mean all threads. This one does little.
                threads: vec![ThreadId::current()],
                and_theirs: true,
                ..InstanceOptions::default()
            })
        };
        let programs = calls.then(programs).transpose()?;
        Ok(Self { machine, programs, dropped: 0 })
    }

    fn instances(&self) -> impl Iterator<Item = &Instance> {
        std::iter::once(&self.machine).chain(&self.programs)
    }

    /// Changes the buffer size for each CPU. Not while it records.
    fn resize(&self, buffer: Bytes) -> Result<()> {
        self.instances().try_for_each(|it| it.resize(buffer))
    }

    fn start(&self) -> Result<()> {
        self.instances().try_for_each(Instance::start)
    }

    fn stop(&self) -> Result<()> {
        self.instances().try_for_each(Instance::stop)
    }

    /// What was recorded, in the kernel's form.
    fn take_pages(&self) -> Result<[RawPages; 2]> {
        let (mut machine, mut programs) = (RawPages::default(), RawPages::default());
        self.machine.take_pages(&mut machine)?;
        self.programs.iter().try_for_each(|instance| instance.take_pages(&mut programs))?;
        Ok([machine, programs])
    }

    /// What was recorded.
    fn read(&mut self) -> Result<Trace> {
        let [machine, programs] = self.take_pages()?;
        let mut trace = self.machine.decode(machine)?;
        if let Some(instance) = &self.programs {
            trace = Trace::joined([trace, instance.decode(programs)?]);
        }
        // A buffer that overwrites its oldest events has not lost those of the window.
        trace.lost.overwritten = 0;
        let before = std::mem::replace(&mut self.dropped, trace.lost.dropped);
        trace.lost.dropped = trace.lost.dropped.saturating_sub(before);
        Ok(trace)
    }

    fn remove(self) -> Result<()> {
        let programs = self.programs.map_or(Ok(()), Instance::remove);
        self.machine.remove().and(programs)
    }
}

/// The size of one instance's buffer for each CPU.
fn per_cpu(memory: Bytes, cpus: u64) -> Bytes {
    Bytes((memory.get() / 2 / cpus.max(1)).max(LEAST.get()))
}

/// The size of a buffer that will hold `wanted`, with some room, if it is full and holds less now.
/// `None` if it would hardly grow: sizes are whole pages.
fn enlarged(now: Bytes, held: Option<Nanos>, wanted: Nanos, most: Bytes) -> Option<Bytes> {
    let held = held.filter(|held| *held < wanted)?;
    let factor = wanted.as_secs_f64() / held.as_secs_f64().max(1e-3) * ROOM;
    let size = Bytes((now.get() as f64 * factor) as u64).min(most);
    (size.get() > now.get().saturating_add(now.get() / 8)).then_some(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_buffer_grows_until_it_holds_the_time_or_has_its_limit() {
        let mib = Bytes::from_mib;
        let grown = |held: Option<u64>, most| {
            enlarged(mib(1), held.map(Nanos::from_millis), Nanos::from_millis(10_000), mib(most))
        };
        assert_eq!(grown(None, 64), None, "not full");
        assert_eq!(grown(Some(10_000), 64), None);
        assert_eq!(grown(Some(2_500), 64), Some(mib(5)), "four times, and a quarter more");
        assert_eq!(grown(Some(2_500), 4), Some(mib(4)));
        assert_eq!(grown(Some(2_500), 1), None, "its limit");
        let most = Bytes(mib(1).get() + 4_000);
        let hardly = enlarged(mib(1), Some(Nanos(1)), Nanos::from_millis(1), most);
        assert_eq!(hardly, None, "less than a page");
        assert_eq!(grown(Some(0), 64), Some(mib(64)));
    }

    #[test]
    fn both_instances_share_the_memory_among_the_cpus() {
        assert_eq!(per_cpu(Bytes::from_mib(32), 2), Bytes::from_mib(8));
        assert_eq!(per_cpu(Bytes::from_mib(32), 1_024), LEAST);
        assert_eq!(per_cpu(Bytes::from_mib(1), 0), Bytes::from_kib(512));
    }
}
