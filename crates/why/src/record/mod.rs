//! Records what a window needs, in two private traces: what all threads do to
//! each other, and what the explained program asks of the kernel. Beside them, the
//! stacks of the program.

mod instances;
mod kept;
mod reader;

use std::sync::{Arc, Mutex, PoisonError};

use unjank_host::perf_event::{StackRecorder, StackRecords};
use unjank_host::sched::ThreadId;
use unjank_host::threads::of_kernel;
use unjank_host::tracefs::{InstanceOptions, Trace, Tracefs, buffer_per_cpu};
use unjank_host::{Bytes, Nanos, Result, Root, Support, Timestamp, Unsupported};

use instances::{Instances, Pages};
pub use kept::Kept;
use reader::Reader;

/// What every thread does to others: who runs, who wakes whom, what devices
/// finish.
pub const MACHINE_EVENTS: &[&str] = &[
    "sched/sched_switch",
    "sched/sched_waking",
    "sched/sched_wakeup",
    "sched/sched_wakeup_new",
    "sched/sched_migrate_task",
    "sched/sched_process_exec",
    "sched/sched_process_exit",
    "sched/sched_pi_setprio",
    "task/task_newtask",
    RESCHEDULES.0,
    "irq/irq_handler_entry",
    "irq/irq_handler_exit",
    "irq/softirq_entry",
    "irq/softirq_exit",
    "timer/hrtimer_expire_entry",
    "timer/hrtimer_expire_exit",
    "timer/timer_expire_entry",
    "workqueue/workqueue_queue_work",
    "workqueue/workqueue_execute_start",
    "block/block_rq_issue",
    "block/block_rq_complete",
    "net/netif_rx",
    "net/netif_receive_skb",
    "power/cpu_frequency",
    CONTENTION.0,
    "lock/contention_end",
];

/// Interrupts that one CPU sends to another, and the filter for those that only have
/// a thread in its run queue run there.
const RESCHEDULES: (&str, &str) = ("ipi/ipi_send_cpu", "callback == 0");

/// Waits for locks of the kernel, and the filter that leaves out spin locks (`LCB_F_SPIN` alone).
const CONTENTION: (&str, &str) = ("lock/contention_begin", "flags != 1");

/// What the explained program asks of the kernel, and the files that this is about.
/// These are many, so they are recorded of its processes only. The ends of system
/// calls are not needed: a thread that sleeps does so in its last call, or in a page
/// fault after it.
pub const PROGRAM_EVENTS: &[&str] = &[
    "raw_syscalls/sys_enter",
    "exceptions/page_fault_user",
    "filemap/mm_filemap_fault",
    "filemap/mm_filemap_add_to_page_cache",
    "timer/hrtimer_start",
];

/// Room for events, for each CPU: a quarter of a million. A thread that does
/// nothing but call the kernel makes a million a second.
const BUFFER: Bytes = Bytes::from_mib(16);

/// Room for stacks, for each CPU: seventeen hundred of them.
const STACK_BUFFER: Bytes = Bytes::from_mib(4);
/// CPU time between two samples of a thread: no divisor of a clock tick, so that no
/// loop runs in step with it.
const EVERY: Nanos = Nanos(1_009_000);

/// What is recorded beside what all threads do.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// What these, and all threads and processes that they start from now on, ask of
    /// the kernel.
    pub threads: &'a [ThreadId],
    /// For events and stacks until they are decoded; the recording ends when it is
    /// full.
    pub memory: Bytes,
    /// Whose stacks are recorded.
    pub stacks: StacksOf,
}

/// Whose stacks are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StacksOf {
    /// Nobody's.
    Nobody,
    /// Of each program that the calling thread executes in a child.
    NextPrograms,
    /// Of the threads themselves, which are those of a program that runs.
    Threads,
}

/// A recording in progress. Nothing is left of it when it is dropped.
#[derive(Debug)]
pub struct Recording {
    root: Root,
    /// Threads of the kernel before it began; some may end in its time.
    kernel_threads: Vec<ThreadId>,
    instances: Arc<Instances>,
    reader: Reader,
    /// Why there are no stacks, though they were wanted.
    no_stacks: Option<String>,
}

/// What was recorded.
#[derive(Debug, Default)]
pub struct Recorded {
    /// The events of both traces.
    pub trace: Trace,
    /// When the memory for events was full, so that the recording ended early.
    pub full_at: Option<Timestamp>,
    /// The memory that the events took in the kernel's form.
    pub size: Bytes,
    /// The stacks, if they were wanted.
    pub stacks: Option<Support<StackRecords>>,
}

impl Recording {
    /// Starts recording.
    ///
    /// # Errors
    /// An instance or a thread that cannot be made.
    pub fn start(tracefs: &Tracefs, root: &Root, wanted: &Wanted<'_>) -> Result<Self> {
        tracefs.remove_leftovers()?;
        let names = |events: &[&str]| events.iter().map(|&event| event.to_owned()).collect();
        let kernel_threads = of_kernel(root);
        // Before the program's trace follows the threads that this one starts.
        let waiting = Reader::spawn(wanted.memory)?;
        let machine = tracefs.instance(&InstanceOptions {
            buffer: buffer_per_cpu(root, BUFFER),
            events: names(MACHINE_EVENTS),
            filters: [RESCHEDULES, CONTENTION]
                .map(|(event, filter)| (event.to_owned(), filter.to_owned()))
                .to_vec(),
            ..InstanceOptions::default()
        })?;
        let program = tracefs.instance(&InstanceOptions {
            buffer: buffer_per_cpu(root, BUFFER),
            events: names(PROGRAM_EVENTS),
            threads: wanted.threads.to_vec(),
            and_theirs: true,
            ..InstanceOptions::default()
        })?;
        let buffer = buffer_per_cpu(root, STACK_BUFFER);
        let stacks = match wanted.stacks {
            StacksOf::Nobody => None,
            StacksOf::NextPrograms => Some(StackRecorder::of_next_programs(root, EVERY, buffer)),
            StacksOf::Threads => {
                Some(StackRecorder::of_threads(root, wanted.threads, EVERY, buffer))
            }
        };
        let (stacks, no_stacks) = match stacks {
            Some(Ok(recorder)) => (Some(Mutex::new(recorder)), None),
            Some(Err(error)) => (None, Some(error.to_string())),
            None => (None, None),
        };
        let instances = Arc::new(Instances { machine, program, stacks });
        // Opens the buffers.
        instances.take_events(&mut Pages::default())?;
        instances.machine.start()?;
        instances.program.start()?;
        let reader = waiting.read(Arc::clone(&instances));
        Ok(Self { root: root.clone(), kernel_threads, instances, reader, no_stacks })
    }

    /// Records also what these threads ask of the kernel, and their stacks.
    ///
    /// # Errors
    /// A file of the instance that cannot be written.
    pub fn record_also(&self, threads: &[ThreadId]) -> Result<()> {
        self.instances.program.record_also(threads)?;
        if let Some(stacks) = &self.instances.stacks {
            let mut stacks = stacks.lock().unwrap_or_else(PoisonError::into_inner);
            // Without them, these threads have no functions, and nothing else is missing.
            let _of_the_others = stacks.record_also(&self.root, threads);
        }
        Ok(())
    }

    /// Whether the memory for events is full, so that nothing more is recorded.
    pub fn is_full(&self) -> bool {
        self.reader.full_at().is_some()
    }

    /// Events that this kernel does not have.
    pub fn notes(&self) -> impl Iterator<Item = &Unsupported> {
        self.instances.machine.notes().iter().chain(self.instances.program.notes())
    }

    /// Stops, and returns what was recorded.
    ///
    /// # Errors
    /// A trace that cannot be read.
    pub fn finish(self) -> Result<Recorded> {
        self.end(|_, _| Ok(())).map(|(recorded, ())| recorded)
    }

    /// As [`finish`](Self::finish), and keeps the kernel's pages for a file.
    ///
    /// # Errors
    /// A trace that cannot be read.
    pub fn finish_keeping(self) -> Result<(Recorded, Kept)> {
        self.end(Kept::of)
    }

    fn end<T>(self, keep: impl FnOnce(&Instances, &Pages) -> Result<T>) -> Result<(Recorded, T)> {
        let Self { root, kernel_threads, instances, reader, no_stacks } = self;
        instances.stop()?;
        let (mut pages, full_at) = reader.finish()?;
        instances.take(&mut pages)?;
        let kept = keep(&instances, &pages)?;
        let size = pages.size();
        let Pages { machine, program, stacks } = pages;
        let stacks = match no_stacks {
            Some(reason) => Some(Support::No(reason)),
            None => instances.stacks.is_some().then_some(Support::Yes(stacks)),
        };
        let machine = instances.machine.decode(machine)?;
        let mut trace = Trace::joined([machine, instances.program.decode(program)?]);
        trace.kernel_threads = kernel_threads;
        trace.kernel_threads.extend(of_kernel(&root));
        if let Some(Instances { machine, program, .. }) = Arc::into_inner(instances) {
            program.remove()?;
            machine.remove()?;
        }
        Ok((Recorded { trace, full_at, size, stacks }, kept))
    }
}
