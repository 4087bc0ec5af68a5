//! Records what a window needs, in two private traces: what all threads do to
//! each other, and what the explained program asks of the kernel.

use unjank_host::sched::ThreadId;

use unjank_host::tracefs::{Instance, InstanceOptions, Trace, Tracefs, buffer_per_cpu};
use unjank_host::{Bytes, Result, Root, Unsupported};

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
    "irq/irq_handler_entry",
    "irq/softirq_entry",
    "irq/softirq_exit",
    "timer/hrtimer_expire_entry",
    "timer/timer_expire_entry",
    "workqueue/workqueue_queue_work",
    "workqueue/workqueue_execute_start",
    "block/block_rq_issue",
    "block/block_rq_complete",
    "power/cpu_frequency",
];

/// What the explained program asks of the kernel. These are many, so they are
/// recorded of its processes only.
pub const PROGRAM_EVENTS: &[&str] =
    &["raw_syscalls/sys_enter", "raw_syscalls/sys_exit", "exceptions/page_fault_user"];

/// Room for events, for each CPU: a launch has some ten thousand a second.
const BUFFER: Bytes = Bytes::from_mib(32);

/// A recording in progress. Nothing is left of it when it is dropped.
#[derive(Debug)]
pub struct Recording {
    machine: Instance,
    program: Instance,
}

impl Recording {
    /// Starts recording: all threads, and what the processes ask of the kernel
    /// that `parents` start from now on.
    ///
    /// # Errors
    /// An instance that cannot be made.
    pub fn start(tracefs: &Tracefs, root: &Root, parents: &[ThreadId]) -> Result<Self> {
        tracefs.remove_leftovers()?;
        let names = |events: &[&str]| events.iter().map(|&event| event.to_owned()).collect();
        let machine = tracefs.instance(&InstanceOptions {
            buffer: buffer_per_cpu(root, BUFFER),
            events: names(MACHINE_EVENTS),
            ..InstanceOptions::default()
        })?;
        let program = tracefs.instance(&InstanceOptions {
            buffer: buffer_per_cpu(root, BUFFER),
            events: names(PROGRAM_EVENTS),
            threads: parents.to_vec(),
            and_theirs: true,
            ..InstanceOptions::default()
        })?;
        machine.start()?;
        program.start()?;
        Ok(Self { machine, program })
    }

    /// Events that this kernel does not have.
    pub fn notes(&self) -> impl Iterator<Item = &Unsupported> {
        self.machine.notes().iter().chain(self.program.notes())
    }

    /// Stops, and returns what was recorded.
    ///
    /// # Errors
    /// A trace that cannot be read.
    pub fn finish(self) -> Result<Trace> {
        self.program.stop()?;
        self.machine.stop()?;
        let mut trace = self.machine.read_events()?;
        trace.merge(self.program.read_events()?);
        self.program.remove()?;
        self.machine.remove()?;
        Ok(trace)
    }
}
