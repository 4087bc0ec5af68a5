//! Records a window in two private trace instances: one for scheduling, wake-ups and
//! devices of the whole machine, and one for the explained program's system calls and page
//! faults. The stacks of the program are recorded beside them.

mod captured;
mod instances;
mod reader;

use std::sync::{Arc, Mutex, PoisonError};

use unjank_host::perf_event::{StackRecorder, StackRecords};
use unjank_host::sched::ThreadId;
use unjank_host::threads::of_kernel;
use unjank_host::tracefs::{InstanceOptions, Trace, Tracefs, buffer_per_cpu};
use unjank_host::{Bytes, Nanos, Result, Root, Support, Timestamp, Unsupported};

pub use captured::CapturedTraces;
use instances::{Instances, Pages};
pub(crate) use reader::PERIOD;
use reader::Reader;

/// The events of the whole machine: switches, wake-ups, births and ends of threads, interrupts,
/// timers, work items, block requests, packets, binder transactions, idle states, clock frequencies
/// and kernel locks.
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
    "block/block_rq_insert",
    "block/block_rq_issue",
    "block/block_rq_complete",
    "net/netif_rx",
    "net/netif_receive_skb",
    "power/cpu_idle",
    "power/cpu_frequency",
    "binder/binder_transaction",
    "binder/binder_transaction_received",
    "rust_binder/binder_transaction",
    "rust_binder/binder_transaction_received",
    "vmscan/mm_vmscan_direct_reclaim_begin",
    "vmscan/mm_vmscan_direct_reclaim_end",
    "vmscan/mm_vmscan_memcg_reclaim_begin",
    "vmscan/mm_vmscan_memcg_reclaim_end",
    CONTENTION.0,
    "lock/contention_end",
];

/// Inter-processor interrupts, and the filter that keeps only reschedule interrupts.
const RESCHEDULES: (&str, &str) = ("ipi/ipi_send_cpu", "callback == 0");

/// Waits for locks of the kernel, and the filter that leaves out spin locks (`LCB_F_SPIN` alone).
const CONTENTION: (&str, &str) = ("lock/contention_begin", "flags != 1");

/// Filters of [`MACHINE_EVENTS`].
pub(crate) const MACHINE_FILTERS: [(&str, &str); 2] = [RESCHEDULES, CONTENTION];

/// The events of the explained program: system calls, page faults, accesses to pages of
/// files, and armed timers. They are frequent, so they are recorded for its processes only.
/// The ends of system calls are not needed: a thread sleeps in its last call, or in a
/// page fault after it.
pub const PROGRAM_EVENTS: &[&str] = &[
    "raw_syscalls/sys_enter",
    "exceptions/page_fault_user",
    "filemap/mm_filemap_fault",
    "filemap/mm_filemap_add_to_page_cache",
    "timer/hrtimer_start",
];

/// The size of an event buffer, for each CPU. It holds about 250,000 events. A thread that only
/// makes system calls causes a million events per second.
pub(crate) const BUFFER: Bytes = Bytes::from_mib(16);

/// The size of the stack buffer, for each CPU. It holds about 1,700 stacks.
const STACK_BUFFER: Bytes = Bytes::from_mib(4);
/// CPU time between two samples of a thread. It does not divide a clock tick, so that
/// periodic code does not run in step with the samples.
const EVERY: Nanos = Nanos(1_009_000);

/// The explained program of a recording, and the limit of its memory.
#[derive(Debug, Clone, Copy)]
pub struct RecordingOptions<'a> {
    /// The threads whose system calls and page faults are recorded. Threads and processes
    /// that they start later are recorded as well.
    pub threads: &'a [ThreadId],
    /// The memory for events and stacks until they are decoded. The recording ends when it
    /// is full.
    pub memory: Bytes,
    /// The programs or threads whose stacks are recorded.
    pub stacks: StacksOf,
}

/// The programs or threads whose stacks are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StacksOf {
    /// No stacks are recorded.
    Nobody,
    /// Each program that the calling thread executes in a child.
    NextPrograms,
    /// [`RecordingOptions::threads`], the threads of a running program.
    Threads,
}

/// A recording in progress. Dropping it removes its trace instances.
#[derive(Debug)]
pub struct Recording {
    root: Root,
    /// Kernel threads before the recording began. Some may end during it.
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
    /// A trace instance or the reader's thread cannot be created.
    pub fn start(tracefs: &Tracefs, root: &Root, wanted: &RecordingOptions<'_>) -> Result<Self> {
        tracefs.remove_leftovers()?;
        let names = |events: &[&str]| events.iter().map(|&event| event.to_owned()).collect();
        let kernel_threads = of_kernel(root);
        // The reader starts before the program's trace does, which follows threads that this thread
        // starts.
        let waiting = Reader::spawn(wanted.memory)?;
        let machine = tracefs.instance(&InstanceOptions {
            buffer: buffer_per_cpu(root, BUFFER),
            events: names(MACHINE_EVENTS),
            filters: MACHINE_FILTERS
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

    /// Also records the system calls, page faults and stacks of these threads.
    ///
    /// # Errors
    /// A file of the trace instance cannot be written.
    pub fn record_also(&self, threads: &[ThreadId]) -> Result<()> {
        self.instances.program.record_also(threads)?;
        if let Some(stacks) = &self.instances.stacks {
            let mut stacks = stacks.lock().unwrap_or_else(PoisonError::into_inner);
            // If this fails, only the stacks of these threads are missing.
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
    pub fn finish_keeping(self) -> Result<(Recorded, CapturedTraces)> {
        self.end(CapturedTraces::of)
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
